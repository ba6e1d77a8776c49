import type { QueueName } from '../store/outbox-rows.ts';

/** Window in which the jobs of a store are counted for its share of a limited rate. */
const SHARE_WINDOW_MS = 10_000;
/** Jobs of a store in the window that find room in a queue that is full of others' jobs. */
export const FEW_JOBS = 5;

/**
 * Fair shares of a limited rate. A job's priority (1 goes first) is the number of its store's jobs in the
 * present window of SHARE_WINDOW_MS, so that a store with thousands of jobs waits behind one with a few. BullMQ takes
 * priorities up to 2^21, more than a store's jobs of a window and half of those before.
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
    return count;
  };
}
