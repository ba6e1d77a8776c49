import { classifyFailure } from './failures.ts';

/** Where statements go that must not be in flight beside each other: each starts when its turn comes. */
export type Lane = { enter(start: () => Promise<void>): void };

/** A lane for so many statements at once, first come, first served. What comes in one turn of the event loop is let in after it. */
export function createLane(maxInFlight: number): Lane {
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
export function together<Item, Value>(
  handle: (items: readonly Item[]) => Promise<ReadonlyMap<string, Value>>,
  keyOf: (item: Item) => string,
  maxTogether: number,
  lane: Lane,
): (item: Item) => Promise<Value | null> {
  type Asker = {
    readonly item: Item;
    readonly resolve: (value: Value | null) => void;
    readonly reject: (error: unknown) => void;
  };
  let waiting: Asker[] = [];
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

  function takeSome(): Asker[] {
    const some = new Map<string, Asker>();
    const rest: Asker[] = [];
    for (const asker of waiting) {
      const key = keyOf(asker.item);
      if (some.size < maxTogether && !some.has(key)) some.set(key, asker);
      else rest.push(asker);
    }
    waiting = rest;
    return [...some.values()];
  }

  async function answer(askers: readonly Asker[]): Promise<void> {
    try {
      const values = await handle(askers.map(({ item }) => item));
      for (const { item, resolve } of askers) resolve(values.get(keyOf(item)) ?? null);
    } catch (error) {
      const failure = classifyFailure(error);
      const mayPassAlone = askers.length > 1 && (failure === 'refused_row' || failure === 'retry');
      if (mayPassAlone) for (const asker of askers) await answer([asker]);
      else for (const { reject } of askers) reject(error);
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      schedule();
    });
}
