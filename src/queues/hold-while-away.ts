import { setTimeout as pause } from 'node:timers/promises';
import { below } from '../limits.ts';
import type { JobHandler } from './job-handler.ts';

/** Longest time a worker holds a job while the database is away; then it goes back to the queue. */
export const JOB_HELD_MS = 30_000;
/** Interval at which a held job asks whether the database is back. Below JOB_HELD_MS. */
export const JOB_HELD_RETRY_MS = 500;

below({ JOB_HELD_RETRY_MS }, { JOB_HELD_MS });

/**
 * A handler that holds a job while the database is away and then runs it again. After JOB_HELD_MS, or when
 * its worker closes, the job goes back to the queue. Neither costs an attempt: a job that used up its
 * attempts during an outage would wait until its lease ends.
 *
 * @param database errors while it is away do not fail the job
 */
export function holdWhileAway(
  handle: JobHandler,
  database: { isAway(): boolean },
  isClosing: () => boolean,
): JobHandler {
  return async (data) => {
    const beganMs = performance.now();
    for (;;) {
      try {
        return await handle(data);
      } catch (error) {
        if (!database.isAway()) throw error;
      }
      while (database.isAway()) {
        const isOver = isClosing() || performance.now() - beganMs >= JOB_HELD_MS;
        if (isOver) return { kind: 'wait', forMs: JOB_HELD_RETRY_MS };
        await pause(JOB_HELD_RETRY_MS);
      }
    }
  };
}
