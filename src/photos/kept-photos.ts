import { createHash } from 'node:crypto';
import { atMost, MAX_PHOTO_BYTES } from '../limits.ts';

/**
 * Most bytes of encoded photos that could not be stored and are kept for their next upload, so that it is not
 * encoded again: dozens, one of a driver. At least MAX_PHOTO_BYTES.
 */
export const MAX_KEPT_PHOTO_BYTES = 32 * 1024 * 1024;
/** Time after its last upload for which such a photo is kept. A phone sends again within minutes. */
export const KEPT_PHOTO_MS = 15 * 60_000;

atMost({ MAX_PHOTO_BYTES }, { MAX_KEPT_PHOTO_BYTES });

/** What became of an upload: the picture, and whether it shows nothing. */
export type EncodedPhoto = { readonly jpeg: Buffer; readonly isBlank: boolean };

type Kept = { readonly uploadHash: string; readonly photo: EncodedPhoto; readonly atMs: number };

/**
 * Encoded photos that could not be stored, until they are sent again: encoding takes a second of the one that is
 * encoded at a time, and while no photo can be stored every driver sends theirs again and again. One of a driver,
 * each for KEPT_PHOTO_MS, MAX_KEPT_PHOTO_BYTES in all; those that came first are dropped first.
 */
export class KeptPhotos {
  readonly #now: () => number;
  /** By driver; the last kept one is last. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  /** @param now a clock in milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Keeps what became of a driver's upload, in place of the one before. */
  keep(driverId: string, upload: Buffer, photo: EncodedPhoto): void {
    this.drop(driverId);
    this.#kept.set(driverId, { uploadHash: hashOf(upload), photo, atMs: this.#now() });
    this.#bytes += photo.jpeg.length;
    this.#dropOld();
  }

  /** What became of the same upload of this driver; null where it is not kept. */
  find(driverId: string, upload: Buffer): EncodedPhoto | null {
    this.#dropOld();
    const kept = this.#kept.get(driverId);
    return kept && kept.uploadHash === hashOf(upload) ? kept.photo : null;
  }

  drop(driverId: string): void {
    this.#bytes -= this.#kept.get(driverId)?.photo.jpeg.length ?? 0;
    this.#kept.delete(driverId);
  }

  #dropOld(): void {
    const oldestMs = this.#now() - KEPT_PHOTO_MS;
    for (const [driverId, { atMs }] of this.#kept) {
      if (atMs >= oldestMs && this.#bytes <= MAX_KEPT_PHOTO_BYTES) return;
      this.drop(driverId);
    }
  }
}

const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('base64');
