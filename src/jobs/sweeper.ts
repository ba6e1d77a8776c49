import { OUTBOX_PRUNE_ROWS, OUTBOX_SWEEP_MS, OUTBOX_SWEEP_ROWS } from '../limits.ts';
import type { OutboxRow } from '../store/outbox.ts';
import { errorFields, type Logger } from '../telemetry.ts';

/**
 * Relays again what nobody finished: a process died before it handed its rows over, a queue forgot them, or a job used
 * up its attempts. Also deletes what is old enough. Nothing of that waits for what fails.
 *
 * @param store `prunes`, by the name of what it deletes: deletes at most `limit` rows that were kept for long enough
 */
export function startSweeper(
  store: {
    takeExpired(limit: number): Promise<OutboxRow[]>;
    readonly prunes: Readonly<Record<string, (limit: number) => Promise<number>>>;
  },
  relay: (rows: readonly OutboxRow[]) => void,
  logger: Logger,
): { close(): Promise<void> } {
  let running: Promise<void> | null = null;

  async function sweep(): Promise<void> {
    await attempt('owed jobs', async () => {
      const rows = await store.takeExpired(OUTBOX_SWEEP_ROWS);
      if (rows.length > 0) logger.info({ rows: rows.length }, 'owed jobs are relayed again');
      relay(rows);
    });
    for (const [what, prune] of Object.entries(store.prunes)) await attempt(what, () => prune(OUTBOX_PRUNE_ROWS));
  }

  async function attempt(what: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      logger.warn({ err: errorFields(error), what }, 'the sweeper could not do a part of its work');
    }
  }

  const timer = setInterval(() => {
    running ??= sweep().finally(() => {
      running = null;
    });
  }, OUTBOX_SWEEP_MS);

  return {
    async close() {
      clearInterval(timer);
      await running;
    },
  };
}
