import type { RetryLater } from '../vendors/retry-later.ts';
import type { JobHandler, JobResult } from './job-handler.ts';

/** Pause of a queue after a vendor's 429. */
export const VENDOR_PAUSE_MS = 1_000;

/** What becomes of a job whose vendor gave no definite answer. */
export const triedLater = ({ rateLimited, reason }: RetryLater): JobResult =>
  rateLimited ? { kind: 'rate_limited', forMs: VENDOR_PAUSE_MS } : { kind: 'retry', reason };

/**
 * A handler that begins no job in the pause that the vendor asked for. BullMQ heeds the pause of a queue only where
 * the queue has a rate, which costs each job: on Postgres, a lock until its commit.
 */
export function heedPause(handle: JobHandler): JobHandler {
  let untilMs = 0;
  return async (data) => {
    const leftMs = Math.ceil(untilMs - performance.now());
    if (leftMs > 0) return { kind: 'rate_limited', forMs: leftMs };
    const result = await handle(data);
    if (result.kind === 'rate_limited') untilMs = performance.now() + result.forMs;
    return result;
  };
}
