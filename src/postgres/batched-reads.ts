import { classifyFailure, wasEnded } from './failures.ts';

/**
 * Items that may take a whole statement time-out alone; those of their batch that are left then fail untried. One is
 * what waits for a row that another session has locked. Of more, each would hold the place of all for as long again.
 */
const MAX_ENDED_ALONE = 2;

/** Bounds the statements in flight. `enter` starts a statement when its turn comes. */
export type ConcurrencyLimit = { enter(start: () => Promise<void>): void };

/**
 * A limit of `maxInFlight` statements, first come, first served. A statement starts after the turn of the
 * event loop in which it entered, so that its batch holds all items of that turn.
 */
export function limitConcurrency(maxInFlight: number): ConcurrencyLimit {
  const waiting: (() => Promise<void>)[] = [];
  let inFlight = 0;

  function startNext(): void {
    while (inFlight < maxInFlight) {
      const start = waiting.shift();
      if (!start) return;
      inFlight++;
      void start().finally(() => {
        inFlight--;
        setImmediate(startNext);
      });
    }
  }
  return {
    enter(start) {
      waiting.push(start);
      setImmediate(startNext);
    },
  };
}

/**
 * Makes a function for one item of a statement for many. Items of the same turn of the event loop, or that
 * arrive while `limit` is reached, share a statement, because a statement costs both sides more than its
 * rows. Items of the same key never share one. If the database refuses a row, or ends the statement because
 * of a deadlock, each item is tried alone, so that none fails for another; so it is where items lock rows and the
 * statement took its whole time, up to MAX_ENDED_ALONE.
 *
 * @param handle the statement; it returns values by key
 * @param maxBatch most items in a statement
 * @param limit shared by statements that lock the same rows, so that none waits in the database for another
 * @param everyMs shortest time from a statement to the next one with this item, unless a full batch waits: later items
 *   share it. The first one after a quiet time waits for nothing.
 * @param locksRows whether an item may wait for a row
 * @returns resolves with the item's value, null for a missing one; rejects as `handle` does
 */
export function batched<Item, Value>(
  handle: (items: readonly Item[]) => Promise<ReadonlyMap<string, Value>>,
  keyOf: (item: Item) => string,
  maxBatch: number,
  limit: ConcurrencyLimit,
  everyMs: (item: Item) => number = () => 0,
  locksRows = false,
): (item: Item) => Promise<Value | null> {
  type Caller = {
    readonly item: Item;
    readonly resolve: (value: Value | null) => void;
    readonly reject: (error: unknown) => void;
  };
  let waiting: Caller[] = [];
  let isScheduled = false;
  let startedMs = Number.NEGATIVE_INFINITY;
  /** Shortest time from that start to the next one, as those who wait want it. */
  let pauseMs = Number.POSITIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;

  function schedule(): void {
    if (isScheduled || waiting.length === 0) return;
    const waitMs = startedMs + pauseMs - performance.now();
    clearTimeout(timer);
    if (waitMs > 0 && waiting.length < maxBatch) {
      timer = setTimeout(schedule, waitMs);
      return;
    }
    isScheduled = true;
    limit.enter(() => {
      isScheduled = false;
      startedMs = performance.now();
      const batch = takeBatch();
      pauseMs = Math.min(...waiting.map(({ item }) => everyMs(item)));
      schedule();
      return answer(batch).then(() => undefined);
    });
  }

  function takeBatch(): Caller[] {
    const batch = new Map<string, Caller>();
    const rest: Caller[] = [];
    for (const caller of waiting) {
      const key = keyOf(caller.item);
      if (batch.size < maxBatch && !batch.has(key)) batch.set(key, caller);
      else rest.push(caller);
    }
    waiting = rest;
    return [...batch.values()];
  }

  /** Returns why the statement failed, if it did. */
  async function answer(callers: readonly Caller[]): Promise<unknown> {
    try {
      const values = await handle(callers.map(({ item }) => item));
      for (const { item, resolve } of callers) resolve(values.get(keyOf(item)) ?? null);
      return null;
    } catch (error) {
      if (callers.length > 1 && mayPassAlone(error)) await answerAlone(callers);
      else for (const { reject } of callers) reject(error);
      return error;
    }
  }

  function mayPassAlone(error: unknown): boolean {
    const failure = classifyFailure(error);
    return failure === 'refused_row' || failure === 'retry' || (locksRows && wasEnded(error));
  }

  async function answerAlone(callers: readonly Caller[]): Promise<void> {
    const ended: unknown[] = [];
    for (const caller of callers) {
      if (ended.length === MAX_ENDED_ALONE) caller.reject(ended.at(-1));
      else ended.push(...[await answer([caller])].filter(wasEnded));
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      pauseMs = Math.min(pauseMs, everyMs(item));
      schedule();
    });
}
