import type { DropoffPoint } from '../domain/dropoff.ts';
import type { DropoffAddress } from '../domain/order.ts';
import { LOCATE_USEFUL_SECONDS } from '../limits.ts';
import type { JobData, JobResult } from '../queues/queues.ts';
import type { UnlocatedDropoff } from '../store/dropoffs.ts';

/**
 * Finds where an order goes, for the arrival estimate and the proof of delivery. Nothing waits for it and an order never
 * fails by it: a geocoder that stays away for too long leaves what the ZIP tells.
 */
export function createLocateJob(deps: {
  /** Null where there is nothing to find any more. */
  readonly read: (orderId: string) => Promise<UnlocatedDropoff | null>;
  readonly locate: (address: DropoffAddress) => Promise<{ dropoff: DropoffPoint | null; again: boolean }>;
  /** Writes the point, or that there is none to be found, and finishes the job. */
  readonly settle: (orderId: string, dropoff: DropoffPoint | null, outboxId: number) => Promise<void>;
  readonly finish: (outboxId: number) => Promise<void>;
  readonly located: (orderId: string) => void;
}): (data: JobData) => Promise<JobResult> {
  return async ({ orderId, outboxId }) => {
    const unlocated = await deps.read(orderId);
    if (!unlocated) {
      await deps.finish(outboxId);
      return { kind: 'done' };
    }
    const { dropoff, again } = await deps.locate(unlocated.address);
    if (again && unlocated.ageSeconds < LOCATE_USEFUL_SECONDS) return { kind: 'retry', reason: 'geocoder_away' };
    await deps.settle(orderId, dropoff, outboxId);
    deps.located(orderId);
    return { kind: 'done' };
  };
}
