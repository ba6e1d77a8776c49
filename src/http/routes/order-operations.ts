import type { Operation } from '../../transport/operation.ts';
import { CREATED_ORDER, LISTED_ORDER, ORDER } from '../openapi/order-schemas.ts';
import { ID, listOf, named, object, orNull, STRING, success } from '../openapi/schema.ts';
import { schemas } from '../schemas.ts';

/** What `/openapi.json` says of the routes of orders. */

export const createOrder: Operation = {
  id: 'createOrder',
  tag: 'Orders',
  summary: 'Create an order',
  description:
    'Gives the order to the nearest available driver in the same request. A body with nothing but `retailer_id` ' +
    'tests the key and creates nothing. Unknown fields are ignored.',
  secret: 'api_key',
  idempotent: true,
  body: named('PlaceOrder', schemas.placeOrder),
  replies: { 201: named('OrderCreated', success({ message: STRING, order: CREATED_ORDER })) },
  errors: ['idempotency_key_reused', 'rate_limited', 'queue_full'],
};

export const getOrder: Operation = {
  id: 'getOrder',
  tag: 'Orders',
  summary: 'Read one order with its events',
  secret: 'api_key',
  replies: { 200: success({ order: ORDER }) },
  errors: ['not_found', 'rate_limited'],
};

export const listOrders: Operation = {
  id: 'listOrders',
  tag: 'Orders',
  summary: 'List orders by the time of their last change',
  description: 'Oldest change first. A page may be short or empty: go on while `next_cursor` is not null.',
  secret: 'api_key',
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
  errors: ['not_found', 'illegal_transition', 'idempotency_key_reused'],
};
