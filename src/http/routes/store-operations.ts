import { STORE_EVENT_TYPES } from '../../domain/store-event.ts';
import { TIER_IDS } from '../../domain/tier.ts';
import type { JsonSchema, Operation } from '../../transport/operation.ts';
import { orderBody } from '../openapi/order-body.ts';
import { waiting } from '../openapi/order-schemas.ts';
import {
  BOOLEAN,
  choice,
  ID,
  INTEGER,
  listOf,
  named,
  object,
  orNull,
  STRING,
  success,
  TIME,
  TIME_RANGE,
  WARNINGS,
} from '../openapi/schema.ts';
import { eventBody } from '../openapi/webhooks.ts';
import { schemas } from '../schemas.ts';

/** What `/openapi.json` says of quotes, of the account and of the events of a store. */

const QUOTE = named(
  'Quote',
  object(
    {
      serviceable: { type: 'boolean', const: true },
      delivery_tier: choice(TIER_IDS),
      fee: INTEGER,
      currency: { type: 'string', const: 'usd' },
      distance_meters: orNull(INTEGER),
      driver_available: BOOLEAN,
      pickup_eta: orNull(TIME_RANGE),
      delivery_eta: orNull(TIME_RANGE),
      deliver_by: TIME,
      estimated_delivery: orNull(TIME_RANGE),
    },
    waiting,
  ),
);

const NO_QUOTE = named(
  'Unserviceable',
  object({
    serviceable: { type: 'boolean', const: false },
    fields: listOf(object({ field: STRING, message: STRING })),
  }),
);

export const getQuote = (isSandbox: boolean): Operation => ({
  id: 'getQuote',
  tag: 'Orders',
  summary: 'What an order would cost and when it would come',
  description: 'Takes the body of an order, in which `customer` may be left out. Nothing is stored.',
  secret: 'api_key',
  body: named('QuoteRequest', withoutCustomer(orderBody(isSandbox))),
  replies: { 200: success({ quote: { oneOf: [QUOTE, NO_QUOTE] } }, WARNINGS) },
  errors: ['rate_limited'],
});

function withoutCustomer(body: ReturnType<typeof orderBody>): JsonSchema {
  return { ...body, required: body.required.filter((name) => name !== 'customer') };
}

const RATE: JsonSchema = { type: ['number', 'null'] };

const ACCOUNT = named(
  'Account',
  object({
    retailer_id: ID,
    name: STRING,
    status: choice(['active', 'suspended']),
    mode: choice(['sandbox', 'live']),
    card: choice(['none', 'set', 'failing']),
    unpaid_orders: INTEGER,
    unpaid_orders_allowed: INTEGER,
    payment_required: BOOLEAN,
    rate: object({ orders_per_second: RATE, reads_per_second: RATE }),
  }),
);

export const getAccount: Operation = {
  id: 'getAccount',
  tag: 'Account',
  summary: 'The state of the store that the key belongs to',
  secret: 'api_key',
  replies: { 200: success({ account: ACCOUNT }) },
  errors: ['rate_limited'],
};

export const listEvents: Operation = {
  id: 'listEvents',
  tag: 'Events',
  summary: 'What happened to the orders, one event after the other',
  description: 'Store `next_cursor` with your own data, and ask again with it as `after`. Every event comes once.',
  secret: 'read_key',
  query: schemas.listEvents,
  replies: {
    200: named(
      'EventPage',
      success(
        { events: listOf({ oneOf: STORE_EVENT_TYPES.map(eventBody) }), next_cursor: STRING },
        { events_lost_before: TIME },
      ),
    ),
  },
  errors: ['rate_limited'],
};
