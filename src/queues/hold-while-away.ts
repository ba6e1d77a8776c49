import { setTimeout as pause } from 'node:timers/promises';
import { JOB_HELD_MS, JOB_HELD_RETRY_MS } from '../limits.ts';
import type { JobHandler } from './queues.ts';

/**
 * The same handler, which holds a job in its place while the database is away and then runs it again. The outage is no
 * fault of the job; a job that used up its attempts on it would wait until its lease ends. After `JOB_HELD_MS`, or once
 * its worker closes, the job goes back to the queue. Neither costs an attempt.
 *
 * @param database what is thrown while it is away is forgiven
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
