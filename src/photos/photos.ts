import sharp from 'sharp';
import type { UnusablePhoto } from '../domain/photo.ts';
import { below, MAX_PHOTO_BYTES, MAX_PHOTO_PIXELS, MAX_PHOTO_SIDE, REQUEST_DEADLINE_MS } from '../limits.ts';
import { FairSlots } from '../vendors/fair-slots.ts';
import { countScans } from './jpeg-scans.ts';

/** Most scans in a progressive JPEG. Photos have about ten; each takes 5 ms at 24 megapixels. */
export const MAX_PHOTO_SCANS = 100;
/** Longest side of a stored photo in pixels, sharp on a phone. Below MAX_PHOTO_SIDE. */
export const STORED_PHOTO_SIDE = 2_048;
/** Shorter side in pixels below which a photo shows nothing. Below STORED_PHOTO_SIDE; a phone's has 480 or more. */
const BLANK_PHOTO_SIDE = 100;
/**
 * Largest standard deviation of a colour, of 255, in a picture of one colour: what a covered lens' noise leaves
 * where the picture is made as small as BLANK_PHOTO_SAMPLE. A bare wall has about 5, a door at night 10.
 */
const BLANK_PHOTO_DEVIATION = 3;
/** Side in pixels of the square to which a photo is shrunk to see whether it shows anything, in about 12 ms. */
const BLANK_PHOTO_SAMPLE = 32;
/** Most photos that wait while one is decoded; all fit MAX_BUFFERED_PHOTO_BYTES. One more gets 503. */
export const MAX_PHOTO_QUEUE = 8;
/**
 * Longest wait of a photo for its decoding; then it gets 503. With PHOTO_TIMEOUT_SECONDS it is below
 * REQUEST_DEADLINE_MS.
 */
const PHOTO_WAIT_MS = 4_000;
/** Longest decoding of a photo; then it is refused. 24 megapixels take about 1 s. */
const PHOTO_TIMEOUT_SECONDS = 10;

below({ STORED_PHOTO_SIDE }, { MAX_PHOTO_SIDE });
below({ BLANK_PHOTO_SIDE }, { STORED_PHOTO_SIDE });
below({ BLANK_PHOTO_SAMPLE }, { BLANK_PHOTO_SIDE });
below(
  { 'PHOTO_WAIT_MS + PHOTO_TIMEOUT_SECONDS in ms': PHOTO_WAIT_MS + PHOTO_TIMEOUT_SECONDS * 1_000 },
  { REQUEST_DEADLINE_MS },
);

type Reencoded =
  | {
      readonly kind: 'ok';
      readonly jpeg: Buffer;
      readonly width: number;
      readonly height: number;
      /** Whether it shows nothing: a picture of one colour, or a tiny one. */
      readonly isBlank: boolean;
    }
  | { readonly kind: 'unusable'; readonly reason: UnusablePhoto }
  /** Too many photos wait, this one did for too long, or its sender is gone. */
  | { readonly kind: 'busy' };

export type PhotoProcessor = {
  /**
   * Makes a JPEG of the same picture, upright, its longest side at most STORED_PHOTO_SIDE pixels, without
   * anything else that the file held: no place, no time, no camera, no second file. Takes JPEG, PNG and WebP,
   * whatever the file's name.
   *
   * @param wanted whether the sender still waits, asked when the photo's turn comes
   */
  reencode(bytes: Buffer, wanted?: () => boolean): Promise<Reencoded>;
};

type Format = 'jpeg' | 'png' | 'webp';

/** Photos share one line, whoever sends them. */
const ALL = 'photos';

/**
 * Decodes one photo at a time, each in at most PHOTO_TIMEOUT_SECONDS, in the order in which they came. Who
 * sends one at a time has one place in that line.
 *
 * @param waitMs longest wait of a photo for its turn
 */
export function createPhotoProcessor(waitMs = PHOTO_WAIT_MS): PhotoProcessor {
  // One thread, and no cache, as no picture is decoded twice.
  sharp.concurrency(1);
  sharp.cache(false);
  const line = new FairSlots(1, MAX_PHOTO_QUEUE);
  return {
    async reencode(bytes, wanted = () => true) {
      if (bytes.length > MAX_PHOTO_BYTES) return { kind: 'unusable', reason: 'too_many_bytes' };
      const format = sniff(bytes);
      if (!format) return { kind: 'unusable', reason: 'wrong_format' };
      if (!(await line.enter(ALL, waitMs))) return { kind: 'busy' };
      try {
        return wanted() ? await reencode(bytes, format) : { kind: 'busy' };
      } finally {
        line.leave(ALL);
      }
    },
  };
}

/**
 * The format by the first bytes, as a file's name and a request's Content-Type are whatever the sender chose.
 */
function sniff(bytes: Buffer): Format | undefined {
  const latin = bytes.toString('latin1', 0, 12);
  if (latin.startsWith('\xff\xd8\xff')) return 'jpeg';
  if (latin.startsWith('\x89PNG\r\n\x1a\n')) return 'png';
  if (latin.startsWith('RIFF') && latin.endsWith('WEBP')) return 'webp';
  return undefined;
}

async function reencode(bytes: Buffer, format: Format): Promise<Reencoded> {
  try {
    const options = { failOn: 'error', limitInputPixels: MAX_PHOTO_PIXELS } as const;
    // Reads the header only, so that a huge picture is refused before it is decoded. The limit is lifted here
    // because libvips' refusal differs from that of a damaged file by its wording only.
    const head = await sharp(bytes, { ...options, limitInputPixels: false }).metadata();
    if (head.format !== format) return { kind: 'unusable', reason: 'wrong_format' };
    // Pictures are decoded by lines, and a line of 24 million pixels takes gigabytes.
    const tooLong = Math.max(head.width, head.height) > MAX_PHOTO_SIDE;
    if (tooLong || head.width * head.height > MAX_PHOTO_PIXELS) return { kind: 'unusable', reason: 'too_many_pixels' };
    // libjpeg reads every scan before it can be interrupted.
    if (format === 'jpeg' && countScans(bytes) > MAX_PHOTO_SCANS) return { kind: 'unusable', reason: 'too_slow' };
    const { data, info } = await sharp(bytes, options)
      .autoOrient()
      .resize(STORED_PHOTO_SIDE, STORED_PHOTO_SIDE, { fit: 'inside', withoutEnlargement: true })
      .flatten({ background: '#ffffff' })
      .jpeg({ quality: 80 })
      .timeout({ seconds: PHOTO_TIMEOUT_SECONDS })
      .toBuffer({ resolveWithObject: true });
    const { width, height } = info;
    const isBlank = Math.min(width, height) < BLANK_PHOTO_SIDE || (await isOfOneColour(data));
    return { kind: 'ok', jpeg: data, width, height, isBlank };
  } catch (error) {
    return { kind: 'unusable', reason: /timeout/i.test(String(error)) ? 'too_slow' : 'damaged' };
  }
}

/** Whether a JPEG has one colour all over. Looks at a small copy, in which a camera's noise is levelled. */
async function isOfOneColour(jpeg: Buffer): Promise<boolean> {
  const { data, info } = await sharp(jpeg)
    .resize(BLANK_PHOTO_SAMPLE, BLANK_PHOTO_SAMPLE, { fit: 'fill' })
    .raw()
    .toBuffer({ resolveWithObject: true });
  const { width, height, channels } = info;
  const stats = await sharp(data, { raw: { width, height, channels } }).stats();
  return stats.channels.every(({ stdev }) => stdev <= BLANK_PHOTO_DEVIATION);
}
