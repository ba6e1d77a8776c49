import { ServiceError } from '../domain/errors.ts';
import type { Authenticator } from '../http/credentials.ts';
import { JSON_BODY, orderIdOf, parsed } from '../http/input.ts';
import { asWritten } from '../http/outcomes.ts';
import { valid, validate } from '../http/validate.ts';
import { validators } from '../http/validators.js';
import type { RetailerKey } from '../store/accounts/retailers.ts';
import { json } from '../transport/reply.ts';
import type { Reply, Route } from '../transport/route.ts';
import type { Advance, AdvanceOutcome } from './advance.ts';
import { advanceOrder } from './advance-operation.ts';

/** `POST /sandbox/orders/{id}/advance`, which only the sandbox has. */
export function advanceRoute(parts: {
  readonly stores: Pick<Authenticator<RetailerKey>, 'authenticate'>;
  readonly advance: Advance;
}): Route<RetailerKey> {
  return {
    method: 'post',
    pattern: '/sandbox/orders/:id/advance',
    operation: advanceOrder,
    authenticate: parts.stores.authenticate,
    body: { ...JSON_BODY, optional: true },
    onDeadline: 'outcome_unknown',
    async handle({ head, principal: key, body }) {
      const { to = null } = valid(validate(validators.advance, parsed(body, true)));
      const orderId = orderIdOf(head);
      const advancing = parts.advance(orderId, key.retailerId, to);
      return replyTo(orderId, to, await asWritten(advancing, 'Ask for the order before you try again.'));
    },
  };
}

function replyTo(orderId: string, to: string | null, outcome: AdvanceOutcome): Reply {
  switch (outcome.kind) {
    case 'done':
      return json(200, { success: true, order: { id: orderId, status: outcome.status } });
    case 'not_found':
      throw new ServiceError('not_found', 'There is no such order.');
    case 'too_early': {
      const from = outcome.deliverAfter.toISOString();
      const message = `The window of the order begins at ${from}. To hand it over before, send {"to": "delivered"}.`;
      throw new ServiceError('illegal_transition', message);
    }
    case 'illegal': {
      const why = to === null ? 'has no next step, or no driver is free' : `did not become ${to}`;
      throw new ServiceError('illegal_transition', `The order is ${outcome.status} and ${why}.`);
    }
  }
}
