import type { CancelOrder, CancelOutcome } from '../../dispatch/cancel-order.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { RetailerKey } from '../../store/accounts/retailers.ts';
import { json } from '../../transport/reply.ts';
import type { Reply, Route } from '../../transport/route.ts';
import type { Authenticator } from '../credentials.ts';
import { idempotencyKeyOf, keyReused, REPLAYED } from '../idempotency.ts';
import { JSON_BODY, orderIdOf, parsed } from '../input.ts';
import { asWritten } from '../outcomes.ts';
import { countRequest, type StoreRates } from '../store-rate.ts';
import { valid, validate } from '../validate.ts';
import { validators } from '../validators.js';
import { cancelOrder } from './order-operations.ts';

/**
 * `POST /orders/{id}/cancel`, until the pickup.
 *
 * @param parts.rates counts cancellations
 */
export function ordersCancel(parts: {
  readonly stores: Pick<Authenticator<RetailerKey>, 'authenticate'>;
  readonly rates: StoreRates;
  readonly dispatch: { readonly cancelOrder: CancelOrder };
}): Route<RetailerKey> {
  const { stores, rates, dispatch } = parts;
  return {
    method: 'post',
    pattern: '/orders/:id/cancel',
    operation: cancelOrder,
    authenticate: stores.authenticate,
    body: JSON_BODY,
    onDeadline: 'outcome_unknown',
    async handle({ head, principal: key, body, alwaysReplyWith }) {
      const { reason } = valid(validate(validators.cancelOrder, parsed(body)));
      const orderId = orderIdOf(head);
      const idempotencyKey = idempotencyKeyOf(head);
      // Up to three statements, however often it is sent.
      await countRequest(rates, key, alwaysReplyWith);
      const cancelling = dispatch.cancelOrder(orderId, key.retailerId, reason, idempotencyKey);
      return replyTo(orderId, await asWritten(cancelling, 'Ask for the order, or send the same again; that is safe.'));
    },
  };
}

function replyTo(orderId: string, outcome: CancelOutcome): Reply {
  switch (outcome.kind) {
    case 'cancelled':
    case 'replayed':
    case 'already': {
      const message = outcome.kind === 'already' ? 'The order was cancelled before.' : 'The order was cancelled.';
      const body = { success: true, message, order: { id: orderId, status: 'cancelled' } };
      return json(200, body, outcome.kind === 'replayed' ? REPLAYED : {});
    }
    case 'key_reused':
      throw keyReused(outcome.orderId);
    case 'not_found':
      throw new ServiceError('not_found', 'There is no such order.');
    case 'illegal':
      throw new ServiceError('illegal_transition', `The order is ${outcome.status} and can't be cancelled any more.`);
  }
}
