/**
 * Turns a reading of many into a reading of one: those asked for in the same turn of the event loop are read by one
 * statement, `maxTogether` at most. A busy API reads hundreds of keys a second, and each statement of its own costs both
 * sides more than its rows.
 */
export function together<Value>(
  readMany: (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
  maxTogether: number,
): (key: string) => Promise<Value | null> {
  type Asker = {
    readonly key: string;
    readonly resolve: (value: Value | null) => void;
    readonly reject: (error: unknown) => void;
  };
  let askers: Asker[] = [];

  function readAll(): void {
    const all = askers;
    askers = [];
    for (let from = 0; from < all.length; from += maxTogether) void answer(all.slice(from, from + maxTogether));
  }

  async function answer(some: readonly Asker[]): Promise<void> {
    try {
      const values = await readMany(some.map(({ key }) => key));
      for (const { key, resolve } of some) resolve(values.get(key) ?? null);
    } catch (error) {
      for (const { reject } of some) reject(error);
    }
  }

  return (key) =>
    new Promise((resolve, reject) => {
      if (askers.length === 0) setImmediate(readAll);
      askers.push({ key, resolve, reject });
    });
}
