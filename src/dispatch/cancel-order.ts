import { type CancelReason, canBecome, type OrderStatus } from '../domain/order.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { ChangedOrder } from '../store/changes.ts';
import type { OutboxRow } from '../store/outbox.ts';

/** What became of a cancellation. `already` says that the order was cancelled before; repeating it changes nothing. */
export type CancelOutcome =
  | { readonly kind: 'cancelled' | 'already' | 'not_found' }
  | { readonly kind: 'illegal'; readonly status: OrderStatus };

/** Cancels a store's order until its pickup: the driver is told and free again, and what was charged is given back. */
export function createCancelOrder(deps: {
  readonly matcher: Matcher;
  readonly now: () => number;
  readonly cancel: (orderId: string, retailerId: string, reason: CancelReason) => Promise<ChangedOrder | null>;
  readonly findState: (orderId: string, retailerId: string) => Promise<OrderStatus | null>;
  readonly touched: (driverId: string) => void;
  readonly relay: (rows: readonly OutboxRow[]) => void;
  readonly changed: (orderId: string, driverId: string | null) => void;
  readonly driverAvailable: (driverId: string) => void;
}): (orderId: string, retailerId: string, reason: CancelReason) => Promise<CancelOutcome> {
  return async function cancelOrder(orderId, retailerId, reason) {
    const changed = await deps.cancel(orderId, retailerId, reason);
    if (changed) {
      deps.relay(changed.outbox);
      leave(orderId, changed.driverId);
      return { kind: 'cancelled' };
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
