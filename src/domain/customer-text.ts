import { below } from '../limits.ts';
import type { UndeliverableReason } from './order.ts';

/** Septets of a text in the GSM alphabet that is one segment. A segment more costs as much again. */
export const TEXT_SEPTETS = 160;
/** Septets of each segment where there are several, whose headers take the rest. Below TEXT_SEPTETS. */
export const TEXT_SEGMENT_SEPTETS = 153;
/** Most segments of a text whose store's name is in the GSM alphabet. */
export const MAX_TEXT_SEGMENTS = 2;
/** Most characters of a store's name in a text. */
const MAX_TEXT_STORE_NAME = 40;

below({ TEXT_SEGMENT_SEPTETS }, { TEXT_SEPTETS });

/** The texts that a store may have its customers sent beside the one with the tracking link. */
export const OPTIONAL_TEXTS = ['on_the_way', 'delivered', 'not_delivered'] as const;
export type OptionalText = (typeof OPTIONAL_TEXTS)[number];
export const TEXT_KINDS = ['tracking', ...OPTIONAL_TEXTS] as const;
/** What a text tells a customer. An order has at most one of each. */
export type TextKind = (typeof TEXT_KINDS)[number];

/** What a store sees of a text. `none` is the status of an order's tracking text where it has none. */
export const TEXT_STATUSES = ['queued', 'sent', 'delivered', 'undelivered', 'failed'] as const;
export type TextStatus = (typeof TEXT_STATUSES)[number];

/** By the end of its link a text is found at its provider, so no two kinds have the same. */
const ENDINGS: Record<TextKind, string> = {
  tracking: '',
  on_the_way: '?t=o',
  delivered: '?t=d',
  not_delivered: '?t=n',
};

/** The end of this text and of no other, whatever the store's name and this service's URL are by now. */
export function linkEnding(kind: TextKind, trackingToken: string): string {
  return `/track/${trackingToken}${ENDINGS[kind]}`;
}

const BECAUSE: Record<UndeliverableReason, string> = {
  nobody_home: ': nobody was home',
  refused: ': it was refused',
  wrong_address: ': the address was wrong',
  unsafe: ': it was not safe to',
  damaged: ': the parcel was damaged',
  other: '',
};

/**
 * The words between the store's name and the link, and shorter ones for where these are too long. The first text
 * of an order says how to have no more of them, in English and Spanish, as carriers ask.
 */
function wordsOf(kind: TextKind, reason: UndeliverableReason | null): readonly string[] {
  switch (kind) {
    case 'tracking':
      return [
        'your delivery is confirmed. Reply STOP to end/para terminar. Follow it here',
        'delivery confirmed. STOP: no texts/textos',
      ];
    case 'on_the_way':
      return ['your delivery is on its way. Follow it here'];
    case 'delivered':
      return ['your delivery was handed over. See it here'];
    case 'not_delivered':
      return [`your delivery could not be handed over${BECAUSE[reason ?? 'other']}. It goes back to the store`];
  }
}

/**
 * The whole text. The store's name is cut so that the text fits one segment where that leaves a name to be
 * read, else MAX_TEXT_SEGMENTS. The longer words are for a name that fits beside them whole. A name outside of the
 * GSM alphabet, such as one in Chinese, is cut to MAX_TEXT_STORE_NAME characters only: its text takes segments of 67.
 *
 * @param reason why it was not delivered; for that kind alone
 * @param baseUrl the address of the tracking pages, without a slash at its end
 */
export function textBody(
  text: {
    readonly kind: TextKind;
    readonly storeName: string;
    readonly trackingToken: string;
    readonly reason: UndeliverableReason | null;
  },
  baseUrl: string,
): string {
  const [long = '', short = long] = wordsOf(text.kind, text.reason).map(
    (words) => `: ${words}: ${baseUrl}${linkEnding(text.kind, text.trackingToken)}`,
  );
  const name = plainPunctuation(text.storeName);
  const whole = septets(cut(name, MAX_TEXT_STORE_NAME, '...'));
  const [longSeptets, shortSeptets] = [septets(long), septets(short)];
  if (septets(name) === null || whole === null || longSeptets === null || shortSeptets === null) {
    return `${cut(text.storeName, MAX_TEXT_STORE_NAME, '…')}${short}`;
  }
  const most = MAX_TEXT_SEGMENTS * TEXT_SEGMENT_SEPTETS;
  const wanted = Math.min([...name].length, MIN_NAME);
  const room = TEXT_SEPTETS - shortSeptets >= wanted ? TEXT_SEPTETS : most;
  if (room - longSeptets >= whole) return `${cutToSeptets(name, room - longSeptets)}${long}`;
  return `${cutToSeptets(name, room - shortSeptets)}${short}`;
}

/** Fewer characters of a name tell nobody whose text it is. */
const MIN_NAME = 12;

/** Typographic quotes, dashes and dots as the GSM alphabet has them: one of them would halve the segment. */
function plainPunctuation(name: string): string {
  return name
    .replace(/[\u2018\u2019\u02bc]/g, "'")
    .replace(/[\u201c\u201d]/g, '"')
    .replace(/[\u2010-\u2015]/g, '-')
    .replace(/\u2026/g, '...')
    .replace(/[\u00a0\u202f]/g, ' ');
}

/** The GSM 7-bit alphabet (3GPP TS 23.038) and its extension, whose characters take two septets. */
const GSM =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà';
const SEPTETS: ReadonlyMap<string, number> = new Map([
  ...[...GSM].map((character): [string, number] => [character, 1]),
  ...[...'^{}\\[~]|€'].map((character): [string, number] => [character, 2]),
]);

/** Length of a text in septets of the GSM alphabet; null where it has another character. */
export function septets(text: string): number | null {
  let length = 0;
  for (const character of text) {
    const taken = SEPTETS.get(character);
    if (taken === undefined) return null;
    length += taken;
  }
  return length;
}

/** Segments that a text is sent and paid in. One with another character than the GSM alphabet's has shorter ones. */
export function segmentsOf(text: string): number {
  const length = septets(text);
  if (length === null) return text.length <= 70 ? 1 : Math.ceil(text.length / 67);
  return length <= TEXT_SEPTETS ? 1 : Math.ceil(length / TEXT_SEGMENT_SEPTETS);
}

/** Cuts a name of the GSM alphabet after a whole character. */
function cutToSeptets(name: string, room: number): string {
  let shown = cut(name, MAX_TEXT_STORE_NAME, '...');
  for (let most = MAX_TEXT_STORE_NAME; (septets(shown) ?? 0) > room && most > 4; most--) shown = cut(name, most, '...');
  return shown;
}

/** At most `most` characters, with `mark` at the end where some are left out. */
function cut(name: string, most: number, mark: string): string {
  const characters = [...name];
  return characters.length <= most ? name : `${characters.slice(0, most - mark.length).join('')}${mark}`;
}
