import { classifyFailure } from '../postgres/failures.ts';

/**
 * Orders of which nobody knows whether a write of this process changed them: its answer was lost, or took too long. They
 * are read again at once; and since such a write may still come, our own notice of it is news for a while.
 */
export class UnknownOutcomes {
  readonly #keptMs: number;
  readonly #max: number;
  readonly #now: () => number;
  /** Since when, oldest first. */
  readonly #since = new Map<string, number>();
  #readAgain: (orderId: string) => void = () => undefined;

  /**
   * @param keptMs longer than a write can take
   * @param max of more than so many the oldest are forgotten
   */
  constructor(keptMs: number, max: number, now: () => number) {
    this.#keptMs = keptMs;
    this.#max = max;
    this.#now = now;
  }

  /** Says who reads such an order again and tells of it. */
  onAdded(readAgain: (orderId: string) => void): void {
    this.#readAgain = readAgain;
  }

  add(orderId: string): void {
    this.#since.delete(orderId);
    this.#since.set(orderId, this.#now());
    this.#forgetOldest();
    this.#readAgain(orderId);
  }

  has(orderId: string): boolean {
    this.#forgetOldest();
    return this.#since.has(orderId);
  }

  /** Passes on what became of a write to an order; where that is unknown, the order is added. */
  async watch<T>(orderId: string, write: Promise<T>): Promise<T> {
    try {
      return await write;
    } catch (error) {
      if (classifyFailure(error) === 'unknown') this.add(orderId);
      throw error;
    }
  }

  #forgetOldest(): void {
    const endedMs = this.#now() - this.#keptMs;
    for (const [orderId, sinceMs] of this.#since) {
      if (sinceMs > endedMs && this.#since.size <= this.#max) return;
      this.#since.delete(orderId);
    }
  }
}
