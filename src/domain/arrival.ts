import { distanceMeters, type Point } from '../geo/point.ts';
import {
  ARRIVAL_DETOUR,
  ARRIVAL_FAST_METERS_PER_SECOND,
  ARRIVAL_HANDOVER_MS,
  ARRIVAL_SLOW_METERS_PER_SECOND,
  atMost,
  below,
  GEOCODER_ACCURACY_METERS,
  POSITION_FRESH_MS,
  ROUTE_EARLIEST_SHARE,
  ROUTE_LATEST_SHARE,
  STORE_STOP_MS,
  ZIP_ACCURACY_METERS,
} from '../limits.ts';
import type { OrderStatus } from './order.ts';
import type { Waits } from './order-times.ts';
import type { ShownPosition } from './shown-position.ts';
import type { TimeRange } from './time-range.ts';
import type { TrackedOrder } from './tracked.ts';

/**
 * Largest error of a dropoff in meters at which an arrival is estimated. At least GEOCODER_ACCURACY_METERS
 * and below ZIP_ACCURACY_METERS: a street is good enough and the centroid of a ZIP is not.
 */
export const ARRIVAL_DROPOFF_METERS = 1_000;
/** Shortest time to fetch a parcel at the store. Below ARRIVAL_PICKUP_MS. */
const MIN_PICKUP_MS = 60_000;
/** Longest usual time to fetch a parcel at the store. */
const ARRIVAL_PICKUP_MS = 6 * 60_000;

/* @__PURE__ */ atMost({ GEOCODER_ACCURACY_METERS }, { ARRIVAL_DROPOFF_METERS });
/* @__PURE__ */ below({ ARRIVAL_DROPOFF_METERS }, { ZIP_ACCURACY_METERS });
/* @__PURE__ */ below({ MIN_PICKUP_MS }, { ARRIVAL_PICKUP_MS });
/* @__PURE__ */ atMost({ STORE_STOP_MS }, { ARRIVAL_PICKUP_MS });

/** Whole minutes until the order arrives, from when this was written: 0 ≤ earliest ≤ latest, latest ≥ 1. */
export type Arrival = { readonly earliest_minutes: number; readonly latest_minutes: number };

export type Trip = {
  readonly status: OrderStatus;
  /** The driver's position as the page may see it, so that the estimate reveals no more. */
  readonly driver: { readonly point: Point; readonly ageMs: number } | null;
  readonly pickup: Point;
  readonly dropoff: (Point & { readonly accuracyMeters: number }) | null;
};

/**
 * When an order arrives, as a range; null where no honest estimate exists: no driver has the order, the
 * driver's position is old, or the dropoff is known too roughly.
 */
export function arrivalOf({ status, driver, pickup, dropoff }: Trip): Arrival | null {
  if (status !== 'driver_assigned' && status !== 'picked_up') return null;
  if (!driver || driver.ageMs > POSITION_FRESH_MS) return null;
  if (!dropoff || dropoff.accuracyMeters > ARRIVAL_DROPOFF_METERS) return null;
  return handoverIn(driver, status === 'driver_assigned' ? pickup : null, dropoff);
}

/**
 * How long it takes a driver to be at the door.
 *
 * The way is the great circle to the pickup, if that is still ahead, and on to the dropoff, times a factor
 * for roads. The earliest arrival assumes the higher speed, no delay and a door as near as the dropoff's
 * accuracy allows; the latest assumes the lower speed, the time to find a place to stop and a door as far
 * away. Time since the position was taken counts as driven. Minutes are rounded outwards.
 *
 * @param pickup null where the parcel was fetched
 */
export function handoverIn(
  driver: NonNullable<Trip['driver']>,
  pickup: Point | null,
  dropoff: NonNullable<Trip['dropoff']>,
): Arrival {
  const toDoor = distanceMeters(pickup ?? driver.point, dropoff);
  if (!pickup) return driven(toDoor, dropoff.accuracyMeters, driver.ageMs);
  return fetchedAndDriven(distanceMeters(driver.point, pickup), toDoor, dropoff.accuracyMeters, driver.ageMs);
}

/**
 * The same by distances, for a parcel that is still to be fetched.
 *
 * @param toPickup from the driver, in meters
 * @param toDoor from the pickup
 * @param ageMs how old the driver's position is
 */
export function fetchedAndDriven(toPickup: number, toDoor: number, accuracyMeters: number, ageMs = 0): Arrival {
  // However near the door may be, the way to the pickup comes before it.
  const nearest = toPickup + Math.max(0, toDoor - accuracyMeters);
  const farthest = toPickup + toDoor + accuracyMeters;
  const earliestMs = fastestDriveMs(nearest) + MIN_PICKUP_MS - ageMs;
  const latestMs = driveMs(farthest, ARRIVAL_SLOW_METERS_PER_SECOND) + ARRIVAL_PICKUP_MS + ARRIVAL_HANDOVER_MS - ageMs;
  return inMinutes(earliestMs, latestMs);
}

function driven(toDoor: number, accuracyMeters: number, ageMs: number): Arrival {
  const latestMs = driveMs(toDoor + accuracyMeters, ARRIVAL_SLOW_METERS_PER_SECOND) + ARRIVAL_HANDOVER_MS;
  return inMinutes(fastestDriveMs(Math.max(0, toDoor - accuracyMeters)) - ageMs, latestMs - ageMs);
}

