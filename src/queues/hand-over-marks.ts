import type { HandedOver } from '../store/outbox.ts';
import type { Store } from '../store/store.ts';
import { errorFields, type Logger } from '../telemetry.ts';

/** Most outbox rows in one hand-over, and in one statement that marks them. */
export const RELAY_BATCH = 500;
/** Interval at which rows handed over are marked if not done. Two are below OUTBOX_FIRST_LEASE_SECONDS. */
export const RELAY_MARK_MS = 10_000;

/**
 * Marks rows as handed over in the second round after their hand-over: after one to two RELAY_MARK_MS, within
 * their first lease.
 */
export function createHandOverMarks(store: Pick<Store, 'extendLease'>, logger: Logger) {
  /** Rows handed over since the last round. */
  let unmarked: HandedOver[] = [];
  /** Rows handed over in the round before, which the next one marks. */
  let older: HandedOver[] = [];
  let marking = Promise.resolve();
  const timer = setInterval(() => {
    const rows = older;
    older = unmarked;
    unmarked = [];
    marking = mark(rows);
  }, RELAY_MARK_MS);

  /**
   * In parts, because the rows of a burst are more than one statement can write in its time. A part that fails keeps no
   * other from being marked, as the sweeper would relay each of its jobs again.
   */
  async function mark(rows: readonly HandedOver[]): Promise<void> {
    const failures: unknown[] = [];
    for (let from = 0; from < rows.length; from += RELAY_BATCH)
      await store.extendLease(rows.slice(from, from + RELAY_BATCH)).catch((error: unknown) => failures.push(error));
    if (failures.length === 0) return;
    const fields = { err: errorFields(failures[0]), parts: failures.length, rows: rows.length };
    logger.warn(fields, 'jobs could not be marked as handed over');
  }

  return {
    /** Takes rows that were handed over. */
    add: (rows: readonly HandedOver[]) => void unmarked.push(...rows),
    /** Ends the rounds. */
    stop: () => clearInterval(timer),
    /** Marks the rows that no round has marked. */
    async close(): Promise<void> {
      await marking;
      await mark([...older, ...unmarked]);
    },
  };
}
