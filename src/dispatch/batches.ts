import { setTimeout as delay } from 'node:timers/promises';

/**
 * Handles ids in batches, one batch at a time. Ids that arrive while a batch is handled share the next one,
 * each of them once. A storm of notices so costs only as many reads as the database can answer one after
 * another.
 *
 * @param failed called with the error of a batch; true for another attempt after `retryMs`
 * @param overflown called when more than `maxWaiting` ids wait; these are dropped
 */
export function createBatches(
  handle: (ids: readonly string[]) => Promise<void>,
  bounds: { readonly maxBatch: number; readonly maxWaiting: number; readonly retryMs: number },
  failed: (error: unknown) => boolean,
  overflown: () => void,
) {
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
    add(ids: readonly string[]) {
      put(ids);
      if (!running) void run();
    },
    /** Starts no further batch. */
    close() {
      isClosed = true;
    },
  };
}
