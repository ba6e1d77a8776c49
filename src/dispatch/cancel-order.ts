import { type CancelReason, canBecome, type OrderStatus } from '../domain/order.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { ChangedOrder } from '../store/changes.ts';
import type { OutboxRow } from '../store/outbox.ts';

/**
 * What became of a cancellation. `already` says that the order was cancelled before, `replayed` that it was under the same
 * idempotency key; repeating it changes nothing. `key_reused`: the key cancelled an order in other words before.
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

/** Cancels a store's order until its pickup: the driver is told and free again, and what was charged is given back. */
export function createCancelOrder(deps: {
  readonly matcher: Matcher;
  readonly now: () => number;
  readonly cancel: (
    orderId: string,
    retailerId: string,
    reason: CancelReason,
    idempotencyKey: string | null,
  ) => Promise<ChangedOrder | null>;
  readonly findCancelledBy: (
    retailerId: string,
    idempotencyKey: string,
  ) => Promise<{ readonly orderId: string; readonly reason: CancelReason } | null>;
  readonly findState: (orderId: string, retailerId: string) => Promise<OrderStatus | null>;
  readonly touched: (driverId: string) => void;
  readonly relay: (rows: readonly OutboxRow[]) => void;
  readonly changed: (orderId: string, driverId: string | null) => void;
  readonly driverAvailable: (driverId: string) => void;
}): CancelOrder {
  return async function cancelOrder(orderId, retailerId, reason, idempotencyKey = null) {
    const changed = await deps.cancel(orderId, retailerId, reason, idempotencyKey);
    if (changed) {
      deps.relay(changed.outbox);
      leave(orderId, changed.driverId);
      return { kind: 'cancelled' };
    }
    const before = idempotencyKey === null ? null : await deps.findCancelledBy(retailerId, idempotencyKey);
    if (before) {
      const isSame = before.orderId === orderId && before.reason === reason;
      return isSame ? { kind: 'replayed' } : { kind: 'key_reused', orderId: before.orderId };
    }
    const status = await deps.findState(orderId, retailerId);
    if (status === null) return { kind: 'not_found' };
    if (status === 'cancelled') return { kind: 'already' };
    // Where it could be cancelled after all, the write lost a race; the caller may try again.
    return { kind: 'illegal', status: canBecome(status, 'cancelled') ? 'driver_assigned' : status };
  };

  /** The order leaves memory, and its driver takes what waits. */
  function leave(orderId: string, driverId: string | null): void {
    deps.matcher.unwait(orderId);
    deps.changed(orderId, driverId);
    if (driverId === null) return;
    deps.matcher.release(driverId, deps.now(), orderId);
    deps.touched(driverId);
    deps.driverAvailable(driverId);
  }
}
