import type { JobData, JobResult } from '../queues/queues.ts';

/** An order's own job at its limit: by then it was given to a driver, or it expires. */
export function createRedispatchJob(deps: {
  readonly expire: (orderId: string) => Promise<void>;
  readonly finish: (outboxId: number) => Promise<void>;
}): (data: JobData) => Promise<JobResult> {
  return async ({ orderId, outboxId }) => {
    await deps.expire(orderId);
    await deps.finish(outboxId);
    return { kind: 'done' };
  };
}
