import { Tally } from '../domain/tally.ts';
import { atMost, below, MAX_COMMIT_BATCH, QUERY_DEADLINE_MS } from '../limits.ts';

/**
 * Longest expected wait of an order for its commit where its store alone sends; one that would wait longer is
 * refused with 503 at once. Below MAX_COMMIT_WAIT_MS, after which it would be dropped. A thousand callers at once
 * get their 201 from a machine that stores 500 orders a second.
 */
export const MAX_ORDER_WAIT_MS = 2_000;
/** Orders of a store alone that may wait on the slowest machine. At most MAX_COMMIT_BATCH, as they are one commit. */
export const MIN_UNSTORED_ORDERS = 128;
/**
 * How many times the places that are free a store may hold. So it leaves a tenth of its own to others, whose orders
 * wait a tenth longer at most.
 */
export const PLACES_PER_FREE = 10;
/** Orders a second that a process is assumed to store until it has measured its own rate. */
export const ASSUMED_ORDER_RATE = 1_000;
/** Longest time from a commit to the next one of the same line; after a longer one the line is a new one. */
export const LINE_PAUSE_MS = 300;
/** Time over which the rate is measured, so that a stall of a second, as of a disk, does not look like it. */
export const ORDER_RATE_WINDOW_MS = 5_000;

atMost({ MIN_UNSTORED_ORDERS }, { MAX_COMMIT_BATCH });
below({ LINE_PAUSE_MS }, { ORDER_RATE_WINDOW_MS });
// The slowest rate that is measured; below the other one the rate does not matter.
atMost(
  { 'MAX_COMMIT_BATCH / QUERY_DEADLINE_MS': MAX_COMMIT_BATCH / QUERY_DEADLINE_MS },
  { 'MIN_UNSTORED_ORDERS / MAX_ORDER_WAIT_MS': MIN_UNSTORED_ORDERS / MAX_ORDER_WAIT_MS },
);

/** Orders below which the rate is not measured: the callers set it, not the machine. */
const IN_LINE = MIN_UNSTORED_ORDERS / 2;

/**
 * The orders that are not stored yet, and the rate at which this process stores them.
 *
 * The rate is that of the time in which enough orders stood in line, as only then the machine sets it. Older
 * time counts less, by half after about ORDER_RATE_WINDOW_MS. Until it is known it is ASSUMED_ORDER_RATE. A
 * commit that had no answer, or stored nothing, says nothing of the rate.
 */
export class CommitBacklog {
  /** Orders that wait for their turn to start. */
  queued = 0;
  /** Orders that have started and are not committed. */
  started = 0;
  readonly #ofStores = new Tally();
  #storedInLine = 0;
  #inLineMs = 0;
  /** End of the last commit, if enough orders stood in line then. */
  #inLineSince: number | null = null;

  /** Number of orders that are not stored. */
  get orders(): number {
    return this.queued + this.started;
  }

  /** Orders a second that are stored while enough stand in line. */
  get ratePerSecond(): number {
    return this.#inLineMs === 0 ? ASSUMED_ORDER_RATE : (this.#storedInLine / this.#inLineMs) * 1_000;
  }

  /** Counts an order of a store that waits for its turn from now on, or by -1 no longer does. */
  countQueued(store: string, change: 1 | -1): void {
    this.queued += change;
    this.#ofStores.add(store, change);
  }

  /** Counts an order of a store that has started, or by -1 is over. */
  countStarted(store: string, change: 1 | -1): void {
    this.started += change;
    this.#ofStores.add(store, change);
  }

  /** Whether another order would wait longer than MAX_ORDER_WAIT_MS for its commit. */
  isFull(): boolean {
    return this.orders >= this.#places;
  }

  /**
   * Whether this store may have no further order: it holds PLACES_PER_FREE times the places that are free. A tenth more
   * are counted than a store alone may take, so that no flood takes the last one ("dynamic thresholds", as in
   * `FairSlots`).
   */
  isFullFor(store: string): boolean {
    const free = this.#places * (1 + 1 / PLACES_PER_FREE) - this.orders;
    return this.isFull() && this.#ofStores.of(store) >= PLACES_PER_FREE * free;
  }

  get #places(): number {
    return Math.max(MIN_UNSTORED_ORDERS, (this.ratePerSecond * MAX_ORDER_WAIT_MS) / 1_000);
  }

  /** Notes that a commit starts beside no other one. The quiet between two bursts is no time in line. */
  resume(nowMs: number): void {
    const pauseMs = nowMs - (this.#inLineSince ?? nowMs);
    if (pauseMs > LINE_PAUSE_MS || this.orders < IN_LINE) this.#inLineSince = null;
  }

  /** The database does not answer, or stores nothing: the time until the next commit ends is not the machine's. */
  endLine(): void {
    this.#inLineSince = null;
  }

  /** Counts a commit of so many orders, which are over, that ended at `nowMs`, by `performance.now`. */
  committed(orders: number, nowMs: number): void {
    const passedMs = nowMs - (this.#inLineSince ?? Number.NEGATIVE_INFINITY);
    if (passedMs <= QUERY_DEADLINE_MS) {
      const weight = Math.exp(-passedMs / ORDER_RATE_WINDOW_MS);
      this.#storedInLine = this.#storedInLine * weight + orders;
      this.#inLineMs = this.#inLineMs * weight + passedMs;
    }
    this.#inLineSince = this.orders >= IN_LINE ? nowMs : null;
  }
}
