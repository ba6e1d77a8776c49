import type { CancelOutcome } from '../../dispatch/cancel-order.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { CancelReason } from '../../domain/order.ts';
import { MAX_JSON_BYTES } from '../../limits.ts';
import type { RetailerKey } from '../../store/retailers.ts';
import { findFieldErrors } from '../field-errors.ts';
import { orderIdOf, parsed, valid } from '../input.ts';
import type { JsonObject } from '../json.ts';
import { asWritten } from '../outcomes.ts';
import { json } from '../reply.ts';
import type { Reply, RequestHead, Route } from '../route.ts';
import { cancelOrder as fits } from '../validators.js';

/** `POST /orders/{id}/cancel`, until the pickup. */
export function ordersCancel(deps: {
  readonly authenticate: (head: RequestHead) => Promise<RetailerKey>;
  readonly cancelOrder: (orderId: string, retailerId: string, reason: CancelReason) => Promise<CancelOutcome>;
}): Route<RetailerKey> {
  return {
    method: 'post',
    pattern: '/orders/:id/cancel',
    authenticate: deps.authenticate,
    body: { contentTypes: ['application/json'], maxBytes: MAX_JSON_BYTES },
    onDeadline: 'outcome_unknown',
    async handle({ head, principal: key, body }) {
      const { reason } = valid(validateCancel(parsed(body)));
      const orderId = orderIdOf(head);
      const cancelling = deps.cancelOrder(orderId, key.retailerId, reason);
      return reply(orderId, await asWritten(cancelling, 'Ask for the order, or send the same again; that is safe.'));
    },
  };
}

function validateCancel(body: JsonObject) {
  const fields = findFieldErrors(fits, body);
  return fields.length > 0 ? { fields } : { ok: { reason: body.reason as CancelReason } };
}

function reply(orderId: string, outcome: CancelOutcome): Reply {
  switch (outcome.kind) {
    case 'cancelled':
    case 'already': {
      const message = outcome.kind === 'cancelled' ? 'The order was cancelled.' : 'The order was cancelled before.';
      return json(200, { success: true, message, order: { id: orderId, status: 'cancelled' } });
    }
    case 'not_found':
      throw new ServiceError('not_found', 'There is no such order.');
    case 'illegal':
      throw new ServiceError('illegal_transition', `The order is ${outcome.status} and can't be cancelled any more.`);
  }
}
