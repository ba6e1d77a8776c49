import { OUTBOX_KEPT_DAYS, OUTBOX_PRUNE_ROWS, OUTBOX_SWEEP_MS, OUTBOX_SWEEP_ROWS } from '../limits.ts';
import type { OutboxRow } from '../store/outbox.ts';
import { errorFields, type Logger } from '../telemetry.ts';

/**
 * Relays again what nobody finished: a process died before it handed its rows over, a queue forgot them, or a job used
 * up its attempts. Also deletes done rows that are old enough.
 */
export function startSweeper(
  store: {
    takeExpired(limit: number): Promise<OutboxRow[]>;
    prune(days: number, limit: number): Promise<number>;
  },
  relay: (rows: readonly OutboxRow[]) => void,
  logger: Logger,
): { close(): Promise<void> } {
  let running: Promise<void> | null = null;

  async function sweep(): Promise<void> {
    try {
      const rows = await store.takeExpired(OUTBOX_SWEEP_ROWS);
      if (rows.length > 0) logger.info({ rows: rows.length }, 'owed jobs are relayed again');
      relay(rows);
      await store.prune(OUTBOX_KEPT_DAYS, OUTBOX_PRUNE_ROWS);
    } catch (error) {
      logger.warn({ err: errorFields(error) }, 'the outbox could not be swept');
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
