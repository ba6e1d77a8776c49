/** Difference of two house numbers of a street up to which they are neighbours: a block has a hundred. */
const NEIGHBOUR_NUMBERS = 100;

/**
 * The two-letter codes of US addresses: 50 states, DC, the territories, the freely associated states, and the
 * military "states".
 */
// biome-ignore format: a table is read by its rows
export const STATE_CODES = [
  'AL', 'AK', 'AZ', 'AR', 'CA', 'CO', 'CT', 'DE', 'FL', 'GA', 'HI', 'ID', 'IL', 'IN', 'IA', 'KS', 'KY', 'LA', 'ME',
  'MD', 'MA', 'MI', 'MN', 'MS', 'MO', 'MT', 'NE', 'NV', 'NH', 'NJ', 'NM', 'NY', 'NC', 'ND', 'OH', 'OK', 'OR', 'PA',
  'RI', 'SC', 'SD', 'TN', 'TX', 'UT', 'VT', 'VA', 'WA', 'WV', 'WI', 'WY',
  'DC',
  'AS', 'GU', 'MP', 'PR', 'VI', 'UM',
  'FM', 'MH', 'PW',
  'AA', 'AE', 'AP',
] as const;

/** An address text for comparison: case and spaces folded, accented letters in one form. */
export function foldAddress(text: string): string {
  return text.normalize('NFC').toLowerCase().trim().replace(/\s+/gu, ' ');
}

/** Five digits, and possibly four more, that are not part of a longer number. */
const ZIP_GROUP = /(?<!\d)(?<!\d-)(\d{5})(?:-\d{4})?(?!\d)(?!-\d)/gu;
const STATE_BEFORE = new RegExp(`\\b(?:${STATE_CODES.join('|')})[\\s,.-]*$`, 'iu');

/**
 * Finds the five-digit ZIP of a US address text: the last group of five digits (or ZIP+4) after a state's
 * code, else the last one that does not begin the text, as a house number does. Undefined where there is
 * none.
 */
export function findZip(text: string): string | undefined {
  const groups = [...text.trimStart().matchAll(ZIP_GROUP)];
  const group =
    groups.findLast((match) => STATE_BEFORE.test(match.input.slice(Math.max(0, match.index - 8), match.index))) ??
    groups.findLast((match) => match.index > 0 || match.input.trim() === match[0]);
  return group?.[1];
}

/** Finds the state's code before the ZIP of a US address text; undefined where there is none. */
export function findState(text: string): string | undefined {
  const groups = [...text.matchAll(ZIP_GROUP)];
  const before = groups.map((match) => STATE_BEFORE.exec(text.slice(Math.max(0, match.index - 8), match.index)));
  return before
    .findLast((found) => found !== null)?.[0]
    .replace(/[^a-z]/giu, '')
    .toUpperCase();
}

/** A flat, a suite or a floor; `FL` before more than two digits is Florida. */
const UNITS = [
  String.raw`(?:apt|apartment|unit|suite|ste|room|rm)\b\.?\s*(?:#\s*)?(?:[a-z]{0,2}-?\d[\w-]*|[a-z])(?=\s*(?:,|$))`,
  String.raw`fl(?:oor)?\b\.?\s*\d{1,2}(?=\s*(?:,|$))`,
  String.raw`\d{1,2}(?:st|nd|rd|th)\s+fl(?:oor)?\b\.?(?=\s*(?:,|$))`,
];
/** Begins where the gap does: from every place in a long one, the same would be looked for again. */
const UNIT = new RegExp(String.raw`(?<![\s,])[\s,]+(?:${UNITS.join('|')})`, 'giu');

/** `#4` at the end of a part. A highway has its own number so, and a house one that stands in the middle. */
const HASH = /(?<![\s,])(?<!\b(?:hwy|highway|route|rte))[\s,]+#\s*\w[\w-]*(?=\s*(?:,|$))/giu;
/** A house number at the beginning of a part; `5th` is a street's. */
const HOUSE = /(?:^|,)\s*(?!\d+(?:st|nd|rd|th)\b)\d/iu;

/**
 * An address text without the flat in it, which makes a geocoder miss the house. `#` begins a flat only behind a house
 * number, and never in Puerto Rico, where houses are numbered so.
 */
export function withoutUnit(text: string): string {
  const plain = text.replace(UNIT, '');
  if (findState(plain) === 'PR') return plain;
  const house = HOUSE.exec(plain);
  const houseEnd = house ? house.index + house[0].length : Number.POSITIVE_INFINITY;
  return plain.replace(HASH, (unit, at: number) => (houseEnd <= at ? '' : unit));
}

/**
 * Whether a door has the address of a pickup, or one of the same street and ZIP whose house number is at most
 * NEIGHBOUR_NUMBERS away. Compares words: false where the two name a street differently.
 *
 * @param pickup the pickup's address as one text
 */
export function areNeighbours(pickup: string, door: { readonly line1: string; readonly zip: string }): boolean {
  if (findZip(pickup) !== findZip(door.zip)) return false;
  const line = wordsOf(door.line1);
  const text = wordsOf(pickup);
  if (` ${text} `.includes(` ${line} `)) return true;
  const [number, street] = splitHouse(line);
  return text.split(` ${street}`).some((before, at, parts) => {
    const isWhole = at < parts.length - 1 && /^(?: |$)/u.test(parts[at + 1] ?? '');
    const beside = Number(/(?:^| )(\d+)$/u.exec(before)?.[1] ?? Number.NaN);
    return isWhole && Math.abs(beside - number) <= NEIGHBOUR_NUMBERS;
  });
}

const wordsOf = (text: string): string => foldAddress(text.replace(/[^\p{L}\p{N}]+/gu, ' '));

/** The house number of a folded street address, NaN where it has none, and what follows. */
function splitHouse(line: string): readonly [number: number, street: string] {
  const [, number, street] = /^(\d+) (.+)$/u.exec(line) ?? [];
  return number === undefined ? [Number.NaN, line] : [Number(number), street ?? ''];
}

const MILITARY = '090 091 092 093 094 095 096 097 098 099 340 962 963 964 965 966'.split(' ');
/**
 * The first three digits of ZIP codes outside the 50 states and DC (USPS, Labeling List L002), by state code.
 * Military ones move with their units, so they have no place.
 */
const REMOTE_PREFIXES: Readonly<Record<string, readonly string[]>> = {
  AA: MILITARY,
  AE: MILITARY,
  AP: MILITARY,
  PR: ['006', '007', '009'],
  VI: ['008'],
  AS: ['967'],
  UM: ['968', '969'],
  GU: ['969'],
  MP: ['969'],
  FM: ['969'],
  MH: ['969'],
  PW: ['969'],
};

/**
 * The first three digits of a ZIP in a territory, a freely associated state or a military "state"; undefined
 * for the 50 states and DC.
 */
export function remotePrefixes(state: string): readonly string[] | undefined {
  return Object.hasOwn(REMOTE_PREFIXES, state) ? REMOTE_PREFIXES[state] : undefined;
}
