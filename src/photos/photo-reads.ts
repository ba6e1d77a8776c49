import { ServiceError } from '../domain/errors.ts';
import { sharedReads } from '../shared-read.ts';
import { FairSlots } from '../vendors/fair-slots.ts';
import type { PhotoStorage } from './photo-storage.ts';

/**
 * Most photos that one process reads at once, each of which it holds, 0.5 MB as a rule. A caller has half of them
 * where it is alone. At most half of PHOTO_BUCKET_SOCKETS, so that no upload waits for who reads.
 */
export const MAX_PHOTO_READS = 16;
/** Most reads of one caller that wait for such a place, two rounds of those at work; one more gets 503. */
export const MAX_PHOTO_READS_WAITING = 16;
/**
 * Longest wait of a read for its place; then it gets 503. With a statement and PHOTO_BUCKET_DEADLINE_MS below
 * REQUEST_DEADLINE_MS. A tracking link is looked up before that; where this takes 3 s, the request's own deadline may
 * come first.
 */
export const PHOTO_READ_WAIT_MS = 2_000;

/**
 * Reads photos, a bounded number at once, whose places callers share: stores, and networks of customers. Whoever asks
 * for a photo that is being read waits for that read.
 */
export class PhotoReads {
  readonly #places = new FairSlots(MAX_PHOTO_READS, MAX_PHOTO_READS_WAITING);
  readonly #get: PhotoStorage['get'];

  /** @param get reads a photo by its name */
  constructor(get: PhotoStorage['get']) {
    this.#get = sharedReads(get);
  }

  /**
   * The photo whose name `find` looks up; null where it has none. The look-up waits for the place, too.
   *
   * @throws {ServiceError} `unavailable` where the caller's line is full or its turn does not come in time
   */
  async read(caller: string, find: () => Promise<string | null>): Promise<Buffer | null> {
    if (!(await this.#places.enter(caller, PHOTO_READ_WAIT_MS))) {
      throw new ServiceError('unavailable', 'Too many photos are read at once. Try again in a moment.');
    }
    try {
      const name = await find();
      return name === null ? null : await this.#get(name);
    } finally {
      this.#places.leave(caller);
    }
  }
}
