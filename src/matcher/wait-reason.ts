import { DEFAULT_SIZE } from '../domain/vehicle.ts';
import type { WaitingOrder } from '../domain/waiting-order.ts';
import type { Drivers } from './drivers.ts';

/**
 * The first one is that of an order with a plan, which the tables tell; the second that of one that waits for
 * its time; {@link waitReason} finds the others.
 */
export const WAIT_REASONS = [
  'planned',
  'not_yet',
  'no_driver_on_duty',
  'none_qualified',
  'no_vehicle',
  'given_back',
  'all_drivers_busy',
  'none_in_radius',
] as const;
export type WaitReason = (typeof WAIT_REASONS)[number];

/** What of an order decides who could take it. */
export type SeekingOrder = Pick<WaitingOrder, 'tierId' | 'size' | 'excludedDriverIds'>;

/**
 * The first reason that holds why an order waits: nobody is on duty; nobody on duty serves the tier; nobody who
 * does has a vehicle that carries the parcel; of those who have, all have given the order back; the others carry
 * an order; the free ones among the others are beyond the radius, have been silent for too long, or go home before they
 * could bring it. The last one is `given_back`, too, if a driver who gave the order back is free: they may be the only
 * one in reach. Costs no search.
 */
export function waitReason(drivers: Drivers, order: SeekingOrder): WaitReason {
  const { tierId, size = DEFAULT_SIZE, excludedDriverIds } = order;
  const { onDuty, free } = drivers.counts(tierId, size);
  const gaveBack = [...(excludedDriverIds ?? [])].filter((driverId) => drivers.serves(driverId, tierId, size));
  const gaveBackOnDuty = gaveBack.filter((driverId) => drivers.get(driverId)?.onDuty).length;
  const gaveBackFree = gaveBack.filter((driverId) => drivers.isFree(driverId)).length;
  if (drivers.counts().onDuty === 0) return 'no_driver_on_duty';
  if (drivers.counts(tierId).onDuty === 0) return 'none_qualified';
  if (onDuty === 0) return 'no_vehicle';
  if (onDuty === gaveBackOnDuty) return 'given_back';
  if (free === gaveBackFree) return 'all_drivers_busy';
  return gaveBackFree > 0 ? 'given_back' : 'none_in_radius';
}
