import { ServiceError } from '../domain/errors.ts';
import { Groups } from '../domain/groups.ts';
import { Tally } from '../domain/tally.ts';
import { below, MAX_REQUESTS_IN_FLIGHT } from '../limits.ts';
import type { RequestSignal } from '../transport/route.ts';

/** Most readers that wait in one process; one more gets 503. Below MAX_REQUESTS_IN_FLIGHT. */
const MAX_EVENT_WAITS = 2_000;
/** Most of them of one store; one more gets 429. Below MAX_EVENT_WAITS. A store needs one, or two at a change. */
const MAX_EVENT_WAITS_PER_STORE = 5;

below({ MAX_EVENT_WAITS }, { MAX_REQUESTS_IN_FLIGHT });
below({ MAX_EVENT_WAITS_PER_STORE }, { MAX_EVENT_WAITS });

/** Who waits for events, and for how long. */
export type EventWaiter = {
  /** The store, or another holder of a key, whose waits are counted together. */
  readonly holderId: string;
  /** The stores whose events are waited for. */
  readonly retailerIds: readonly string[];
  readonly waitMs: number;
  readonly signal: RequestSignal;
};

/** A wait: `news` resolves at the next event of its stores, or when it is over. */
type Wait = { readonly holderId: string; news: Promise<void>; wake: () => void; isOver: boolean };

/**
 * The requests that wait for events of their stores. They hold no connection to the database: the notice of an
 * event wakes those of its store, and each reads again.
 */
export class EventWaits {
  readonly #bounds: { readonly all: number; readonly ofHolder: number };
  readonly #byRetailer = new Groups<string, Wait>();
  readonly #countByHolder = new Tally();
  readonly #waits = new Set<Wait>();
  #isClosed = false;

  constructor(bounds = { all: MAX_EVENT_WAITS, ofHolder: MAX_EVENT_WAITS_PER_STORE }) {
    this.#bounds = bounds;
  }

  get count(): number {
    return this.#waits.size;
  }

  /**
   * Calls `read` at once and then at each news, until it found something or the wait is over.
   *
   * @returns the last result
   * @throws {ServiceError} `rate_limited` where too many of the holder wait, `unavailable` where too many of all
   */
  async untilFound<Result>(
    waiter: EventWaiter,
    read: () => Promise<Result>,
    isFound: (result: Result) => boolean,
  ): Promise<Result> {
    const wait = this.#enter(waiter);
    const end = () => this.#end(wait);
    const timer = setTimeout(end, waiter.waitMs);
    waiter.signal.onAbort(end);
    try {
      for (;;) {
        // Before the read, so that no event between it and the wait is missed.
        const { news } = wait;
        const result = await read();
        if (isFound(result) || wait.isOver) return result;
        await news;
        if (wait.isOver) return result;
      }
    } finally {
      clearTimeout(timer);
      this.#leave(waiter, wait);
    }
  }

  /** Events of these stores may be there. */
  wake(retailerIds: readonly string[]): void {
    for (const id of retailerIds) for (const wait of this.#byRetailer.of(id)) wait.wake();
  }

  /** Events of any store may be there. */
  wakeAll(): void {
    for (const wait of this.#waits) wait.wake();
  }

  /** Ends the waits of these holders at once: they may read other stores now, and wait anew. */
  endOf(holderIds: readonly string[]): void {
    for (const wait of this.#waits) if (holderIds.includes(wait.holderId)) this.#end(wait);
  }

  /** Ends all waits at once, and every later one after its first read. */
  close(): void {
    this.#isClosed = true;
    for (const wait of this.#waits) this.#end(wait);
  }

  #end(wait: Wait): void {
    wait.isOver = true;
    wait.wake();
  }

  #enter({ holderId, retailerIds, signal }: EventWaiter): Wait {
    const { all, ofHolder: most } = this.#bounds;
    if (this.#countByHolder.of(holderId) >= most)
      throw new ServiceError('rate_limited', `Too many requests of your store wait for events: ${most} may at a time.`);
    if (this.#waits.size >= all)
      throw new ServiceError('unavailable', 'Too many requests wait for events. Try again in a moment.');
    this.#countByHolder.add(holderId, 1);
    const wait = newWait(holderId, this.#isClosed || signal.aborted);
    this.#waits.add(wait);
    for (const id of retailerIds) this.#byRetailer.add(id, wait);
    return wait;
  }

  #leave({ holderId, retailerIds }: EventWaiter, wait: Wait): void {
    this.#countByHolder.add(holderId, -1);
    this.#waits.delete(wait);
    for (const id of retailerIds) this.#byRetailer.delete(id, wait);
  }
}

function newWait(holderId: string, isOver: boolean): Wait {
  const wait: Wait = { holderId, news: Promise.resolve(), wake: () => undefined, isOver };
  const renew = (): void => {
    wait.news = new Promise((resolve) => {
      wait.wake = () => {
        renew();
        resolve();
      };
    });
  };
  renew();
  return wait;
}
