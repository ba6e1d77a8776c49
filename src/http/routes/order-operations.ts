import type { Operation } from '../../transport/operation.ts';
import { orderBody } from '../openapi/order-body.ts';
import { CREATED_ORDER, LISTED_ORDER, ORDER, ORDER_STATUS, PAYMENT_STATUS } from '../openapi/order-schemas.ts';
import {
  BOOLEAN,
  ID,
  INTEGER,
  listOf,
  named,
  object,
  operations,
  orNull,
  STRING,
  success,
  WARNINGS,
} from '../openapi/schema.ts';
import { schemas } from '../schemas.ts';

/** What `/openapi.json` says of the routes of orders. */

const errors = ['not_found', 'rate_limited'] as const;
const operation = operations({ tag: 'Orders', secret: 'api_key', errors });
const read = operations({ tag: 'Orders', secret: 'read_key', errors });

export const createOrder = (isSandbox: boolean): Operation =>
  operation('createOrder', 'Create an order', {
    description:
      'Gives the order to the nearest available driver in the same request. A body with nothing but `retailer_id` ' +
      'tests the key and creates nothing. Unknown fields are ignored, and named in `warnings`.',
    idempotent: true,
    body: named('PlaceOrder', orderBody(isSandbox)),
    replies: { 201: named('OrderPlaced', success({ message: STRING, order: CREATED_ORDER }, WARNINGS)) },
    errors: ['idempotency_key_reused', 'rate_limited', 'queue_full'],
  });

export const getOrder = read('getOrder', 'Read one order with its events', { reply: { order: ORDER } });

export const listOrders = read('listOrders', 'List orders by the time of their last change', {
  description: 'Oldest change first. A page may be short or empty: go on while `next_cursor` is not null.',
  query: schemas.listOrders,
  replies: { 200: named('OrderPage', success({ orders: listOf(LISTED_ORDER), next_cursor: orNull(STRING) })) },
  errors: ['rate_limited'],
});

export const cancelOrder = operation('cancelOrder', 'Cancel an order before its pickup', {
  description: 'The driver is free again, and what was charged is given back. Cancelling again changes nothing.',
  idempotent: true,
  body: named('CancelOrder', schemas.cancelOrder),
  reply: { message: STRING, order: object({ id: ID, status: { type: 'string', const: 'cancelled' } }) },
  errors: ['not_found', 'illegal_transition', 'idempotency_key_reused', 'rate_limited'],
});

export const previewCancellation = operation(
  'previewCancellation',
  'What cancelling the order now would cost and give back',
  {
    reply: {
      cancellation: named(
        'Cancellation',
        object({
          cancellable: BOOLEAN,
          reason_if_not: orNull(ORDER_STATUS),
          refund_cents: INTEGER,
          fee_kept_cents: INTEGER,
          payment_status: PAYMENT_STATUS,
        }),
      ),
    },
  },
);

export const retryCharge = operation('retryCharge', 'Try a failed charge again', {
  description: 'On the card that the store has now. Sending it twice charges once.',
  body: schemas.noFields,
  replies: {
    202: success({
      message: STRING,
      order: object({ id: ID, payment_status: { type: 'string', const: 'processing' } }),
    }),
  },
  errors: ['not_found', 'illegal_transition', 'rate_limited'],
});

export const getPhoto = operation('getPhoto', 'The photo of the handover, for as long as it is kept', {
  replies: { 200: { contentType: 'image/jpeg' } },
});
