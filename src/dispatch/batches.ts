import { setTimeout as delay } from 'node:timers/promises';

export type Batches = {
  add(ids: readonly string[]): void;
  /** Hands on nothing more. */
  close(): void;
};

/**
 * Hands ids on in batches, one batch at a time: ids that arrive while one is being handled share the next, and an id that
 * arrives again meanwhile is in it once. So a storm of notices costs as many reads as the database can answer in a row.
 *
 * @param failed told why a batch could not be handled; true where it is to be tried again after a pause
 * @param overflown called when more than `maxWaiting` wait; they are forgotten
 */
export function createBatches(
  handle: (ids: readonly string[]) => Promise<void>,
  bounds: { readonly maxBatch: number; readonly maxWaiting: number; readonly retryMs: number },
  failed: (error: unknown) => boolean,
  overflown: () => void,
): Batches {
  const pending = new Set<string>();
  let running = false;
  let isClosed = false;

  function put(ids: readonly string[]): void {
    for (const id of ids) pending.add(id);
    if (pending.size <= bounds.maxWaiting) return;
    pending.clear();
    overflown();
  }

  async function run(): Promise<void> {
    running = true;
    while (pending.size > 0 && !isClosed) {
      const batch = [...pending].slice(0, bounds.maxBatch);
      for (const id of batch) pending.delete(id);
      try {
        await handle(batch);
      } catch (error) {
        if (!failed(error)) continue;
        put(batch);
        await delay(bounds.retryMs, undefined, { ref: false });
      }
    }
    running = false;
  }

  return {
    add(ids) {
      put(ids);
      if (!running) void run();
    },
    close() {
      isClosed = true;
    },
  };
}
