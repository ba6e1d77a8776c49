import { locateDropoff } from '../dispatch/locate-dropoff.ts';
import type { OrderEvents } from '../dispatch/order-events.ts';
import type { Places } from '../dispatch/places.ts';
import type { DropoffAddress } from '../domain/order.ts';
import { LOCATE_USEFUL_SECONDS, MAX_LOCATE_REQUESTS } from '../limits.ts';
import { limitConcurrency } from '../postgres/batched-reads.ts';
import type { JobHandler } from '../queues/queues.ts';
import type { Store } from '../store/store.ts';
import { inBatches } from './in-batches.ts';

declare module '../queues/queues.ts' {
  interface JobHandlers {
    readonly locate: ReturnType<typeof createLocateJob>;
  }
}

/**
 * Locates an order's dropoff, for the arrival estimate and the proof of delivery. Nothing waits for it, and
 * no order fails by it: if the geocoder is away for LOCATE_USEFUL_SECONDS, the point stays that of the ZIP
 * code.
 */
export function createLocateJob(deps: {
  readonly store: Pick<Store, 'readUnlocated' | 'recordDropoffs' | 'finishJobs'>;
  readonly places: Places;
  readonly events: Pick<OrderEvents, 'detailsChanged'>;
}): JobHandler {
  const { store, places } = deps;
  const read = inBatches(store.readUnlocated, (orderId) => orderId);
  const record = inBatches(store.recordDropoffs, ({ orderId }) => orderId);
  const finish = inBatches(store.finishJobs, String);
  const asking = limitConcurrency(MAX_LOCATE_REQUESTS);
  const locate = (address: DropoffAddress): ReturnType<typeof locateDropoff> =>
    new Promise((resolve, reject) => asking.enter(() => locateDropoff(places, address).then(resolve, reject)));

  return async function locateJob({ orderId, outboxId }) {
    const unlocated = await read(orderId);
    if (!unlocated) {
      await finish(outboxId);
      return { kind: 'done' };
    }
    const { dropoff, again } = await locate(unlocated.address);
    if (again && unlocated.ageSeconds < LOCATE_USEFUL_SECONDS) return { kind: 'retry', reason: 'geocoder_away' };
    await record({ orderId, dropoff, outboxId });
    deps.events.detailsChanged(orderId);
    return { kind: 'done' };
  };
}
