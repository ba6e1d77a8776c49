import { locateDropoff } from '../dispatch/locate-dropoff.ts';
import type { OrderEvents } from '../dispatch/order-events.ts';
import type { Places } from '../dispatch/places.ts';
import { LOCATE_USEFUL_SECONDS } from '../limits.ts';
import type { JobHandler } from '../queues/queues.ts';
import type { Store } from '../store/store.ts';

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
  readonly store: Pick<Store, 'readUnlocated' | 'recordDropoff' | 'finishOutbox'>;
  readonly places: Places;
  readonly events: Pick<OrderEvents, 'detailsChanged'>;
}): JobHandler {
  const { store } = deps;
  return async function locateJob({ orderId, outboxId }) {
    const unlocated = await store.readUnlocated(orderId);
    if (!unlocated) {
      await store.finishOutbox(outboxId, null);
      return { kind: 'done' };
    }
    const { dropoff, again } = await locateDropoff(deps.places, unlocated.address);
    if (again && unlocated.ageSeconds < LOCATE_USEFUL_SECONDS) return { kind: 'retry', reason: 'geocoder_away' };
    await store.recordDropoff(orderId, dropoff, outboxId);
    deps.events.detailsChanged(orderId);
    return { kind: 'done' };
  };
}
