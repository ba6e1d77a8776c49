import { LATE_ORDER_MS } from '../limits.ts';
import type { CommitBacklog } from './commit-backlog.ts';

/** Turns of the event loop that an order waits at least. */
const TURNS = 2;

type Waiting = { readonly turn: number; readonly sinceMs: number; readonly resolve: (mayStart: boolean) => void };

/**
 * Starts queued orders in slices of time, one slice in each turn of the event loop, first come, first served.
 * The event loop reads all readable sockets in one turn; if their orders all started at once, other requests
 * and the replies of the database would wait for them. In a long turn, as where a flood is refused, a slice is
 * a share of it, or the orders that are served would get none of the time. One that has waited too long for its
 * turn is refused, since its caller is served no more.
 *
 * An order starts two turns after its arrival at the earliest. The transport reports a request one turn
 * before it reports that the connection was closed right after it, and it may report the request before the
 * closed connection of an earlier equal one. An order must not start before these are known.
 */
export class AdmissionControl {
  readonly #slice: { readonly leastMs: number; readonly share: number };
  readonly #backlog: CommitBacklog;
  readonly #waiting: Waiting[] = [];
  #turn = 0;
  #isScheduled = false;
  /** Since when the event loop has done other work than to start orders. */
  #restSinceMs = 0;

  /** @param slice time in a turn for starting orders: at least, and as a share of the rest of the turn */
  constructor(slice: { readonly leastMs: number; readonly share: number }, backlog: CommitBacklog) {
    this.#slice = slice;
    this.#backlog = backlog;
    backlog.addLine(() => this.#waiting[0]?.sinceMs);
  }

  /** Whether another order would be refused. */
  isFull(): boolean {
    return this.#backlog.isFull(performance.now());
  }

  /** Resolves with true when the order may start, with false if it is refused, at once or for waiting too long. */
  enter(): Promise<boolean> {
    const nowMs = performance.now();
    if (this.#backlog.isFull(nowMs)) return Promise.resolve(false);
    this.#schedule(nowMs);
    this.#backlog.queued++;
    return new Promise((resolve) => this.#waiting.push({ turn: this.#turn, sinceMs: nowMs, resolve }));
  }

  /** `setImmediate` runs after every readable socket of the turn has been read. */
  #schedule(nowMs: number): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#restSinceMs = nowMs;
    setImmediate(() => void this.#serve());
  }

  async #serve(): Promise<void> {
    const { leastMs, share } = this.#slice;
    this.#isScheduled = false;
    this.#turn++;
    let nowMs = performance.now();
    const endMs = nowMs + Math.max(leastMs, share * (nowMs - this.#restSinceMs));
    this.#refuseLate(nowMs - LATE_ORDER_MS);
    if (this.#waiting.length > 0) this.#schedule(nowMs);
    while (this.#isDue() && nowMs < endMs) {
      this.#next(true);
      // Lets the order start before the clock is read again.
      await Promise.resolve();
      nowMs = performance.now();
    }
    this.#restSinceMs = nowMs;
  }

  #refuseLate(lateMs: number): void {
    for (let [first] = this.#waiting; first && first.sinceMs <= lateMs; [first] = this.#waiting) this.#next(false);
  }

  #next(mayStart: boolean): void {
    this.#waiting.shift()?.resolve(mayStart);
    this.#backlog.queued--;
  }

  #isDue(): boolean {
    const [first] = this.#waiting;
    return first !== undefined && first.turn <= this.#turn - TURNS;
  }
}
