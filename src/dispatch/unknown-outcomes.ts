import { classifyFailure } from '../postgres/failures.ts';
import type { OrderEvents } from './order-events.ts';

/**
 * Orders with a write of this process whose outcome is unknown: its answer was lost or took too long. Each is read again
 * at once. Such a write may still arrive, so for a while our own notice of it counts as a change by somebody else.
 */
export class UnknownOutcomes {
  readonly #keptMs: number;
  readonly #max: number;
  readonly #now: () => number;
  readonly #events: Pick<OrderEvents, 'outcomeUnknown'>;
  /** Since when, oldest first. */
  readonly #since = new Map<string, number>();

  /**
   * @param keptMs longer than a write can take
   * @param max beyond this many the oldest are forgotten
   */
  constructor(keptMs: number, max: number, now: () => number, events: Pick<OrderEvents, 'outcomeUnknown'>) {
    this.#keptMs = keptMs;
    this.#max = max;
    this.#now = now;
    this.#events = events;
  }

  add(orderId: string): void {
    this.#since.delete(orderId);
    this.#since.set(orderId, this.#now());
    this.#forgetOldest();
    this.#events.outcomeUnknown(orderId);
  }

  has(orderId: string): boolean {
    this.#forgetOldest();
    return this.#since.has(orderId);
  }

  /** Passes on the result of a write to an order; where that is unknown, the order is added. */
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
