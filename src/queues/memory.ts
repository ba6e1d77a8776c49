import type { QueueBackend } from './queues.ts';
import { refuseWhileAway } from './queues.ts';
import { within } from './within.ts';

/** Whether the queues' backend still has the jobs it was given. */
export type QueueMemory = {
  /**
   * Runs `recover` where the backend has lost its jobs since the last time, or where that is not known: another process
   * may have begun and died. Rejects where it can't be asked in time, or what `recover` rejects with; then the next call
   * begins again.
   */
  check(recover: () => Promise<void>): Promise<void>;
};

/**
 * Redis may come back empty: restarted without its files, flushed, or replaced by a replica that has nothing. A mark in it
 * tells. It says `lost` before anything is recovered and `kept` afterwards, so whoever dies in between leaves the rest to
 * the next; and it says `kept` only where it is still there, so a second loss meanwhile is noticed, too. Postgres
 * loses nothing.
 */
export function createQueueMemory(backend: QueueBackend): QueueMemory {
  if (backend.kind === 'postgres') return { check: async () => undefined };
  const { connection, prefix } = backend;
  const mark = `${prefix}:jobs-are`;
  const ask = <Answer>(command: () => Promise<Answer>): Promise<Answer> => {
    refuseWhileAway(backend);
    return within(command());
  };
  return {
    async check(recover) {
      if ((await ask(() => connection.get(mark))) === 'kept') return;
      await ask(() => connection.set(mark, 'lost'));
      await recover();
      await ask(() => connection.set(mark, 'kept', 'XX'));
    },
  };
}
