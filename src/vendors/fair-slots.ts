import { Tally } from '../domain/tally.ts';

type Waiter = { readonly take: () => void };

/**
 * A number of slots that callers share, so that a flood of one leaves others their place. A caller takes one
 * only while it holds fewer than are free ("dynamic thresholds", A. K. Choudhury and E. L. Hahne, IEEE/ACM
 * Transactions on Networking 6, 1998). So it has half of them where it is alone, a third beside another one,
 * and so on. Otherwise it waits in a line of its own. A slot that gets free goes to the line whose caller holds
 * the fewest, among equals to the one that was served longest ago.
 */
export class FairSlots {
  readonly #maxWaiting: number;
  #free: number;
  readonly #held = new Tally();
  /** The lines of waiting callers, the one that was served last at the end. None is empty. */
  readonly #lines = new Map<string, Set<Waiter>>();

  /**
   * @param slots in all
   * @param maxWaiting longest line of one caller
   */
  constructor(slots: number, maxWaiting: number) {
    this.#free = slots;
    this.#maxWaiting = maxWaiting;
  }

  /** Takes a slot; false where the caller's line is full or the wait takes longer than `waitMs`. */
  enter(caller: string, waitMs: number): Promise<boolean> {
    const line = this.#lines.get(caller) ?? new Set();
    if (line.size === 0 && this.#mayTake(caller)) {
      this.#take(caller);
      return Promise.resolve(true);
    }
    if (line.size >= this.#maxWaiting) return Promise.resolve(false);
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#drop(caller, waiter);
        resolve(false);
      }, waitMs);
      const waiter = {
        take: () => {
          clearTimeout(timer);
          resolve(true);
        },
      };
      this.#lines.set(caller, line.add(waiter));
    });
  }

  /** Gives back a slot that `enter` gave. */
  leave(caller: string): void {
    this.#free++;
    this.#held.add(caller, -1);
    for (let next = this.#next(); next !== null; next = this.#next()) this.#serve(next);
  }

  #mayTake(caller: string): boolean {
    return this.#held.of(caller) < this.#free;
  }

  #take(caller: string): void {
    this.#free--;
    this.#held.add(caller, 1);
  }

  /** The caller whose line is served next; null where none may take a slot. */
  #next(): string | null {
    let next: string | null = null;
    for (const caller of this.#lines.keys()) {
      if (next === null || this.#held.of(caller) < this.#held.of(next)) next = caller;
    }
    return next !== null && this.#mayTake(next) ? next : null;
  }

  #serve(caller: string): void {
    const line = this.#lines.get(caller) as Set<Waiter>;
    const [waiter] = line as Iterable<Waiter> as [Waiter];
    this.#drop(caller, waiter);
    if (line.size > 0) {
      this.#lines.delete(caller);
      this.#lines.set(caller, line);
    }
    this.#take(caller);
    waiter.take();
  }

  #drop(caller: string, waiter: Waiter): void {
    const line = this.#lines.get(caller);
    line?.delete(waiter);
    if (line?.size === 0) this.#lines.delete(caller);
  }
}
