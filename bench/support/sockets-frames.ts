import type { Point } from '../../src/geo/point.ts';
import { frameHead, frameOf } from './sockets-line.ts';

const LNG_LETTERS = '-123.123456'.length;
const TIME_LETTERS = '2025-01-31T17:05:00.000Z'.length;

/** Digits of a fixed length, padded with spaces in front, which JSON allows. */
function report(lat: string, lng: string, time: string): string {
  return `{"type":"position","lat":${lat},"lng":${lng.padStart(LNG_LETTERS)},"captured_at":"${time}"}`;
}

const TEMPLATE = frameOf(report('12.123456', '-123.123456', '2025-01-31T17:05:00.000Z'));
const HEAD = frameHead(TEMPLATE.length - 6);
const TIME_AT = TEMPLATE.length - '"}'.length - TIME_LETTERS;

/** Position reports of a fixed length, made in advance; only the time is written when they are sent. */
export class Frames {
  readonly #bytes: Buffer;

  constructor(count: number, placeOf: (report: number) => Point) {
    this.#bytes = Buffer.allocUnsafe(count * TEMPLATE.length);
    for (let index = 0; index < count; index++) {
      const { lat, lng } = placeOf(index);
      TEMPLATE.copy(this.#bytes, index * TEMPLATE.length);
      const text = report(lat.toFixed(6), lng.toFixed(6), '');
      if (text.length !== TEMPLATE.length - HEAD - TIME_LETTERS) throw new Error(`not a place of this world: ${text}`);
      this.#bytes.write(text, index * TEMPLATE.length + HEAD, text.length - '"}'.length, 'latin1');
    }
  }

  /** Writes the time of the position, just before the frame is sent. */
  stamp(index: number, time: string): void {
    this.#bytes.write(time, index * TEMPLATE.length + TIME_AT, TIME_LETTERS, 'latin1');
  }

  /** The bytes of this many frames from this one on. */
  of(index: number, count = 1): Buffer {
    return this.#bytes.subarray(index * TEMPLATE.length, (index + count) * TEMPLATE.length);
  }
}
