import { withTimeout } from '../with-timeout.ts';

/** Longest wait for a queue; then the call is made again later. */
const QUEUE_DEADLINE_MS = 5_000;

/** Bounds a call of BullMQ or Redis by QUEUE_DEADLINE_MS, because it hangs while Redis is away. */
export function within<T>(work: Promise<T>): Promise<T> {
  return withTimeout(work, QUEUE_DEADLINE_MS, () =>
    Object.assign(new Error('The queue did not answer in time'), { code: 'QUEUE_LATE' }),
  );
}
