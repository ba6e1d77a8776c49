export type Batches = { add(ids: readonly string[]): void };

/**
 * Hands ids on in batches, one batch at a time: ids that arrive while one is being handled share the next, and an id that
 * arrives again meanwhile is in it once. So a storm of notices costs as many reads as the database can answer in a row.
 */
export function createBatches(
  handle: (ids: readonly string[]) => Promise<void>,
  maxBatch: number,
  failed: (error: unknown) => void,
): Batches {
  const pending = new Set<string>();
  let running = false;

  async function run(): Promise<void> {
    running = true;
    while (pending.size > 0) {
      const batch = [...pending].slice(0, maxBatch);
      for (const id of batch) pending.delete(id);
      await handle(batch).catch(failed);
    }
    running = false;
  }

  return {
    add(ids) {
      for (const id of ids) pending.add(id);
      if (!running) void run();
    },
  };
}
