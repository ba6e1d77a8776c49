import { type CancelReason, canBecome, type OrderStatus } from '../domain/order.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Relay } from '../queues/relay.ts';
import type { Store } from '../store/store.ts';
import type { OrderEvents } from './order-events.ts';
import type { Redispatch } from './redispatch.ts';
import type { UnknownOutcomes } from './unknown-outcomes.ts';

/**
 * The result of a cancellation. `already`: the order was cancelled before. `replayed`: it was cancelled
 * before with the same idempotency key. `key_reused`: the key cancelled another order, or this one for
 * another reason.
 */
export type CancelOutcome =
  | { readonly kind: 'cancelled' | 'already' | 'replayed' | 'not_found' }
  | { readonly kind: 'key_reused'; readonly orderId: string }
  | { readonly kind: 'illegal'; readonly status: OrderStatus };

export type CancelOrder = (
  orderId: string,
  retailerId: string,
  reason: CancelReason,
  idempotencyKey?: string | null,
) => Promise<CancelOutcome>;

/** Cancels a store's order before its pickup. Its driver is free again, and a job refunds the charge. */
export function createCancelOrder(deps: {
  readonly store: Pick<Store, 'cancelOrder' | 'findCancelledBy' | 'findStoreOrder'>;
  readonly matcher: Pick<Matcher, 'unwait'>;
  readonly redispatch: Pick<Redispatch, 'driverFreed'>;
  readonly unknownOutcomes: Pick<UnknownOutcomes, 'watch'>;
  readonly relay: Pick<Relay, 'relay'>;
  readonly events: Pick<OrderEvents, 'orderChanged' | 'orderTaken'>;
}): CancelOrder {
  const { store } = deps;

  return async function cancelOrder(orderId, retailerId, reason, idempotencyKey = null) {
    const write = store.cancelOrder(orderId, { retailerId, idempotencyKey }, reason);
    const changed = await deps.unknownOutcomes.watch(orderId, write);
    if (changed) {
      deps.relay.relay(changed.outbox);
      forget(orderId, changed.driverId);
      return { kind: 'cancelled' };
    }
    const before = idempotencyKey === null ? null : await store.findCancelledBy(retailerId, idempotencyKey);
    if (before) {
      const isSame = before.orderId === orderId && before.reason === reason;
      return isSame ? { kind: 'replayed' } : { kind: 'key_reused', orderId: before.orderId };
    }
    const order = await store.findStoreOrder(orderId, retailerId);
    if (order === null) return { kind: 'not_found' };
    const { status } = order;
    if (status === 'cancelled') return { kind: 'already' };
    // An order that could be cancelled now has changed since the write; the caller may try again.
    return { kind: 'illegal', status: canBecome(status, 'cancelled') ? 'driver_assigned' : status };
  };

  /** Removes the order from memory; its driver takes a waiting one. */
  function forget(orderId: string, driverId: string | null): void {
    deps.matcher.unwait(orderId);
    deps.events.orderChanged(orderId, driverId);
    if (driverId === null) return;
    deps.events.orderTaken(driverId);
    deps.redispatch.driverFreed(driverId, orderId);
  }
}
