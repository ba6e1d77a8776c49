import { estimateOf, type TimedOrder } from '../domain/estimate.ts';
import { isHold } from '../domain/hold.ts';
import type { OrderStatus } from '../domain/order.ts';
import type { ShownPlan } from '../domain/plan.ts';
import { shownPosition } from '../domain/shown-position.ts';
import { type Matcher, positionOf } from '../matcher/matcher.ts';
import type { WaitReason } from '../matcher/wait-reason.ts';

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

/** What a view of an order says of its wait: why, and its plan. */
type Wait = { readonly because: string | undefined; readonly plan: ShownPlan | null };

/**
 * Why an order waits, and its plan. A reason of this process's memory says why nobody is meant for it, so a
 * plan goes before it. A hold goes before both: whoever is meant does not come.
 */
export function waitOnWire(
  order: { readonly id: string; readonly status: OrderStatus; readonly plan: ShownPlan | null },
  matcher: Pick<Matcher, 'whyWaiting'>,
): Wait {
  if (order.status !== 'pending_dispatch') return { because: undefined, plan: null };
  const because = matcher.whyWaiting(order.id);
  if (order.plan === null || isHold(because)) return { because, plan: null };
  return { because: 'planned' satisfies WaitReason, plan: order.plan };
}