/** The least time that a way by the great circle takes, in milliseconds. */
export function fastestDriveMs(meters: number): number {
  return driveMs(meters, ARRIVAL_FAST_METERS_PER_SECOND);
}

/**
 * How long it takes a driver to fetch the parcel, by the same speeds.
 *
 * @param readyInMs until when it is not ready
 */
export function pickupIn(driver: NonNullable<Trip['driver']>, pickup: Point, readyInMs = 0): Arrival {
  const meters = distanceMeters(driver.point, pickup);
  const earliestMs = fastestDriveMs(meters) + MIN_PICKUP_MS - driver.ageMs;
  const latestMs = driveMs(meters, ARRIVAL_SLOW_METERS_PER_SECOND) + ARRIVAL_PICKUP_MS - driver.ageMs;
  return noSooner(inMinutes(earliestMs, latestMs), readyInMs, readyInMs);
}

function inMinutes(earliestMs: number, latestMs: number): Arrival {
  return {
    earliest_minutes: Math.max(0, Math.floor(earliestMs / 60_000)),
    latest_minutes: Math.max(1, Math.ceil(latestMs / 60_000)),
  };
}

/** The same as times of the clock. @param nowMs when it was written */
export function arrivalTimes(arrival: Arrival | null, nowMs: number): TimeRange | null {
  if (!arrival) return null;
  const at = (minutes: number) => new Date(nowMs + minutes * 60_000).toISOString();
  return { from: at(arrival.earliest_minutes), to: at(arrival.latest_minutes) };
}

/**
 * When the order arrives: by the position as its readers see it, so that they learn no more from it, and by
 * the route alone where the driver stops elsewhere first.
 */
export function shownArrival(
  { status, onRoute, pickup, dropoff }: Pick<TrackedOrder, 'status' | 'onRoute' | 'pickup' | 'dropoff'>,
  shown: ShownPosition | null,
  nowMs: number,
): Arrival | null {
  if (!onRoute || !dropoff || dropoff.accuracyMeters > ARRIVAL_DROPOFF_METERS) return null;
  const arrival = onRoute.isNext
    ? arrivalOf({ status, driver: shown && { point: shown, ageMs: shown.age_ms }, pickup, dropoff })
    : arrivalOnRoute(onRoute.doorInMinutes, dropoff);
  return notBefore(arrival, onRoute, { pickup, dropoff }, nowMs);
}

/**
 * An arrival that is no sooner than the way from the pickup to the door once the parcel is ready, nor than the window.
 *
 * @param nowMs when it was written
 */
export function notBefore(
  arrival: Arrival | null,
  { readyAtMs = 0, deliverAfterMs = 0 }: Waits,
  { pickup, dropoff }: Pick<Trip, 'pickup' | 'dropoff'>,
  nowMs: number,
): Arrival | null {
  if (!arrival || !dropoff) return null;
  const toDoor = distanceMeters(pickup, dropoff);
  const soonestMs = readyAtMs + fastestDriveMs(Math.max(0, toDoor - dropoff.accuracyMeters));
  const latestMs = readyAtMs + driveMs(toDoor + dropoff.accuracyMeters, ARRIVAL_SLOW_METERS_PER_SECOND);
  return noSooner(
    arrival,
    Math.max(soonestMs, deliverAfterMs) - nowMs,
    Math.max(latestMs, deliverAfterMs) + ARRIVAL_HANDOVER_MS - nowMs,
  );
}

/** Rounded up at both ends, since nothing is there before its time. */
function noSooner({ earliest_minutes, latest_minutes }: Arrival, earliestMs: number, latestMs: number): Arrival {
  return {
    earliest_minutes: Math.max(earliest_minutes, Math.ceil(earliestMs / 60_000)),
    latest_minutes: Math.max(latest_minutes, Math.ceil(latestMs / 60_000)),
  };
}

/** A range of times as minutes from now. It begins no sooner than the times do, as the parcel is not ready before. */
export function minutesUntil({ from, to }: TimeRange, nowMs: number): Arrival {
  const { latest_minutes } = inMinutes(0, Date.parse(to) - nowMs);
  const earliest = Math.max(0, Math.ceil((Date.parse(from) - nowMs) / 60_000));
  return { earliest_minutes: Math.min(earliest, latest_minutes), latest_minutes };
}

/**
 * A door that comes later is known less well, by a share of the time until then, and by the way to wherever it may be
 * beyond the ARRIVAL_DROPOFF_METERS that this share covers.
 *
 * @param minutes null while the driver is silent
 */
export function arrivalOnRoute(minutes: number | null, { accuracyMeters }: { accuracyMeters: number }): Arrival | null {
  if (minutes === null) return null;
  const beyond = Math.max(0, accuracyMeters - ARRIVAL_DROPOFF_METERS);
  const latestMs = minutes * ROUTE_LATEST_SHARE * 60_000 + driveMs(beyond, ARRIVAL_SLOW_METERS_PER_SECOND);
  return inMinutes(minutes * ROUTE_EARLIEST_SHARE * 60_000 - fastestDriveMs(beyond), latestMs + ARRIVAL_HANDOVER_MS);
}

function driveMs(meters: number, metersPerSecond: number): number {
  return ((meters * ARRIVAL_DETOUR) / metersPerSecond) * 1_000;
}
