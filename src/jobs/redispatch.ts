import type { Redispatch } from '../dispatch/redispatch.ts';
import type { JobHandler } from '../queues/queues.ts';
import type { Store } from '../store/store.ts';

/** An order's own job at its limit: by then it was given to a driver, or it expires. */
export function createRedispatchJob(deps: {
  readonly redispatch: Pick<Redispatch, 'expire'>;
  readonly store: Pick<Store, 'finishOutbox'>;
}): JobHandler {
  return async function redispatchJob({ orderId, outboxId }) {
    await deps.redispatch.expire(orderId);
    await deps.store.finishOutbox(outboxId, null);
    return { kind: 'done' };
  };
}
