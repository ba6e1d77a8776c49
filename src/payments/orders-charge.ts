import { ServiceError } from '../domain/errors.ts';
import type { Authenticator } from '../http/credentials.ts';
import { NO_FIELDS, orderIdOf, refuseFields } from '../http/input.ts';
import { asWritten } from '../http/outcomes.ts';
import { retryCharge } from '../http/routes/order-operations.ts';
import { countRead, type StoreRates } from '../http/store-rate.ts';
import type { RetailerKey } from '../store/accounts/retailers.ts';
import { json } from '../transport/reply.ts';
import type { Reply, Route } from '../transport/route.ts';
import { createChargeRetries } from './charge-retries.ts';
import type { RetryCharge, RetryChargeOutcome } from './retry-charge.ts';

/** Charges that a store may have tried again at one process within an hour: no card is tried on and on. */
const MAX_STORE_CHARGE_RETRIES_PER_HOUR = 100;

/** `POST /orders/{id}/charge`: tries a failed charge again on the card that the store has now. */
export function ordersCharge(parts: {
  readonly stores: Pick<Authenticator<RetailerKey>, 'authenticate'>;
  readonly reads: StoreRates;
  readonly dispatch: { readonly retryCharge: RetryCharge };
}): Route<RetailerKey> {
  const { stores, reads, dispatch } = parts;
  const retries = createChargeRetries(MAX_STORE_CHARGE_RETRIES_PER_HOUR);
  return {
    method: 'post',
    pattern: '/orders/:id/charge',
    operation: retryCharge,
    authenticate: stores.authenticate,
    body: NO_FIELDS,
    onDeadline: 'outcome_unknown',
    async handle({ head, principal: key, body, alwaysReplyWith }) {
      refuseFields(body);
      const orderId = orderIdOf(head);
      // What ends without a retry has read the order all the same, and counts nothing of the hour.
      await countRead(reads, key, alwaysReplyWith);
      const retry = () => asWritten(dispatch.retryCharge(orderId, key.retailerId), 'Ask for the order.');
      return replyTo(orderId, await retries.run(key.retailerId, retry, ({ kind }) => kind === 'retried'));
    },
  };
}

function replyTo(orderId: string, outcome: RetryChargeOutcome): Reply {
  switch (outcome.kind) {
    case 'retried': {
      const order = { id: orderId, payment_status: 'processing' };
      return json(202, { success: true, message: 'The charge is tried again.', order });
    }
    case 'not_found':
      throw new ServiceError('not_found', 'There is no such order.');
    case 'card_waits': {
      const message =
        'The card was declined so often in a day that its network would fine another try. Try again later, or after ' +
        'another card is on file. Nothing was changed.';
      throw new ServiceError('rate_limited', message, { retryAfterSeconds: Math.ceil(outcome.forSeconds) });
    }
    case 'illegal':
      throw new ServiceError('illegal_transition', whyNot(outcome));
  }
}

function whyNot({ status, paymentStatus }: Extract<RetryChargeOutcome, { kind: 'illegal' }>): string {
  if (paymentStatus !== 'failed') return `The payment is ${paymentStatus}; only a failed charge is tried again.`;
  if (status === 'cancelled' || status === 'expired') return `The order is ${status} and owes nothing.`;
  return 'The charge was tried again as often as it may be. Nothing was changed.';
}
