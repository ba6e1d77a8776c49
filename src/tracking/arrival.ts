import type { OrderStatus } from '../domain/order.ts';
import { distanceMeters, type Point } from '../geo/point.ts';
import {
  ARRIVAL_DETOUR,
  ARRIVAL_DROPOFF_METERS,
  ARRIVAL_FAST_METERS_PER_SECOND,
  ARRIVAL_HANDOVER_MS,
  ARRIVAL_PICKUP_MS,
  ARRIVAL_SLOW_METERS_PER_SECOND,
  MIN_PICKUP_MS,
  POSITION_FRESH_MS,
} from '../limits.ts';

/** In how many whole minutes from when this was written the order arrives: 0 ≤ earliest ≤ latest, latest ≥ 1. */
export type Arrival = { readonly earliest_minutes: number; readonly latest_minutes: number };

export type Trip = {
  readonly status: OrderStatus;
  /** The driver's position as the page may see it: what is computed from it tells no more than it does. */
  readonly driver: { readonly point: Point; readonly ageMs: number } | null;
  readonly pickup: Point;
  readonly dropoff: (Point & { readonly accuracyMeters: number }) | null;
};

/**
 * When an order arrives, as a range; null where no honest one is known: nobody is bringing it, the driver has not been
 * heard of lately, or the dropoff is known too roughly.
 *
 * The way is the great circle to the pickup, where that is still ahead, and on to the dropoff, times a factor for roads.
 * The earliest is at the greater speed without delay, for a door that is as near as the dropoff's accuracy allows; the
 * latest at the lower speed, with the time it takes to find a place to stop, for one as far away. Time since the
 * driver's position was taken counts as driven. Whole minutes, the range rounded outwards.
 */
export function arrivalOf({ status, driver, pickup, dropoff }: Trip): Arrival | null {
  if (status !== 'driver_assigned' && status !== 'picked_up') return null;
  if (!driver || driver.ageMs > POSITION_FRESH_MS) return null;
  if (!dropoff || dropoff.accuracyMeters > ARRIVAL_DROPOFF_METERS) return null;
  const fetches = status === 'driver_assigned';
  const meters = fetches
    ? distanceMeters(driver.point, pickup) + distanceMeters(pickup, dropoff)
    : distanceMeters(driver.point, dropoff);
  const nearest = Math.max(0, meters - dropoff.accuracyMeters);
  const farthest = meters + dropoff.accuracyMeters;
  const earliestMs = driveMs(nearest, ARRIVAL_FAST_METERS_PER_SECOND) + (fetches ? MIN_PICKUP_MS : 0) - driver.ageMs;
  const latestMs =
    driveMs(farthest, ARRIVAL_SLOW_METERS_PER_SECOND) +
    (fetches ? ARRIVAL_PICKUP_MS : 0) +
    ARRIVAL_HANDOVER_MS -
    driver.ageMs;
  return {
    earliest_minutes: Math.max(0, Math.floor(earliestMs / 60_000)),
    latest_minutes: Math.max(1, Math.ceil(latestMs / 60_000)),
  };
}

function driveMs(meters: number, metersPerSecond: number): number {
  return ((meters * ARRIVAL_DETOUR) / metersPerSecond) * 1_000;
}
