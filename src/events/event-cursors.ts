import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { EventPage, EventsAfter } from '../store/events/events.ts';

/** One block of AES: the number, a salt, and zeros by which a text that is no cursor is known. */
const CIPHER = 'aes-256-ecb';
const BLOCK_BYTES = 16;
const SALT_BYTES = 4;
const ZEROS = Buffer.alloc(4);
const NO_SALT = Buffer.alloc(SALT_BYTES);
const PLAIN = /^\d{1,18}$/;

/**
 * The cursors of events as readers see them. The number of an event counts those of all stores, so it is
 * encrypted: the cursor of an event is always the same, and two cursors of one place between events are not, or
 * a reader could see when others have events. Plain numbers, which older versions gave, are read too.
 */
export class EventCursors {
  readonly #key: Buffer;

  constructor(key: Buffer) {
    this.#key = key;
  }

  /** The number that a cursor stands for; null for 0, undefined for what is none. */
  read(cursor: string): EventsAfter | null | undefined {
    if (PLAIN.test(cursor)) return Number(cursor) === 0 ? null : { number: cursor, isPlain: true };
    const bytes = Buffer.from(cursor, 'base64url');
    if (bytes.length !== BLOCK_BYTES) return undefined;
    const decipher = createDecipheriv(CIPHER, this.#key, null).setAutoPadding(false);
    const block = Buffer.concat([decipher.update(bytes), decipher.final()]);
    if (!block.subarray(-ZEROS.length).equals(ZEROS)) return undefined;
    const number = block.readBigInt64BE();
    if (number <= 0n) return number === 0n ? null : undefined;
    return { number: String(number), isPlain: false };
  }

  /** A page as its reader sees it: the events, and where the next page begins. */
  shown({ events, nextCursor }: Pick<EventPage, 'events' | 'nextCursor'>) {
    const last = events.at(-1)?.cursor;
    return {
      events: events.map((event) => ({ ...event, cursor: this.#encrypted(event.cursor, NO_SALT) })),
      next_cursor: this.#encrypted(nextCursor, nextCursor === last ? NO_SALT : randomBytes(SALT_BYTES)),
    };
  }

  #encrypted(number: string, salt: Buffer): string {
    const digits = Buffer.alloc(BLOCK_BYTES - SALT_BYTES - ZEROS.length);
    digits.writeBigInt64BE(BigInt(number));
    const cipher = createCipheriv(CIPHER, this.#key, null).setAutoPadding(false);
    return Buffer.concat([cipher.update(Buffer.concat([digits, salt, ZEROS])), cipher.final()]).toString('base64url');
  }
}
