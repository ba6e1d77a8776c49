import type { JobHandler } from '../queues/job-handler.ts';
import type { Store } from '../store/store.ts';
import type { Redispatch } from './redispatch.ts';

/** Redispatch jobs that one API process runs at once. */
export const REDISPATCH_CONCURRENCY = 8;

declare module '../queues/job-handler.ts' {
  interface JobHandlers {
    readonly redispatch: ReturnType<typeof createRedispatchJob>;
  }
}

/** Expires an order at the end of its longest wait, unless it was assigned. */
export function createRedispatchJob(deps: {
  readonly redispatch: Pick<Redispatch, 'expire'>;
  readonly store: Pick<Store, 'finishJobs'>;
}): JobHandler {
  return async function redispatchJob(job) {
    await deps.redispatch.expire(job.orderId);
    await deps.store.finishJobs([job], 'redispatch');
    return { kind: 'done' };
  };
}
