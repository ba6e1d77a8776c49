import { classifyFailure } from './failures.ts';

/**
 * Turns a statement for many into one for each: those asked for in the same turn of the event loop, or while statements
 * before are in flight, share the next one. A busy process asks for hundreds a second, and each statement of its own costs
 * both sides more than its rows. Two of one key never share a statement. Where the database refuses a row of many, or ends
 * the statement because of a deadlock, each is tried alone, so that none fails for its neighbours.
 *
 * @param handle one statement; the answers by key, null for a key that is missing in them
 * @returns rejects with what `handle` threw
 */
export function together<Item, Value>(
  handle: (items: readonly Item[]) => Promise<ReadonlyMap<string, Value>>,
  keyOf: (item: Item) => string,
  bounds: { readonly maxTogether: number; readonly maxInFlight: number },
): (item: Item) => Promise<Value | null> {
  type Asker = {
    readonly item: Item;
    readonly resolve: (value: Value | null) => void;
    readonly reject: (error: unknown) => void;
  };
  let waiting: Asker[] = [];
  let inFlight = 0;
  let scheduled = false;

  function schedule(): void {
    if (scheduled || waiting.length === 0 || inFlight >= bounds.maxInFlight) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      while (waiting.length > 0 && inFlight < bounds.maxInFlight) {
        inFlight++;
        void answer(takeSome()).finally(() => {
          inFlight--;
          schedule();
        });
      }
    });
  }

  function takeSome(): Asker[] {
    const some = new Map<string, Asker>();
    const rest: Asker[] = [];
    for (const asker of waiting) {
      const key = keyOf(asker.item);
      if (some.size < bounds.maxTogether && !some.has(key)) some.set(key, asker);
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
