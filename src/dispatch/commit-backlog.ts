import {
  ASSUMED_ORDER_RATE,
  LATE_ORDER_MS,
  MAX_ORDER_WAIT_MS,
  MIN_UNSTORED_ORDERS,
  ORDER_RATE_MS,
  ORDER_RATES_KEPT,
  YOUNG_ORDER_MS,
} from '../limits.ts';

/** Orders below which the rate is not measured: the callers set it, not the machine. */
const IN_LINE = MIN_UNSTORED_ORDERS / 2;

/**
 * The orders that are not stored yet, and whether one more would wait too long. Two things tell: the orders
 * in line by the rate at which this process stores them, and how long the oldest of them has waited already
 * (as CoDel judges a queue by its sojourn time: Nichols & Jacobson 2012). A burst leaves the oldest young
 * whatever the rate was before it; a machine that became slower leaves it old before the rate tells.
 *
 * The rate is that of the last times in which enough orders stood in line, as only then the machine sets it,
 * without the slowest of them: a stall, or the first second of a cold process, does not look like the machine.
 */
export class CommitBacklog {
  /** Orders that wait for their turn to start. */
  queued = 0;
  /** Orders that have started and are not committed. */
  started = 0;
  readonly #firsts: (() => number | undefined)[] = [];
  /** Orders a second, the newest last. */
  #rates: readonly number[] = Array.from({ length: ORDER_RATES_KEPT }, () => ASSUMED_ORDER_RATE);
  #stored = 0;
  /** End of the commit from which the next rate counts, if enough orders stood in line since. */
  #sinceMs: number | null = null;

  /** Adds a line of orders that are not sent to the database; `firstSinceMs` says when the first of them came. */
  addLine(firstSinceMs: () => number | undefined): void {
    this.#firsts.push(firstSinceMs);
  }

  /** Number of orders that are not stored. */
  get orders(): number {
    return this.queued + this.started;
  }

  /** Orders a second that are stored while enough stand in line. */
  get ratePerSecond(): number {
    return (sum(this.#rates) - Math.min(...this.#rates)) / (ORDER_RATES_KEPT - 1);
  }

  /** Whether another order would wait longer than MAX_ORDER_WAIT_MS for its commit. */
  isFull(nowMs: number): boolean {
    if (this.orders < MIN_UNSTORED_ORDERS) return false;
    const oldestMs = this.#oldestMs(nowMs);
    if (oldestMs >= LATE_ORDER_MS) return true;
    const rate = this.ratePerSecond;
    const believed = oldestMs < YOUNG_ORDER_MS ? Math.max(rate, ASSUMED_ORDER_RATE) : rate;
    return this.orders >= (believed * MAX_ORDER_WAIT_MS) / 1_000;
  }

  /** Counts a commit of started orders that ended at `nowMs`, by `performance.now`. */
  committed(orders: number, nowMs: number): void {
    const isInLine = this.orders >= IN_LINE;
    this.started -= orders;
    this.#measure(orders, nowMs, isInLine);
  }

  #measure(orders: number, nowMs: number, isInLine: boolean): void {
    this.#stored += orders;
    const passedMs = nowMs - (this.#sinceMs ?? nowMs);
    if (isInLine && this.#sinceMs !== null && passedMs < ORDER_RATE_MS) return;
    if (passedMs >= ORDER_RATE_MS) {
      this.#rates = [...this.#rates, (this.#stored / passedMs) * 1_000].slice(-ORDER_RATES_KEPT);
    }
    this.#stored = 0;
    this.#sinceMs = isInLine ? nowMs : null;
  }

  /** How long the oldest order has waited that is not sent to the database. */
  #oldestMs(nowMs: number): number {
    return Math.max(0, ...this.#firsts.map((firstSinceMs) => nowMs - (firstSinceMs() ?? nowMs)));
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
