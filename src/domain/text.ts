/** Most characters of a name that a client sent, where a reply quotes it. */
const MAX_QUOTED_NAME_LENGTH = 60;

/**
 * What ends a line, steers a terminal or turns the direction of what follows: the C0 and C1 controls but the tab
 * and U+000A, line separators, and the explicit overrides and isolates of direction. As the inside of a character
 * class, in the form that the regular expressions of other languages read, too: no `\p`, nothing beyond U+FFFF.
 */
const UNFIT = '\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069';

/** Spaces, and characters that nobody sees where they stand alone, up to U+FFFF. */
const BLANK =
  '\\t \\u00a0\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u202f\\u205f-\\u2065' +
  '\\u206a-\\u206f\\u2800\\u3000\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8\\ufffc';

/** One line that shows something. Emoji, joiners and the marks of right-to-left text stay legal in it. */
export const ONE_LINE = `^[${BLANK}]*[^\\n${BLANK}${UNFIT}][^\\n${UNFIT}]*$`;

/** Text whose lines may end with U+000A, as in instructions; it may be empty. */
export const SOME_LINES = `^[^${UNFIT}]*$`;

/** What a domain's label has none of: what ASCII has beside letters, digits and `-`, and what is not seen. */
const NOT_IN_LABEL = `\\u0000-,./:-@\\[-\`{-\\u00a0\\u2010-\\u206f${BLANK}${UNFIT}`;
/** What a mail server takes in front of the @ without quotes, between its dots (RFC 5321, RFC 6531). */
const IN_LOCAL_PART = `[^\\s@.,:;<>()"\\[\\]\\\\${BLANK}${UNFIT}]`;
const LABEL_END = `[^-${NOT_IN_LABEL}]`;
/**
 * One @, no spaces, and a domain of at least two labels, letters of any script. Quoted local parts and
 * address literals are left out, because no customer has one.
 */
export const PLAUSIBLE_EMAIL =
  `^(?=[^@]{1,64}@)${IN_LOCAL_PART}+(?:\\.${IN_LOCAL_PART}+)*@` +
  `(?:${LABEL_END}(?:[^${NOT_IN_LABEL}]*${LABEL_END})?\\.)+${LABEL_END}[^${NOT_IN_LABEL}]*${LABEL_END}$`;

/** What no line may have, and every other character that nobody sees and that moves what stands around it. */
const UNSEEN = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu;

/** UNFIT without U+000D, which ends a line beside U+000A. */
const UNFIT_IN_LINES = new RegExp(`(?!\\r)[${UNFIT}]`, 'g');

/** Lines that a person pasted, each ended by U+000A, without what they do not see and UNFIT has. */
export function pastedLines(text: string): string {
  return text.replaceAll(/[\v\f\u0085\u2028\u2029]/g, '\n').replaceAll(UNFIT_IN_LINES, '');
}

const isOneLine = new RegExp(ONE_LINE, 'u');

/** Whether a text shows something and stays on one line, wherever it is shown. */
export function staysOnOneLine(text: string): boolean {
  return isOneLine.test(text);
}

/** A name that a client chose, for a reply that quotes it: on one line, and cut at MAX_QUOTED_NAME_LENGTH. */
export function quotedName(name: string): string {
  const isLong = name.length > MAX_QUOTED_NAME_LENGTH;
  return escapeUnseen(isLong ? `${name.slice(0, MAX_QUOTED_NAME_LENGTH)}…` : name);
}

/** The text with every control and every mark of direction as `\u001b`, its number in JSON's form. */
export function escapeUnseen(text: string): string {
  return text.replace(UNSEEN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
