import type { OrderEvents } from '../dispatch/order-events.ts';
import type { OrderStatus, PaymentStatus } from '../domain/order.ts';
import { below, MAX_PAYMENT_ATTEMPTS, MAX_PAYMENT_ATTEMPTS_EVER } from '../limits.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Relay } from '../queues/relay.ts';
import type { Store } from '../store/store.ts';

/** Times that a store may have the charge of one order tried again; the operator may do so beyond that. */
export const MAX_STORE_CHARGE_RETRIES = 5;

below(
  { 'attempts of MAX_STORE_CHARGE_RETRIES': (1 + MAX_STORE_CHARGE_RETRIES) * MAX_PAYMENT_ATTEMPTS },
  { MAX_PAYMENT_ATTEMPTS_EVER },
);

/**
 * The result of trying a charge again. `illegal`: the charge has not failed, the order owes nothing, or the
 * charge was tried as often as it may be. `card_waits`: the card has no room for another decline for so long.
 */
export type RetryChargeOutcome =
  | { readonly kind: 'retried' | 'not_found' }
  | { readonly kind: 'card_waits'; readonly forSeconds: number }
  | { readonly kind: 'illegal'; readonly status: OrderStatus; readonly paymentStatus: PaymentStatus };

export type RetryCharge = (orderId: string, retailerId: string) => Promise<RetryChargeOutcome>;

/**
 * Has the failed charge of a store's order tried again on the card that the store has now. A job charges it,
 * under a key of its own.
 */
export function createRetryCharge(deps: {
  readonly store: Pick<Store, 'retryCharges' | 'findPaymentState'>;
  readonly relay: Pick<Relay, 'relay'>;
  readonly matcher: Pick<Matcher, 'isWatched'>;
  readonly events: Pick<OrderEvents, 'storeChanged'>;
}): RetryCharge {
  const { store, relay, matcher, events } = deps;

  return async function retryCharge(orderId, retailerId) {
    const which = { orderId, byStore: { retailerId, most: MAX_STORE_CHARGE_RETRIES } };
    const [retried] = await store.retryCharges(which, MAX_PAYMENT_ATTEMPTS, MAX_PAYMENT_ATTEMPTS_EVER);
    if (retried) {
      relay.relay(retried.outbox);
      // The order counts as under way now, and not as unpaid.
      if (matcher.isWatched(retailerId)) events.storeChanged(retailerId);
      return { kind: 'retried' };
    }
    const order = await store.findPaymentState(orderId, retailerId);
    if (!order) return { kind: 'not_found' };
    const { status, paymentStatus, timesAsked, cardWaitSeconds } = order;
    const mayAsk = status !== 'cancelled' && status !== 'expired' && timesAsked < MAX_STORE_CHARGE_RETRIES;
    if (cardWaitSeconds !== null && mayAsk) return { kind: 'card_waits', forSeconds: cardWaitSeconds };
    return { kind: 'illegal', status, paymentStatus };
  };
}
