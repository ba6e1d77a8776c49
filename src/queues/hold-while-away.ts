import { setTimeout as pause } from 'node:timers/promises';
import { JOB_HELD_MS, JOB_HELD_RETRY_MS } from '../limits.ts';
import type { JobData, JobResult } from './queues.ts';

/**
 * The same handler, which holds a job in its place while the database is away and then tries it again: that is no fault of
 * the job, and one that had used up its attempts would be left until its lease ends. After `JOB_HELD_MS`, or once its worker
 * closes, it goes back to the queue; neither costs an attempt.
 *
 * @param isAway whether the database answers nobody; what is thrown while it does not is forgiven
 */
export function holdWhileAway(
  handle: (data: JobData) => Promise<JobResult>,
  isAway: () => boolean,
  isClosing: () => boolean,
): (data: JobData) => Promise<JobResult> {
  return async (data) => {
    const beganMs = performance.now();
    for (;;) {
      try {
        return await handle(data);
      } catch (error) {
        if (!isAway()) throw error;
      }
      while (isAway()) {
        const isOver = isClosing() || performance.now() - beganMs >= JOB_HELD_MS;
        if (isOver) return { kind: 'wait', forMs: JOB_HELD_RETRY_MS };
        await pause(JOB_HELD_RETRY_MS);
      }
    }
  };
}
