import { RELAY_BATCH, RELAY_MARK_MS } from '../limits.ts';
import type { Store } from '../store/store.ts';
import { errorFields, type Logger } from '../telemetry.ts';

export type HandOverMarks = {
  /** Takes the ids of rows that were handed over. */
  add(ids: readonly number[]): void;
  /** Ends the rounds. */
  stop(): void;
  /** Marks the rows that no round has marked. */
  close(): Promise<void>;
};

/**
 * Marks rows as handed over in the second round after their hand-over: after one to two RELAY_MARK_MS, within
 * their first lease.
 */
export function createHandOverMarks(store: Pick<Store, 'extendLease'>, logger: Logger): HandOverMarks {
  /** Rows handed over since the last round. */
  let unmarked: number[] = [];
  /** Rows handed over in the round before, which the next one marks. */
  let older: number[] = [];
  let marking = Promise.resolve();
  const timer = setInterval(() => {
    const ids = older;
    older = unmarked;
    unmarked = [];
    marking = mark(ids);
  }, RELAY_MARK_MS);

  /** In parts, because the rows of a burst are more than one statement can write in its time. */
  async function mark(ids: readonly number[]): Promise<void> {
    try {
      for (let from = 0; from < ids.length; from += RELAY_BATCH)
        await store.extendLease(ids.slice(from, from + RELAY_BATCH));
    } catch (error) {
      logger.warn({ err: errorFields(error), rows: ids.length }, 'jobs could not be marked as handed over');
    }
  }

  return {
    add: (ids) => void unmarked.push(...ids),
    stop: () => clearInterval(timer),
    async close() {
      await marking;
      await mark([...older, ...unmarked]);
    },
  };
}
