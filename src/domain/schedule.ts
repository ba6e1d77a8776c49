import { distanceMeters, type Point } from '../geo/point.ts';
import { atMost, below, MIN_PROMISE_MINUTES, WAY_METERS_PER_MINUTE } from '../limits.ts';
import { fastestDriveMs } from './arrival.ts';
import type { FieldError } from './errors.ts';
import type { OrderTimes } from './order-times.ts';
import type { Tier } from './tier.ts';
import type { TimeRange } from './time-range.ts';

/** Furthest that an order's times may be ahead: a week of windows, as shops offer them. */
export const MAX_AHEAD_MS = 7 * 24 * 3_600_000;
/**
 * Time by which the clocks of a store and of the service may differ, and for which a request may be under way:
 * a parcel that was ready so long ago is ready now. Below MIN_WINDOW_MS.
 */
export const TIMES_GRACE_MS = 5 * 60_000;
/** Shortest time in which an order may be delivered: a driver within the first radius drives about that long. */
export const MIN_WINDOW_MS = 20 * 60_000;
/**
 * The usual way of the nearest driver to a pickup, as a share of the tier's first radius: of three drivers
 * anywhere in a circle the nearest is, at the median, 0.45 radii from its middle, and of ten 0.26.
 */
export const APPROACH_SHARE = 0.33;
/** Longest time before the pickup at which a driver is sought, however large the radius. Below MIN_WINDOW_MS. */
export const MAX_APPROACH_MS = 15 * 60_000;
/** An order that is due within this time goes at once: it would not be late, and needs no second look. */
export const DUE_SOON_MS = 5_000;

below({ TIMES_GRACE_MS }, { MIN_WINDOW_MS });
atMost({ MIN_WINDOW_MS }, { 'MIN_PROMISE_MINUTES in ms': MIN_PROMISE_MINUTES * 60_000 });
below({ MAX_APPROACH_MS }, { MIN_WINDOW_MS });

const DAYS_AHEAD = MAX_AHEAD_MS / 86_400_000;
const WINDOW_MINUTES = MIN_WINDOW_MS / 60_000;

/**
 * What is wrong with the times of an order that comes now, by the names of its fields, one error for each;
 * empty where nothing is. Clocks may differ by TIMES_GRACE_MS.
 */
export function timeErrors(times: OrderTimes, nowMs: number): readonly FieldError[] {
  const { readyAt, deliverAfter, deliverBy } = times;
  const opensMs = opensAt(times, nowMs);
  return [
    errorOf('ready_at', readyAt, nowMs, notAfter(readyAt, deliverBy)),
    errorOf('deliver_after', deliverAfter, nowMs, notAfter(deliverAfter, deliverBy)),
    errorOf('deliver_by', deliverBy, nowMs, null),
  ]
    .flatMap((error) => error ?? [])
    .concat(isTooShort(times, opensMs) ? [{ field: 'deliver_by', message: TOO_SHORT }] : [])
    .filter((error, at, all) => all.findIndex(({ field }) => field === error.field) === at);
}

const TOO_SHORT = `must be at least ${WINDOW_MINUTES} minutes from now, from ready_at and from deliver_after`;

function errorOf(field: string, time: Date | null, nowMs: number, order: string | null): FieldError | null {
  if (time === null) return null;
  const aheadMs = time.getTime() - nowMs;
  if (aheadMs < -TIMES_GRACE_MS) return { field, message: 'must not be in the past' };
  if (aheadMs > MAX_AHEAD_MS + TIMES_GRACE_MS) return { field, message: `must be at most ${DAYS_AHEAD} days ahead` };
  return order === null ? null : { field, message: order };
}

const notAfter = (time: Date | null, deliverBy: Date | null): string | null =>
  time && deliverBy && time > deliverBy ? 'must not be after deliver_by' : null;

/** A window that ends before it begins is an error of its begin. */
function isTooShort({ readyAt, deliverAfter, deliverBy }: OrderTimes, opensMs: number): boolean {
  if (deliverBy === null || notAfter(readyAt, deliverBy) || notAfter(deliverAfter, deliverBy)) return false;
  return deliverBy.getTime() - opensMs < MIN_WINDOW_MS;
}

/** What a handover waits for, as its store says. */
type Opening = Pick<OrderTimes, 'readyAt' | 'deliverAfter'>;

