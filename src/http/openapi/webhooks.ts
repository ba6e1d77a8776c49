import { CANCEL_REASONS, UNDELIVERABLE_REASONS } from '../../domain/order.ts';
import type { JsonSchema } from '../../transport/operation.ts';
import { ORDER_STATUS, PAYMENT_STATUS } from './order-schemas.ts';
import { choice, ID, INTEGER, named, object, orNull, STRING, TIME } from './schema.ts';

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
  'order.assigned': {
    summary: 'A driver has the order',
    example: { sequence: 2, status: 'driver_assigned', payment_status: 'processing' },
  },
  'order.picked_up': { summary: 'The driver has the parcel', example: { status: 'picked_up' } },
  'order.delivered': { summary: 'The parcel was handed over', example: { sequence: 5, status: 'delivered' } },
  'order.cancelled': {
    summary: 'The order was called off before the pickup',
    details: { by: choice(['store', 'operator']), reason: choice(CANCEL_REASONS) },
    example: { status: 'cancelled' },
  },
  'order.expired': {
    summary: 'No driver took the order in time',
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
    summary: 'The charge was refused for good',
    details: { code: orNull(STRING) },
    example: { payment_status: 'failed' },
  },
  'order.refunded': {
    summary: 'The fee was given back',
    example: { sequence: 5, status: 'cancelled', payment_status: 'refunded' },
  },
};

/** The body of a webhook. */
export function webhookBody(type: string): JsonSchema {
  const { details = {}, atTimes = {} } = WEBHOOKS[type] ?? {};
  const data = {
    order_id: ID,
    retailer_id: ID,
    sequence: INTEGER,
    status: ORDER_STATUS,
    payment_status: PAYMENT_STATUS,
    driver_id: orNull(ID),
    ...details,
  };
  const body = { type: { type: 'string', const: type }, timestamp: TIME, data: object(data, atTimes) };
  return named(titleOf(type), object(body));
}

/** `order.picked_up` is `OrderPickedUp`. */
export function titleOf(type: string): string {
  return type.replaceAll(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase());
}
