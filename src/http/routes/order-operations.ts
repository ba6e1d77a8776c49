import type { Operation } from '../../transport/operation.ts';
import { orderBody } from '../openapi/order-body.ts';
import { CREATED_ORDER, LISTED_ORDER, ORDER, ORDER_STATUS, PAYMENT_STATUS } from '../openapi/order-schemas.ts';
import { BOOLEAN, ID, INTEGER, listOf, named, object, orNull, STRING, success, WARNINGS } from '../openapi/schema.ts';
import { schemas } from '../schemas.ts';

/** What `/openapi.json` says of the routes of orders. */

export const createOrder = (isSandbox: boolean): Operation => ({
  id: 'createOrder',
  tag: 'Orders',
  summary: 'Create an order',
  description:
    'Gives the order to the nearest available driver in the same request. A body with nothing but `retailer_id` ' +
    'tests the key and creates nothing. Unknown fields are ignored, and named in `warnings`.',
  secret: 'api_key',
  idempotent: true,
  body: named('PlaceOrder', orderBody(isSandbox)),
  replies: { 201: named('OrderPlaced', success({ message: STRING, order: CREATED_ORDER }, WARNINGS)) },
  errors: ['idempotency_key_reused', 'rate_limited', 'queue_full'],
});

export const getOrder: Operation = {
  id: 'getOrder',
  tag: 'Orders',
  summary: 'Read one order with its events',
  secret: 'read_key',
  replies: { 200: success({ order: ORDER }) },
  errors: ['not_found', 'rate_limited'],
};

export const listOrders: Operation = {
  id: 'listOrders',
  tag: 'Orders',
  summary: 'List orders by the time of their last change',
  description: 'Oldest change first. A page may be short or empty: go on while `next_cursor` is not null.',
  secret: 'read_key',
  query: schemas.listOrders,
  replies: { 200: named('OrderPage', success({ orders: listOf(LISTED_ORDER), next_cursor: orNull(STRING) })) },
  errors: ['rate_limited'],
};

export const cancelOrder: Operation = {
  id: 'cancelOrder',
  tag: 'Orders',
  summary: 'Cancel an order before its pickup',
  description: 'The driver is free again, and what was charged is given back. Cancelling again changes nothing.',
  secret: 'api_key',
  idempotent: true,
  body: named('CancelOrder', schemas.cancelOrder),
  replies: {
    200: success({ message: STRING, order: object({ id: ID, status: { type: 'string', const: 'cancelled' } }) }),
  },
  errors: ['not_found', 'illegal_transition', 'idempotency_key_reused', 'rate_limited'],
};

export const previewCancellation: Operation = {
  id: 'previewCancellation',
  tag: 'Orders',
  summary: 'What cancelling the order now would cost and give back',
  secret: 'api_key',
  replies: {
    200: success({
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
    }),
  },
  errors: ['not_found', 'rate_limited'],
};

export const retryCharge: Operation = {
  id: 'retryCharge',
  tag: 'Orders',
  summary: 'Try a failed charge again',
  description: 'On the card that the store has now. Sending it twice charges once.',
  secret: 'api_key',
  body: schemas.noFields,
  replies: {
    202: success({
      message: STRING,
      order: object({ id: ID, payment_status: { type: 'string', const: 'processing' } }),
    }),
  },
  errors: ['not_found', 'illegal_transition', 'rate_limited'],
};

export const getPhoto: Operation = {
  id: 'getPhoto',
  tag: 'Orders',
  summary: 'The photo of the handover, for as long as it is kept',
  secret: 'api_key',
  replies: { 200: { contentType: 'image/jpeg' } },
  errors: ['not_found', 'rate_limited'],
};
