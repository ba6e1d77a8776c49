import type { CommitBacklog } from './commit-backlog.ts';

/** Turns of the event loop that an order waits at least. */
const TURNS = 2;

/**
 * Starts queued orders in slices of time, one slice in each turn of the event loop, first come, first served.
 * The event loop reads all readable sockets in one turn; if their orders all started at once, other requests
 * and the replies of the database would wait for them.
 *
 * An order starts two turns after its arrival at the earliest. The transport reports a request one turn
 * before it reports that the connection was closed right after it, and it may report the request before the
 * closed connection of an earlier equal one. An order must not start before these are known.
 */
export class AdmissionControl {
  readonly #sliceMs: number;
  readonly #backlog: CommitBacklog;
  readonly #waiting: { readonly turn: number; readonly store: string; readonly start: () => void }[] = [];
  #turn = 0;
  #isScheduled = false;

  /** @param sliceMs time in a turn for starting orders */
  constructor(sliceMs: number, backlog: CommitBacklog) {
    this.#sliceMs = sliceMs;
    this.#backlog = backlog;
  }

  /** Whether orders may be refused. */
  isFull(): boolean {
    return this.#backlog.isFull();
  }

  /** Whether another order of this store would be refused. */
  isFullFor(store: string): boolean {
    return this.#backlog.isFullFor(store);
  }

  /** Resolves when the order of this store may start; null if it is refused. */
  enter(store: string): Promise<void> | null {
    if (this.isFullFor(store)) return null;
    this.#schedule();
    this.#backlog.countQueued(store, 1);
    return new Promise((start) => this.#waiting.push({ turn: this.#turn, store, start }));
  }

  /** `setImmediate` runs after every readable socket of the turn has been read. */
  #schedule(): void {
    if (!this.#isScheduled) setImmediate(() => void this.#serve());
    this.#isScheduled = true;
  }

  async #serve(): Promise<void> {
    this.#isScheduled = false;
    this.#turn++;
    if (this.#waiting.length > 0) this.#schedule();
    const endMs = performance.now() + this.#sliceMs;
    while (performance.now() < endMs) {
      const next = this.#nextDue();
      if (!next) break;
      next.start();
      this.#backlog.countQueued(next.store, -1);
      // Lets the order start before the clock is read again.
      await Promise.resolve();
    }
  }

  #nextDue() {
    const [first] = this.#waiting;
    return first !== undefined && first.turn <= this.#turn - TURNS ? this.#waiting.shift() : undefined;
  }
}
