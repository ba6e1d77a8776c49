import { ServiceError } from '../domain/errors.ts';
import { below, RETRY_AFTER_SECONDS } from '../limits.ts';

/** Wait of a driver after a photo that could not be used; it doubles with each further one. */
export const PHOTO_REFUSED_WAIT_MS = 1_000;
/** Longest such wait. Above PHOTO_REFUSED_WAIT_MS. */
export const PHOTO_REFUSED_WAIT_MAX_MS = 60_000;
/** Time after which a refused photo is forgotten. Above PHOTO_REFUSED_WAIT_MAX_MS. */
export const PHOTO_REFUSED_KEPT_MS = 10 * 60_000;
/** Most drivers whose refused photos are remembered, about 100 bytes each; then the oldest are forgotten. */
export const MAX_PHOTO_REFUSALS_KEPT = 10_000;

below({ PHOTO_REFUSED_WAIT_MS }, { PHOTO_REFUSED_WAIT_MAX_MS });
below({ PHOTO_REFUSED_WAIT_MAX_MS }, { PHOTO_REFUSED_KEPT_MS });

type Refusals = { readonly count: number; readonly atMs: number };

/**
 * Whose photo may come: one of a driver at a time, and after photos that could not be used none for a while,
 * so that no driver takes the others' room and decoding.
 */
export class PhotoTurns {
  readonly #now: () => number;
  readonly #sending = new Set<string>();
  /** The last refused ones are last. */
  readonly #refused = new Map<string, Refusals>();

  /** @param now a clock in milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Begins a driver's photo; `end` ends it.
   *
   * @throws {ServiceError} `rate_limited` where another one of theirs is not over
   */
  begin(driverId: string): void {
    if (this.#sending.has(driverId)) {
      const message = 'Another photo of yours is on its way; send this one after it.';
      throw new ServiceError('rate_limited', message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
    }
    this.#sending.add(driverId);
  }

  end(driverId: string): void {
    this.#sending.delete(driverId);
  }

  /** @throws {ServiceError} `rate_limited` until the driver has waited for their refused photos */
  checkWait(driverId: string): void {
    const refused = this.#refused.get(driverId);
    if (!refused) return;
    const waitMs = Math.min(PHOTO_REFUSED_WAIT_MS * 2 ** (refused.count - 1), PHOTO_REFUSED_WAIT_MAX_MS);
    const leftMs = refused.atMs + waitMs - this.#now();
    if (leftMs <= 0) return;
    const message = 'Your last photo could not be used; wait before you send another one.';
    throw new ServiceError('rate_limited', message, { retryAfterSeconds: Math.ceil(leftMs / 1_000) });
  }

  /** Counts a photo that could not be used. */
  refuse(driverId: string): void {
    this.#forgetOld();
    const count = (this.#refused.get(driverId)?.count ?? 0) + 1;
    this.#refused.delete(driverId);
    this.#refused.set(driverId, { count, atMs: this.#now() });
  }

  /** A photo of theirs was good. */
  forgive(driverId: string): void {
    this.#refused.delete(driverId);
  }

  #forgetOld(): void {
    const keptMs = this.#now() - PHOTO_REFUSED_KEPT_MS;
    for (const [driverId, { atMs }] of this.#refused) {
      if (atMs > keptMs && this.#refused.size < MAX_PHOTO_REFUSALS_KEPT) return;
      this.#refused.delete(driverId);
    }
  }
}
