import { distanceMeters, type Point } from '../geo/point.ts';
import { POSITION_FRESH_MS } from '../limits.ts';
import { arrivalOnRoute, arrivalTimes, fetchedAndDriven, handoverIn, notBefore, type Trip } from './arrival.ts';
import type { OrderStatus } from './order.ts';
import type { Waits } from './order-times.ts';
import type { ShownPlan } from './plan.ts';
import { type ScheduledOrder, type Way, windowFrom, windowOf } from './schedule.ts';
import type { ShownPosition } from './shown-position.ts';
import type { TimeRange } from './time-range.ts';
import type { PlaceOnRoute } from './tracked.ts';

type Dropoff = Trip['dropoff'];

/** What the estimate of an order follows from. */
export type TimedOrder = ScheduledOrder & {
  readonly status: OrderStatus;
  readonly driverId: string | null;
  readonly assignedAt: Date | null;
  readonly pickup: Point;
  readonly dropoff: Dropoff;
  /** Where its door is on the driver's route; null where no driver is under way with it. */
  readonly onRoute: PlaceOnRoute | null;
  /** The plan of one that waits; null where nobody is meant for it. */
  readonly plan: ShownPlan | null;
};

/**
 * When an order arrives, as its store is told: by its plan or in its window while it waits, and by the driver's
 * position while they are on the way. A dropoff that is known roughly makes the range wide. Null while nobody
 * is meant for an order that is due, while its driver is silent, and once it has ended.
 *
 * @param shown the driver's position as the store may see it
 */
export function estimateOf(
  order: Omit<TimedOrder, 'driverId' | 'assignedAt'>,
  shown: ShownPosition | null,
  nowMs: number,
): TimeRange | null {
  const { status, pickup, dropoff } = order;
  if (status === 'pending_dispatch') return order.plan?.range ?? (isNotYet(order, nowMs) ? windowOf(order) : null);
  if (status !== 'driver_assigned' && status !== 'picked_up') return null;
  const { onRoute } = order;
  if (!onRoute || !dropoff) return null;
  if (!onRoute.isNext) {
    return arrivalTimes(notBefore(arrivalOnRoute(onRoute.doorInMinutes, dropoff), onRoute, order, nowMs), nowMs);
  }
  if (!shown || shown.age_ms > POSITION_FRESH_MS) return null;
  // From when the position was taken: until there is another one, the estimate stays as it is.
  const driver = { point: shown, ageMs: 0 };
  const arrival = handoverIn(driver, status === 'driver_assigned' ? pickup : null, dropoff);
  const takenMs = Date.parse(shown.at);
  return arrivalTimes(notBefore(arrival, onRoute, order, takenMs), takenMs);
}

/** Whether an order still waits for its time. */
function isNotYet({ dispatchFrom }: Pick<ScheduledOrder, 'dispatchFrom'>, nowMs: number): boolean {
  return dispatchFrom !== null && dispatchFrom.getTime() > nowMs;
}

/**
 * What the store was told when the order was created, by what is stored of that moment: a repeated reply says
 * the same, with the dropoff by its ZIP code as it was known then.
 *
 * @param driverMeters from the first driver to the pickup; null where the order was created without one
 */
export function firstEstimate(
  order: ScheduledOrder & Way & { readonly createdAt: Date },
  driverMeters: number | null,
): TimeRange | null {
  if (driverMeters === null) return windowOf(order) ?? windowAhead(order);
  const { createdAt, pickup, dropoff } = order;
  if (!dropoff) return null;
  const toDoor = distanceMeters(pickup, dropoff);
  const arrival = fetchedAndDriven(Math.round(driverMeters), toDoor, dropoff.accuracyMeters);
  return arrivalTimes(notBefore(arrival, waitsOf(order), order, createdAt.getTime()), createdAt.getTime());
}

/** What the handover of an order waits for that is still to be fetched. */
export function waitsOf({ readyAt, deliverAfter }: Pick<ScheduledOrder, 'readyAt' | 'deliverAfter'>): Waits {
  return { readyAtMs: readyAt?.getTime(), deliverAfterMs: deliverAfter?.getTime() };
}

/** The window of an order that is ready, or wanted, later than it was created; null for any other. */
function windowAhead(order: ScheduledOrder & Way & { readonly createdAt: Date }): TimeRange | null {
  const createdMs = order.createdAt.getTime();
  const opensMs = Math.max(order.readyAt?.getTime() ?? 0, order.deliverAfter?.getTime() ?? 0);
  return opensMs <= createdMs ? null : windowFrom(order, createdMs);
}
