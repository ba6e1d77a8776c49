import { MAX_IDEMPOTENCY_KEY_LENGTH } from '../../limits.ts';
import type { JsonSchema, Operation } from '../../transport/operation.ts';
import { FAILURE } from '../openapi/errors.ts';
import { orderBody } from '../openapi/order-body.ts';
import { CREATED_ORDER } from '../openapi/order-schemas.ts';
import { INTEGER, listOf, named, object, STRING, success, WARNINGS } from '../openapi/schema.ts';
import { MAX_ORDERS_PER_BATCH } from '../schemas.ts';

/** What `/openapi.json` says of `POST /orders/batch`. */

const KEY: JsonSchema = { type: 'string', minLength: 1, maxLength: MAX_IDEMPOTENCY_KEY_LENGTH };

function entry(isSandbox: boolean): JsonSchema {
  const { type, required, properties } = orderBody(isSandbox);
  return named('OrderOfBatch', {
    type,
    required: ['idempotency_key', ...required],
    properties: { idempotency_key: KEY, ...properties },
  });
}

const PLACED = named(
  'PlacedOfBatch',
  object(
    {
      index: INTEGER,
      status: { type: 'integer', const: 201 },
      success: { type: 'boolean', const: true },
      message: STRING,
      order: CREATED_ORDER,
    },
    { ...WARNINGS, replayed: { type: 'boolean', const: true } },
  ),
);

const REFUSED = named(
  'RefusedOfBatch',
  object(
    {
      index: INTEGER,
      status: INTEGER,
      success: { type: 'boolean', const: false },
      message: STRING,
      error: FAILURE,
    },
    { retry_after_seconds: INTEGER },
  ),
);

export const createOrders = (isSandbox: boolean): Operation => ({
  id: 'createOrders',
  tag: 'Orders',
  summary: 'Create several orders',
  description:
    'Each order is created or not by itself, and has a result in the order sent. Sending the batch again is safe.',
  secret: 'api_key',
  body: named('PlaceBatch', {
    type: 'object',
    required: ['orders'],
    properties: { orders: { type: 'array', minItems: 1, maxItems: MAX_ORDERS_PER_BATCH, items: entry(isSandbox) } },
  }),
  replies: {
    200: named('BatchResults', success({ message: STRING, results: listOf({ oneOf: [PLACED, REFUSED] }) })),
  },
  errors: ['rate_limited'],
});
