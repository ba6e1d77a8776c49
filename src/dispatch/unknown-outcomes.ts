import { below, STATEMENT_TIMEOUT_MS } from '../limits.ts';
import { classifyFailure } from '../postgres/failures.ts';
import type { OrderEvents } from './order-events.ts';

/**
 * Time for which a process listens for its own notice after a write of unknown outcome. Above the two minutes
 * after which a network that was cut may still deliver, and the statement that follows.
 */
export const UNKNOWN_OUTCOME_MS = 180_000;
/** Most orders whose unknown outcomes are remembered; then the oldest are left to the sweep. */
export const MAX_UNKNOWN_OUTCOMES = 10_000;
/** Time for which a network that was cut may still deliver what it kept. */
const NETWORK_HOLDS_MS = 120_000;

below({ 'NETWORK_HOLDS_MS + STATEMENT_TIMEOUT_MS': NETWORK_HOLDS_MS + STATEMENT_TIMEOUT_MS }, { UNKNOWN_OUTCOME_MS });

/**
 * Orders and drivers with a write of unknown outcome by this process: its reply was lost, took too long, or could
 * not be read. Each is read again at once. The write may still arrive, so until `keptMs` has passed this process heeds
 * its own notices of them.
 */
export class UnknownOutcomes {
  readonly #keptMs: number;
  readonly #max: number;
  readonly #now: () => number;
  readonly #events: Pick<OrderEvents, 'outcomeUnknown' | 'driverUnknown'>;
  /** By order or driver, when it was added, oldest first. */
  readonly #since = new Map<string, number>();
  /**
   * By order, the driver to whom such a write gives it, who is not rung yet; oldest first. Kept for longer than
   * `keptMs`, as the tables may be away for longer.
   */
  readonly #gifts = new Map<string, string>();

  /**
   * @param keptMs time for which an order is kept; longer than a write can take
   * @param max most orders; beyond it the oldest are dropped
   * @param now the time in milliseconds
   */
  constructor(
    keptMs: number,
    max: number,
    now: () => number,
    events: Pick<OrderEvents, 'outcomeUnknown' | 'driverUnknown'>,
  ) {
    this.#keptMs = keptMs;
    this.#max = max;
    this.#now = now;
    this.#events = events;
  }

  /** @param givenTo the driver to whom the write gives the order; by default it gives it to nobody */
  add(orderId: string, givenTo?: string): void {
    if (givenTo !== undefined) this.#owe(orderId, givenTo);
    this.#note(orderId);
    this.#events.outcomeUnknown(orderId);
  }

  /** Adds a driver of whom it is not known what they do. */
  addDriver(driverId: string): void {
    this.#note(driverId);
    this.#events.driverUnknown(driverId);
  }

  #note(id: string): void {
    this.#since.delete(id);
    this.#since.set(id, this.#now());
    this.#forgetOldest();
  }

  #owe(orderId: string, driverId: string): void {
    this.#gifts.delete(orderId);
    this.#gifts.set(orderId, driverId);
    for (const oldest of this.#gifts.keys()) {
      if (this.#gifts.size <= this.#max) return;
      this.#gifts.delete(oldest);
    }
  }

  /** The orders of which it is not known whether their drivers have them. */
  giftIds(): string[] {
    return [...this.#gifts.keys()];
  }

  has(orderId: string): boolean {
    this.#forgetOldest();
    return this.#since.has(orderId);
  }

  /** Forgets the gifts among orders that were read after their writes could still arrive: nobody is rung for them. */
  settle(orderIds: readonly string[]): void {
    for (const id of orderIds) if (this.#gifts.has(id) && !this.has(id)) this.#gifts.delete(id);
  }

  /** Whether such a write gives the driver the order and they are still to be rung for it; true once. */
  takeGift(orderId: string, driverId: string): boolean {
    return this.#gifts.get(orderId) === driverId && this.#gifts.delete(orderId);
  }

  /**
   * Passes on the result of a write to an order, and adds the order if the outcome is unknown.
   *
   * @param givenTo the driver to whom the write gives the order; by default it gives it to nobody
   */
  async watch<T>(orderId: string, write: Promise<T>, givenTo?: string): Promise<T> {
    try {
      return await write;
    } catch (error) {
      if (classifyFailure(error) === 'unknown') this.add(orderId, givenTo);
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
