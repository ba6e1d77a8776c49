import { QUEUE_DEADLINE_MS } from '../limits.ts';
import { withTimeout } from '../with-timeout.ts';

/** BullMQ's and Redis's calls hang for as long as Redis is away, so the wait has an end of its own. */
export function within<T>(work: Promise<T>): Promise<T> {
  return withTimeout(work, QUEUE_DEADLINE_MS, () =>
    Object.assign(new Error('The queue did not answer in time'), { code: 'QUEUE_LATE' }),
  );
}
