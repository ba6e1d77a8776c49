import { estimateOf, type TimedOrder } from '../domain/estimate.ts';
import { shownPosition } from '../domain/shown-position.ts';
import { positionOf } from '../matcher/driver-position.ts';
import type { Matcher } from '../matcher/matcher.ts';

/**
 * Until when an order is promised, and when it arrives as far as one can tell now: as every view of it shows
 * them to its store.
 *
 * @param nowMs by the database's clock
 */
export function timesOnWire(order: TimedOrder, matcher: Pick<Matcher, 'driver'>, nowMs: number) {
  const shown = shownPosition(order, positionOf(matcher, order.driverId), nowMs);
  return { deliver_by: order.deliverBy.toISOString(), estimated_delivery: estimateOf(order, shown, nowMs) };
}
