import type { CommitBacklog } from './group-commit.ts';

/** Turns of the event loop that a request waits at least. */
const TURNS = 2;

/**
 * Lets orders begin in slices of time, one in each turn of the event loop, first come, first served: all sockets that have
 * something to read are read in one turn, and were every order that comes with them begun at once, neither the other requests
 * nor an answer of the database would be heard meanwhile. None begins in the turn that it came with or in the next: the
 * transport tells of a request one turn before it sees that its connection was closed behind it, and perhaps before it sees
 * the close of an earlier, equal one's. By then nothing of this one may have begun.
 */
export class AdmissionControl {
  readonly #sliceMs: number;
  readonly #max: number;
  readonly #backlog: Readonly<CommitBacklog>;
  readonly #waiting: { readonly turn: number; readonly begin: () => void }[] = [];
  #turn = 0;
  #isScheduled = false;
  #isLate = false;

  /**
   * @param sliceMs for how long orders begin in a turn
   * @param max how many may wait here and behind
   * @param backlog the orders that have begun and are not committed; an order that waits for its charge is none
   */
  constructor(sliceMs: number, max: number, backlog: Readonly<CommitBacklog>) {
    this.#sliceMs = sliceMs;
    this.#max = max;
    this.#backlog = backlog;
  }

  /** Whether one more would be refused. */
  isFull(): boolean {
    return this.#waiting.length + this.#backlog.orders >= this.#max;
  }

  /** Whether more orders came than could begin in the last turn. */
  isLate(): boolean {
    return this.#isLate;
  }

  /** Resolves when the order may begin; null where it is full. */
  enter(): Promise<void> | null {
    if (this.isFull()) return null;
    this.#schedule();
    return new Promise((begin) => this.#waiting.push({ turn: this.#turn, begin }));
  }

  /** The callback runs once every socket that had something to read has been served. */
  #schedule(): void {
    if (!this.#isScheduled) setImmediate(() => void this.#serve());
    this.#isScheduled = true;
  }

  async #serve(): Promise<void> {
    this.#isScheduled = false;
    this.#turn++;
    if (this.#waiting.length > 0) this.#schedule();
    const endMs = performance.now() + this.#sliceMs;
    while (this.#isDue() && performance.now() < endMs) {
      this.#waiting.shift()?.begin();
      // It begins before this goes on.
      await Promise.resolve();
    }
    this.#isLate = this.#isDue();
  }

  #isDue(): boolean {
    const [first] = this.#waiting;
    return first !== undefined && first.turn <= this.#turn - TURNS;
  }
}
