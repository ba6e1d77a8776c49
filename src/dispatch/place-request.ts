import { isHold } from '../domain/hold.ts';
import type { CreatedOrder, EarlierOrder } from '../domain/order.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { WaitReason } from '../matcher/wait-reason.ts';
import type { PlaceOnce, PlaceOnceOutcome } from './place-once.ts';
import type { PlaceUnkeyed } from './place-unkeyed.ts';

/** Places the order of a request once, however often the request is sent. */
export type PlaceRequest = PlaceUnkeyed;

/**
 * A request is identified by its idempotency key, or without one, once its reply was lost, by its
 * fingerprint. Why its order waits is told as it is now, to a repeated request as well.
 */
export function createPlaceRequest(
  placeKeyed: PlaceOnce,
  placeUnkeyed: PlaceUnkeyed,
  matcher: Pick<Matcher, 'whyWaiting'>,
): PlaceRequest {
  return async (request, key, identity, caller) => {
    const outcome = await (identity.key === null
      ? placeUnkeyed(request, key, identity, caller)
      : placeKeyed(request, key, { ...identity, key: identity.key }, caller));
    return withReason(outcome, matcher);
  };
}

/** Says why the order of an outcome waits. */
export function withReason(outcome: PlaceOnceOutcome, matcher: Pick<Matcher, 'whyWaiting'>): PlaceOnceOutcome {
  if (outcome.kind === 'created') return { ...outcome, order: explained(outcome.order, outcome.order.status) };
  if (outcome.kind === 'replayed') return { ...outcome, order: explained(outcome.order, outcome.order.statusNow) };
  return outcome;

  function explained<Order extends CreatedOrder & Partial<EarlierOrder>>(order: Order, status: string): Order {
    if (status !== 'pending_dispatch') return order;
    const because = matcher.whyWaiting(order.id);
    if (isHold(because)) return { ...order, waitingBecause: because };
    if (order.isPlanned) return { ...order, waitingBecause: 'planned' satisfies WaitReason };
    // The planner may not have looked for a driver yet, so that nothing is known to be missing.
    const isUnknown = order.isForLater && because !== 'not_yet';
    return isUnknown ? order : { ...order, waitingBecause: because };
  }
}
