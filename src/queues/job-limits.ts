import type { RetryLater } from '../vendors/retry-later.ts';
import type { JobResult } from './job-handler.ts';

/** Pause of a queue after a vendor's 429. */
export const VENDOR_PAUSE_MS = 1_000;

/** What becomes of a job whose vendor gave no definite answer. */
export const triedLater = ({ rateLimited, reason }: RetryLater): JobResult =>
  rateLimited ? { kind: 'rate_limited', forMs: VENDOR_PAUSE_MS } : { kind: 'retry', reason };
