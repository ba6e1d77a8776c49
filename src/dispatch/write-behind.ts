import type { DriverPosition } from '../domain/driver.ts';
import type { Store } from '../store/store.ts';
import { errorFields, type Logger } from '../telemetry.ts';

/** Most positions written to Postgres a second, the last one of each driver. */
const POSITION_ROWS_PER_SECOND = 2_000;
/** Interval at which a part of them is written. */
const POSITION_FLUSH_MS = 250;

/** Closing writes everything that is pending. */
export type PositionWriter = { put(position: DriverPosition): void; close(): Promise<void> };

/**
 * Writes the last position of each driver in the background, at most POSITION_ROWS_PER_SECOND, oldest first.
 * A process that dies loses the pending ones: at most the time it takes to write every driver once.
 */
export function createPositionWriter(store: Pick<Store, 'writePositions'>, logger: Logger): PositionWriter {
  const pending = new Map<string, DriverPosition>();
  const rowsPerFlush = Math.ceil((POSITION_ROWS_PER_SECOND * POSITION_FLUSH_MS) / 1000);
  let writing: Promise<void> | null = null;

  async function flush(limit: number): Promise<void> {
    const batch: DriverPosition[] = [];
    for (const position of pending.values()) {
      if (batch.length === limit) break;
      batch.push(position);
    }
    for (const { driverId } of batch) pending.delete(driverId);
    if (batch.length === 0) return;
    try {
      await store.writePositions(batch);
    } catch (error) {
      logger.warn({ err: errorFields(error), rows: batch.length }, 'positions could not be written');
      for (const position of batch) if (!pending.has(position.driverId)) pending.set(position.driverId, position);
    }
  }

  const timer = setInterval(() => {
    writing ??= flush(rowsPerFlush).finally(() => {
      writing = null;
    });
  }, POSITION_FLUSH_MS);

  return {
    put: (position) => void pending.set(position.driverId, position),
    async close() {
      clearInterval(timer);
      await writing;
      await flush(pending.size);
    },
  };
}
