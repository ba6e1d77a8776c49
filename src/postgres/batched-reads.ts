import { classifyFailure } from './failures.ts';

/** Where statements go that must not be in flight beside each other: each starts when its turn comes. */
export type ConcurrencyLimit = { enter(start: () => Promise<void>): void };

/** A lane for so many statements at once, first come, first served. What comes in one turn of the event loop is let in after it. */
export function limitConcurrency(maxInFlight: number): ConcurrencyLimit {
  const waiting: (() => Promise<void>)[] = [];
  let inFlight = 0;

  function letIn(): void {
    while (inFlight < maxInFlight) {
      const start = waiting.shift();
      if (!start) return;
      inFlight++;
      void start().finally(() => {
        inFlight--;
        setImmediate(letIn);
      });
    }
  }
  return {
    enter(start) {
      waiting.push(start);
      setImmediate(letIn);
    },
  };
}

/**
 * Turns a statement for many into one for each: those asked for in the same turn of the event loop, or while statements
 * before are in flight, share the next one. A busy process asks for hundreds a second, and each statement of its own costs
 * both sides more than its rows. Two of one key never share a statement. Where the database refuses a row of many, or ends
 * the statement because of a deadlock, each is tried alone, so that none fails for its neighbours.
 *
 * @param handle one statement; the answers by key, null for a key that is missing in them
 * @param lane statements that lock the same rows share one, so that none waits in the database for another
 * @returns rejects with what `handle` threw
 */
export function batched<Item, Value>(
  handle: (items: readonly Item[]) => Promise<ReadonlyMap<string, Value>>,
  keyOf: (item: Item) => string,
  maxBatch: number,
  lane: ConcurrencyLimit,
): (item: Item) => Promise<Value | null> {
  type Caller = {
    readonly item: Item;
    readonly resolve: (value: Value | null) => void;
    readonly reject: (error: unknown) => void;
  };
  let waiting: Caller[] = [];
  let isInLine = false;

  function schedule(): void {
    if (isInLine || waiting.length === 0) return;
    isInLine = true;
    lane.enter(() => {
      isInLine = false;
      const some = takeSome();
      schedule();
      return answer(some);
    });
  }

  function takeSome(): Caller[] {
    const some = new Map<string, Caller>();
    const rest: Caller[] = [];
    for (const caller of waiting) {
      const key = keyOf(caller.item);
      if (some.size < maxBatch && !some.has(key)) some.set(key, caller);
      else rest.push(caller);
    }
    waiting = rest;
    return [...some.values()];
  }

  async function answer(callers: readonly Caller[]): Promise<void> {
    try {
      const values = await handle(callers.map(({ item }) => item));
      for (const { item, resolve } of callers) resolve(values.get(keyOf(item)) ?? null);
    } catch (error) {
      const failure = classifyFailure(error);
      const mayPassAlone = callers.length > 1 && (failure === 'refused_row' || failure === 'retry');
      if (mayPassAlone) for (const caller of callers) await answer([caller]);
      else for (const { reject } of callers) reject(error);
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      schedule();
    });
}
