import { type Arrival, handoverIn, notBefore, pickupIn } from '../domain/arrival.ts';
import type { FieldError } from '../domain/errors.ts';
import { firstEstimate, waitsOf } from '../domain/estimate.ts';
import type { HoldReason } from '../domain/hold.ts';
import type { PlaceOrder } from '../domain/order.ts';
import { dispatchFrom as dueAt, promiseOf, timeErrors, waitsForPlan } from '../domain/schedule.ts';
import { roundedToKilometer } from '../domain/shown-position.ts';
import type { Tier } from '../domain/tier.ts';
import type { TimeRange } from '../domain/time-range.ts';
import { DEFAULT_SIZE } from '../domain/vehicle.ts';
import { distanceMeters, type Point } from '../geo/point.ts';
import type { NewClaim } from '../matcher/claims.ts';
import type { DriverQuery, Matcher } from '../matcher/matcher.ts';
import type { WaitReason } from '../matcher/wait-reason.ts';
import type { Clock } from '../postgres/clock.ts';
import type { RetailerKey } from '../store/accounts/retailers.ts';
import type { LoadedTiers } from './loaded-tiers.ts';
import { locateDropoff } from './locate-dropoff.ts';
import { locatePickup } from './locate-pickup.ts';
import type { Places } from './places.ts';
import { addressErrors, distanceErrors } from './serviceable.ts';

/** Of an order that says nothing of when. */
const ANY_TIME = { readyAt: null, deliverAfter: null, deliverBy: null, size: DEFAULT_SIZE };

/** What an order would be told at this moment. */
export type Quote =
  | { readonly kind: 'unserviceable'; readonly fields: readonly FieldError[] }
  | {
      readonly kind: 'serviceable';
      readonly tier: Tier;
      /** By great circle, whole meters; null where the dropoff's place is not known. */
      readonly distanceMeters: number | null;
      readonly isDriverAvailable: boolean;
      /** Why it would wait for a driver; null where it would get one, or waits for its time. */
      readonly waitingBecause: HoldReason | WaitReason | null;
      /** When the nearest available driver would have the parcel; null without one. */
      readonly pickup: Arrival | null;
      /** When they would be at the door; null without one, and where the dropoff's place is not known. */
      readonly delivery: Arrival | null;
      /** Until when it would be promised. */
      readonly deliverBy: Date;
      /** What it would be told without a driver: its window, where it is ready or wanted later than now. */
      readonly window: TimeRange | null;
      readonly nowMs: number;
    };

export type QuoteOrder = (
  request: Pick<PlaceOrder, 'pickupAddress' | 'dropoffAddress' | 'tierId' | 'extras'>,
  key: RetailerKey,
) => Promise<Quote>;

/**
 * Judges an order as placing it would, and looks at who could take it now. Nothing is stored, and no driver is
 * claimed: an order placed a moment later may get another one, or none.
 */
export function createQuoteOrder(deps: {
  readonly tiers: Pick<LoadedTiers, 'get'>;
  readonly places: Places;
  readonly matcher: Pick<Matcher, 'nearest' | 'driver' | 'holdOf' | 'whyNobody'>;
  readonly clock: Clock;
}): QuoteOrder {
  const { places, matcher, clock } = deps;

  return async function quoteOrder(request, key) {
    const tier = deps.tiers.get(request.tierId);
    const { size, ...times } = { ...ANY_TIME, ...request.extras };
    const wrong = [...addressErrors(places, request.dropoffAddress), ...timeErrors(times, clock.now())];
    if (wrong.length > 0) return { kind: 'unserviceable', fields: wrong };
    const pickup = await locatePickup(places, request.pickupAddress, key);
    const tooFar = distanceErrors(places, request.dropoffAddress, pickup, tier);
    if (tooFar.length > 0) return { kind: 'unserviceable', fields: tooFar };
    const { dropoff } = await locateDropoff(places, request.dropoffAddress, key.retailerId);
    const nowMs = clock.now();
    const hold = matcher.holdOf(key.retailerId);
    const trip = { tier, pickup: pickup.point, dropoff: dropoff?.point ?? null };
    const dueMs = dueAt(times, trip, nowMs);
    const deliverBy = promiseOf(times, tier, nowMs);
    const waits = waitsOf(times);
    const isLater = dueMs !== null || waitsForPlan(times, trip, nowMs);
    const asked = { ...waits, retailerId: key.retailerId, size, deliverByMs: deliverBy.getTime(), nowMs };
    const driver = hold !== null || isLater ? null : nearestDriver(trip, asked);
    const door = dropoff && { ...dropoff.point, accuracyMeters: dropoff.accuracyMeters };
    const way = { pickup: pickup.point, dropoff: door };
    const dispatchFrom = dueMs === null ? null : new Date(dueMs);
    const order = { ...times, ...way, deliverBy, dispatchFrom, createdAt: new Date(nowMs) };
    return {
      kind: 'serviceable',
      tier,
      distanceMeters: dropoff && Math.round(distanceMeters(pickup.point, dropoff.point)),
      isDriverAvailable: driver !== null,
      waitingBecause: hold ?? (driver || isLater ? null : matcher.whyNobody({ tierId: tier.id, size })),
      pickup: driver && pickupIn(driver, pickup.point, (waits.readyAtMs ?? 0) - nowMs),
      delivery: driver && door && notBefore(handoverIn(driver, pickup.point, door), waits, way, nowMs),
      deliverBy,
      window: driver ? null : firstEstimate(order, null),
      nowMs,
    };
  };

  /**
   * The driver who would get the order, in the middle of a square of about 1 km: as exact as a customer sees
   * one before the pickup, so that quotes from all sides do not tell where drivers are.
   */
  function nearestDriver(
    { tier, pickup, dropoff }: { readonly tier: Tier; readonly pickup: Point; readonly dropoff: Point | null },
    asked: Pick<DriverQuery, 'size' | 'nowMs'> & Omit<NewClaim, 'orderId'>,
  ): { point: Point; ageMs: number } | null {
    const { id: tierId, radiusMeters } = tier;
    const found = matcher.nearest({ ...asked, tierId, point: pickup, dropoff, radiusMeters });
    const position = found && matcher.driver(found.driverId)?.position;
    return position ? { point: roundedToKilometer(position), ageMs: Math.max(0, asked.nowMs - position.atMs) } : null;
  }
}