/** When the handover is first possible and wanted, in milliseconds since 1970. */
function opensAt({ readyAt, deliverAfter }: Opening, nowMs: number): number {
  return Math.max(nowMs, readyAt?.getTime() ?? 0, deliverAfter?.getTime() ?? 0);
}

/** Until when an order is promised: as its store says, else its tier's promise after its window opens. */
export function promiseOf(
  times: OrderTimes,
  { promiseMinutes }: Pick<Tier, 'promiseMinutes'>,
  createdMs: number,
): Date {
  return times.deliverBy ?? new Date(opensAt(times, createdMs) + promiseMinutes * 60_000);
}

/**
 * When a driver is to be sought, in milliseconds since 1970: so early that the usual way to the pickup ends
 * when the parcel is ready, and not so early that the quickest way from there would end before the window.
 * Null where that is now: then the order goes at once.
 *
 * @param dropoff null where its place is not known; then the way to it counts as none
 */
export function dispatchFrom(
  times: Opening,
  trip: Ways & { readonly tier: Pick<Tier, 'radiusMeters'> },
  nowMs: number,
): number | null {
  const fromMs = Math.floor(leavesAt(times, trip, nowMs) - approachMs(trip.tier));
  return fromMs > nowMs + DUE_SOON_MS ? fromMs : null;
}

type Ways = { readonly pickup: Point; readonly dropoff: Point | null };

/** Whether the planner gives the order: its parcel leaves the store later than now, and the way is known. */
export function waitsForPlan(
  times: Opening,
  trip: Ways & { readonly tier: Pick<Tier, 'dispatchMode'> },
  nowMs: number,
): boolean {
  if (trip.tier.dispatchMode !== 'planned' || trip.dropoff === null) return false;
  return leavesAt(times, trip, nowMs) > nowMs + DUE_SOON_MS;
}

/** When the parcel is to leave its store, in milliseconds since 1970. */
function leavesAt({ readyAt, deliverAfter }: Opening, { pickup, dropoff }: Ways, nowMs: number): number {
  const travelMs = dropoff === null ? 0 : fastestDriveMs(distanceMeters(pickup, dropoff));
  return Math.max(readyAt?.getTime() ?? nowMs, deliverAfter === null ? nowMs : deliverAfter.getTime() - travelMs);
}

/** The usual time in which the nearest driver is at a pickup. */
function approachMs({ radiusMeters }: Pick<Tier, 'radiusMeters'>): number {
  return Math.min(MAX_APPROACH_MS, ((radiusMeters * APPROACH_SHARE) / WAY_METERS_PER_MINUTE) * 60_000);
}

/** An order with the times that are on record. */
export type ScheduledOrder = Omit<OrderTimes, 'deliverBy'> & {
  readonly deliverBy: Date;
  /** Before this time no driver is sought; null where the order went at once. */
  readonly dispatchFrom: Date | null;
};

/** The way of an order. The true door is within `accuracyMeters` of the point; null where none is known. */
export type Way = { readonly pickup: Point; readonly dropoff: (Point & { readonly accuracyMeters: number }) | null };

/** When an order that waits for its time arrives: in its window. Null for one that went at once. */
export function windowOf(order: ScheduledOrder & Way): TimeRange | null {
  return order.dispatchFrom === null ? null : windowFrom(order, order.dispatchFrom.getTime());
}

/**
 * From the quickest way after the pickup, which is no sooner than `pickupMs`, until the order is promised. The way
 * counts in whole seconds. Events have the same by `windowStart` of the store.
 */
export function windowFrom(
  { readyAt, deliverAfter, deliverBy, pickup, dropoff }: Omit<ScheduledOrder, 'dispatchFrom'> & Way,
  pickupMs: number,
): TimeRange {
  const leastMeters = dropoff ? Math.max(0, distanceMeters(pickup, dropoff) - dropoff.accuracyMeters) : 0;
  const driveMs = Math.ceil(fastestDriveMs(leastMeters) / 1_000) * 1_000;
  const soonestMs = Math.max(pickupMs, readyAt?.getTime() ?? 0) + driveMs;
  const fromMs = Math.min(Math.max(soonestMs, deliverAfter?.getTime() ?? 0), deliverBy.getTime());
  return { from: new Date(fromMs).toISOString(), to: deliverBy.toISOString() };
}
