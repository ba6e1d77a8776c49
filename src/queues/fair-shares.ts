import { below } from '../limits.ts';
import type { QueueName } from '../store/outbox-rows.ts';

/** Window in which the jobs of a store are counted for its share of a limited rate. */
const SHARE_WINDOW_MS = 10_000;
/** Jobs of a store in the window that find room in a queue that is full of others' jobs. */
export const FEW_JOBS = 5;
/** Lowest priority of a job. Below 2^21, BullMQ's own bound. */
const MAX_JOB_PRIORITY = 2_000_000;
/** First priority that BullMQ refuses. */
const BULLMQ_PRIORITIES = 2 ** 21;

below({ MAX_JOB_PRIORITY }, { BULLMQ_PRIORITIES });

/**
 * Fair shares of a limited rate. A job's priority (1 goes first) is the number of its store's jobs in the
 * present window of SHARE_WINDOW_MS, so that a store with thousands of jobs waits behind one with a few.
 */
export function fairShares(): (queue: QueueName, retailerId: string, nowMs: number) => number {
  let counts = new Map<string, number>();
  let windowStart = 0;
  return (queue, retailerId, nowMs) => {
    if (nowMs - windowStart > SHARE_WINDOW_MS) {
      // Half of each count is carried over, so that a new window does not forget a store's burst.
      counts = new Map([...counts].map(([key, count]) => [key, count >> 1] as const).filter(([, count]) => count > 0));
      windowStart = nowMs;
    }
    const key = `${queue}:${retailerId}`;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return Math.min(count, MAX_JOB_PRIORITY);
  };
}
