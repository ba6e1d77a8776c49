import type { Relay } from '../queues/relay.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry.ts';

/** A payment that Stripe made. */
export type FoundPayment = {
  readonly orderId: string;
  readonly paymentIntentId: string;
  readonly amountCents: number;
  /** Under whose key it was made, where that is known. */
  readonly attempt?: number;
};

/**
 * What became of it. `unchanged`: it was known. `unknown`: of no order of ours. `conflict`: the order is paid by
 * another payment, which stays.
 */
type FoundOutcome = 'done' | 'unchanged' | 'unknown' | 'conflict';

/**
 * Makes a function that records a payment which its attempt does not know of: the answer was lost, or another worker
 * put the attempt off before. It is safe to call twice. A second payment of an order is an error in the log, as the
 * money has to go back.
 */
export function recordingFound(parts: {
  readonly store: Pick<Store, 'findPayment' | 'recordLatePaid'>;
  readonly relay: Pick<Relay, 'relay'>;
  readonly logger: Logger;
}): (payment: FoundPayment) => Promise<FoundOutcome> {
  const { store, relay, logger } = parts;

  return async function recordFound(payment) {
    const { orderId, paymentIntentId, attempt } = payment;
    const known = await store.findPayment(orderId);
    if (!known) return 'unknown';
    if (known.chargeId === null) {
      const changed = await store.recordLatePaid(payment);
      if (changed) {
        relay.relay(changed.outbox);
        const { sendingAttempt } = known;
        // The attempt under way counts as the paid one, and nobody asks any more what became of it.
        if (attempt !== undefined && sendingAttempt !== null && sendingAttempt !== attempt) {
          const attempts = { attempt, otherAttempt: sendingAttempt };
          logger.error({ orderId, ...attempts }, 'an order may be charged twice: look for a second payment in Stripe');
        }
        return 'done';
      }
    }
    // Another one may have been recorded since.
    const chargeId = known.chargeId ?? (await store.findPayment(orderId))?.chargeId ?? null;
    if (chargeId === null || chargeId === paymentIntentId) return 'unchanged';
    const payments = { chargeId, otherChargeId: paymentIntentId };
    logger.error({ orderId, ...payments }, 'an order was charged twice: refund otherChargeId in Stripe');
    return 'conflict';
  };
}
