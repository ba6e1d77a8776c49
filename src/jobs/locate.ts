import { locateDropoff } from '../dispatch/locate-dropoff.ts';
import type { OrderEvents } from '../dispatch/order-events.ts';
import type { Places } from '../dispatch/places.ts';
import { LOCATE_BUSY_SECONDS, LOCATE_USEFUL_SECONDS } from '../limits.ts';
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
 * code. The job of a store that has too many of them goes back to the queue, so that others get their turn.
 */
export function createLocateJob(deps: {
  readonly store: Pick<Store, 'readUnlocated' | 'recordDropoffs' | 'finishJobs'>;
  readonly places: Places;
  readonly events: Pick<OrderEvents, 'detailsChanged'>;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
}): JobHandler {
  const { store, places } = deps;
  const read = inBatches(store.readUnlocated, (orderId) => orderId);
  const record = inBatches(store.recordDropoffs, ({ orderId }) => orderId);
  const finish = inBatches(store.finishJobs, String);

  return async function locateJob({ orderId, outboxId }) {
    const unlocated = await read(orderId);
    if (!unlocated) {
      await finish(outboxId);
      return { kind: 'done' };
    }
    const { address, retailerId, ageSeconds } = unlocated;
    const { dropoff, again } = await locateDropoff(places, address, retailerId);
    if (again !== null && ageSeconds < LOCATE_USEFUL_SECONDS) {
      const waitSeconds = LOCATE_BUSY_SECONDS + (deps.random() * ageSeconds) / 2;
      return again === 'busy'
        ? { kind: 'wait', forMs: Math.round(waitSeconds * 1_000) }
        : { kind: 'retry', reason: 'geocoder_away' };
    }
    await record({ orderId, dropoff, outboxId });
    deps.events.detailsChanged(orderId);
    return { kind: 'done' };
  };
}
