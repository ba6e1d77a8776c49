import { CANCEL_REASONS, UNDELIVERABLE_REASONS } from '../../domain/order.ts';
import { WEBHOOK_TEST_TYPE } from '../../domain/webhook.ts';
import type { JsonSchema } from '../../transport/operation.ts';
import { BY_SANDBOX, RELEASED_BECAUSE } from './order-events.ts';
import { ORDER_STATUS, PAYMENT_STATUS } from './order-schemas.ts';
import { choice, ID, INTEGER, named, object, orNull, STRING, TIME, TIME_RANGE } from './schema.ts';

type Schemas = Readonly<Record<string, JsonSchema>>;
type Webhook = {
  readonly summary: string;
  /** What this event adds to `data`. */
  readonly details?: Schemas;
  /** What it adds at times. */
  readonly atTimes?: Schemas;
  /** Values of the example that differ from those of the fields. */
  readonly example: Readonly<Record<string, unknown>>;
};

const OPERATOR = { type: 'string', const: 'operator' };

/** The events that stores are told of. */
export const WEBHOOKS: Readonly<Record<string, Webhook>> = {
  'order.created': {
    summary: 'The order is stored, with a driver or without',
    example: { sequence: 1, payment_status: 'processing' },
  },
  'order.estimate_changed': {
    summary: 'A waiting order arrives over 5 minutes earlier or later than was said',
    details: { estimated_delivery: TIME_RANGE },
    example: { sequence: 2, status: 'pending_dispatch', payment_status: 'not_charged', driver_id: null },
  },
  'order.assigned': {
    summary: 'A driver has the order',
    example: { sequence: 2, status: 'driver_assigned', payment_status: 'processing' },
  },
  'order.released': {
    summary: 'The driver has the order no longer; it waits for the next one',
    details: { reason: RELEASED_BECAUSE },
    example: { sequence: 3, status: 'pending_dispatch', driver_id: null, reason: 'vehicle' },
  },
  'order.paid': { summary: 'The fee was charged', example: { sequence: 3 } },
  'order.picked_up': { summary: 'The driver has the parcel', example: { status: 'picked_up' } },
  'order.delivered': { summary: 'The parcel was handed over', example: { sequence: 5, status: 'delivered' } },
  'order.proof_available': {
    summary: 'The photo of the handover can be fetched',
    details: { photo: STRING },
    example: { sequence: 5, status: 'delivered' },
  },
  'order.cancelled': {
    summary: 'The order was called off before the pickup',
    details: { by: choice(['store', 'operator']), reason: choice(CANCEL_REASONS) },
    example: { status: 'cancelled' },
  },
  'order.expired': {
    summary: 'No driver took the order in time',
    atTimes: BY_SANDBOX,
    example: { sequence: 2, status: 'expired', payment_status: 'not_charged', driver_id: null },
  },
  'order.undeliverable': {
    summary: 'The handover failed; the parcel comes back',
    details: { reason: choice(UNDELIVERABLE_REASONS) },
    atTimes: { by: OPERATOR },
    example: { sequence: 5, status: 'undeliverable', reason: 'nobody_home' },
  },
  'order.returned': {
    summary: 'The parcel is back at the store',
    atTimes: { by: OPERATOR },
    example: { sequence: 6, status: 'returned' },
  },
  'order.payment_failed': {
    summary: 'The charge was refused',
    details: { code: orNull(STRING) },
    atTimes: { retry_after_seconds: INTEGER },
    example: { payment_status: 'failed' },
  },
  'order.refunded': {
    summary: 'The fee was given back',
    example: { sequence: 5, status: 'cancelled', payment_status: 'refunded' },
  },
};

/** The event that `POST /webhooks/{id}/test` sends: of a store's webhook, or of an organization's. */
export const TEST_WEBHOOK = named(
  titleOf(WEBHOOK_TEST_TYPE),
  object({
    type: { type: 'string', const: WEBHOOK_TEST_TYPE },
    timestamp: TIME,
    data: object({ webhook_id: ID }, { retailer_id: ID, organization_id: ID }),
  }),
);

/** The body of a webhook. */
export function webhookBody(type: string): JsonSchema {
  return named(titleOf(type), object(membersOf(type)));
}

/** The same as `GET /events` shows it. */
export function eventBody(type: string): JsonSchema {
  return named(`${titleOf(type)}Event`, object({ cursor: STRING, ...membersOf(type) }));
}

function membersOf(type: string): Schemas {
  const { details = {}, atTimes = {} } = WEBHOOKS[type] ?? {};
  const data = {
    order_id: ID,
    retailer_id: ID,
    sequence: INTEGER,
    status: ORDER_STATUS,
    payment_status: PAYMENT_STATUS,
    driver_id: orNull(ID),
    deliver_by: TIME,
    estimated_delivery: orNull(TIME_RANGE),
    ...details,
  };
  const content = named(`${titleOf(type)}Data`, object(data, atTimes));
  return { type: { type: 'string', const: type }, timestamp: TIME, data: content };
}

/** `order.picked_up` is `OrderPickedUp`. */
export function titleOf(type: string): string {
  return type.replaceAll(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase());
}
