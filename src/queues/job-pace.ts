import { below } from '../limits.ts';

/**
 * Time from arrival to commit above which an order counts as slow, so that jobs of the same process yield to
 * orders. A commit takes 2 to 5 ms on a quick disk.
 */
export const SLOW_ORDER_MS = 20;
/** Interval at which the number of jobs that may start follows the orders, and of hand-overs while jobs yield. */
export const JOB_TICK_MS = 50;
/** Most jobs that start in a tick while jobs yield; above it they do not yield any more. */
export const MAX_PACED_JOBS = 64;
/** Fewest jobs that start in a tick while jobs yield: 20 a second. Below MAX_PACED_JOBS. */
export const MIN_PACED_JOBS = 1;
/**
 * Longest time for which jobs yield that far. In a flood without end each second after that adds a job a
 * tick, up to MAX_PACED_JOBS.
 */
export const JOB_YIELD_MS = 60_000;

below({ MIN_PACED_JOBS }, { MAX_PACED_JOBS });

/**
 * Lets jobs yield to the orders that are placed at the same process. Both take from the same database and the
 * same thread; the caller of an order waits, and a job can be done later.
 *
 * While orders are slow the number of jobs that may start in a tick is halved each tick, down to
 * MIN_PACED_JOBS, and it grows by a quarter each tick otherwise: the multiplicative decrease and the slow
 * start of TCP (Jacobson 1988). The time from an order's arrival to its commit holds the commit's latency and
 * the delay of the event loop. Above MAX_PACED_JOBS jobs start at once. After JOB_YIELD_MS their least number
 * grows, so that they are late but not for ever.
 */
export class JobPace {
  #room = Number.POSITIVE_INFINITY;
  #left = 0;
  #slowestMs = 0;
  #yieldingSince = 0;
  #waiting: ((mayStart: boolean) => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  readonly #isShared: boolean;

  /** @param isShared whether this process both places orders and does jobs; else jobs never yield */
  constructor(isShared: boolean) {
    this.#isShared = isShared;
  }

  /** Jobs that may start, or be handed over, in this tick. */
  get room(): number {
    return this.#room;
  }

  /** Whether jobs yield now. */
  get isYielding(): boolean {
    return this.#timer !== undefined;
  }

  /** An order was committed this many milliseconds after its arrival. */
  orderTook(ms: number): void {
    this.#slowestMs = Math.max(this.#slowestMs, ms);
    if (ms <= SLOW_ORDER_MS || !this.#isShared || this.isYielding || this.#isClosed) return;
    this.#room = MAX_PACED_JOBS;
    this.#yieldingSince = performance.now();
    this.#timer = setInterval(() => this.#tick(), JOB_TICK_MS);
    this.#tick();
  }

  /** Resolves when a job may start, first come, first served; false if the process stops. */
  turn(): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false);
    if (!this.isYielding) return Promise.resolve(true);
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#start();
    });
  }

  /** Ends every wait for a turn. */
  close(): void {
    this.#isClosed = true;
    this.#stopYielding();
    for (const resolve of this.#waiting.splice(0)) resolve(false);
  }

  #tick(): void {
    const isSlow = this.#slowestMs > SLOW_ORDER_MS;
    this.#slowestMs = 0;
    const overSeconds = Math.max(0, performance.now() - this.#yieldingSince - JOB_YIELD_MS) / 1_000;
    const least = Math.min(MAX_PACED_JOBS, MIN_PACED_JOBS + Math.floor(overSeconds));
    this.#room = isSlow ? Math.max(least, this.#room >> 1) : Math.ceil(this.#room * 1.25);
    this.#left = this.#room;
    if (this.#room > MAX_PACED_JOBS) this.#stopYielding();
    this.#start();
  }

  #stopYielding(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#room = Number.POSITIVE_INFINITY;
    this.#left = Number.POSITIVE_INFINITY;
  }

  #start(): void {
    const starting = this.#waiting.splice(0, this.#left);
    this.#left -= starting.length;
    for (const resolve of starting) resolve(true);
  }
}
