import type { Drivers } from './drivers.ts';
import type { WaitingOrder } from './waiting.ts';

export type WaitReason = 'no_driver_on_duty' | 'none_qualified' | 'all_drivers_busy' | 'none_in_radius';

/**
 * The first reason that holds why an order waits: nobody is on duty; nobody on duty serves the tier; all who do
 * carry an order; the free ones are beyond the radius or have been silent for too long. Drivers whom the order
 * excludes count only as on duty. Costs no search.
 */
export function waitReason(drivers: Drivers, { tierId, excludedDriverIds }: WaitingOrder): WaitReason {
  let { onDuty, free } = drivers.counts(tierId);
  for (const driverId of excludedDriverIds ?? []) {
    if (!drivers.serves(driverId, tierId)) continue;
    if (drivers.get(driverId)?.onDuty) onDuty--;
    if (drivers.isFree(driverId)) free--;
  }
  if (drivers.counts().onDuty === 0) return 'no_driver_on_duty';
  if (onDuty === 0) return 'none_qualified';
  return free === 0 ? 'all_drivers_busy' : 'none_in_radius';
}
