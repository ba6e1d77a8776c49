import { ORDER_STATUS } from '../http/openapi/order-schemas.ts';
import { ID, named, object, success } from '../http/openapi/schema.ts';
import { schemas } from '../http/schemas.ts';
import type { Operation } from '../transport/operation.ts';

/** What the sandbox's `/openapi.json` says of `POST /sandbox/orders/{id}/advance`. */
export const advanceOrder: Operation = {
  id: 'advanceOrder',
  tag: 'Sandbox',
  summary: 'Move an order on at once',
  description: 'To its next step, or to the status in the body.',
  secret: 'api_key',
  body: named('AdvanceOrder', schemas.advance),
  replies: { 200: success({ order: object({ id: ID, status: ORDER_STATUS }) }) },
  errors: ['not_found', 'illegal_transition'],
};
