import { finishing, inBatches } from '../queues/in-batches.ts';
import type { JobHandler } from '../queues/job-handler.ts';
import type { Store } from '../store/store.ts';
import { locateDropoff } from './locate-dropoff.ts';
import type { OrderEvents } from './order-events.ts';
import type { Places } from './places.ts';

/** Dropoffs that one worker process locates at once: as many as share a statement. */
export const LOCATE_CONCURRENCY = 64;
/**
 * Wait of a dropoff whose store asks for too many at once, and up to half its order's age more, so that the
 * backlog of one store asks less and less often.
 */
export const LOCATE_BUSY_SECONDS = 2;
/** Age of an order from which a geocoder that is away is not asked any more: most are delivered. */
export const LOCATE_USEFUL_SECONDS = 2 * 3_600;
/**
 * Longest wait for the geocoder by a job or a command: half of it in line, as above. That half is above
 * PUBLIC_GEOCODER_PACE_MS, so that the addresses of an import are asked for one after the other.
 */
export const LOCATE_TIMEOUT_MS = 5_000;

declare module '../queues/job-handler.ts' {
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
  const finish = finishing(store, 'locate');

  return async function locateJob(job) {
    const { orderId, outboxId } = job;
    const unlocated = await read(orderId);
    if (!unlocated) {
      await finish(job);
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
