import { MAX_QUOTED_NAME_LENGTH } from '../limits.ts';

/**
 * Text without characters that end a line, steer a terminal or turn the direction of what follows: the C0 and
 * C1 controls but the tab, line separators, and the explicit overrides and isolates of direction. As the source
 * of a regular expression. Emoji, joiners and the marks of right-to-left text stay legal.
 */
export const ONE_LINE = '^[^\\u0000-\\u0008\\u000a-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069]*$';

/** The same, where lines may end with U+000A, as in instructions. */
export const SOME_LINES = '^[^\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069]*$';

/** What ONE_LINE refuses, and every other character that nobody sees and that moves what stands around it. */
const UNSEEN = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu;

const isOneLine = new RegExp(ONE_LINE, 'u');

/** Whether a text stays on one line, wherever it is shown, and leaves what stands around it as it is. */
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
