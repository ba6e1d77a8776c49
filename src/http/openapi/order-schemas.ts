import { TEXT_KINDS, TEXT_STATUSES } from '../../domain/customer-text.ts';
import { DROPOFF_POINT_SOURCES } from '../../domain/dropoff.ts';
import { HOLD_REASONS } from '../../domain/hold.ts';
import {
  CANCEL_REASONS,
  ORDER_STATUSES,
  PAYMENT_STATUSES,
  PICKUP_POINT_SOURCES,
  UNDELIVERABLE_REASONS,
} from '../../domain/order.ts';
import { REJECTION_REASONS } from '../../domain/rejected-candidate.ts';
import { TIER_IDS } from '../../domain/tier.ts';
import { SIZES, VEHICLES } from '../../domain/vehicle.ts';
import { WAIT_REASONS } from '../../matcher/wait-reason.ts';
import type { JsonSchema } from '../../transport/operation.ts';
import { ORDER_EVENTS } from './order-events.ts';
import {
  BOOLEAN,
  choice,
  ID,
  INTEGER,
  ITEM,
  listOf,
  named,
  object,
  orNull,
  POINT,
  STRING,
  TIME,
  TIME_RANGE,
  TRACKING_TOKEN,
} from './schema.ts';

/** Every reason in `reason_code`; that of an expired order is `no_driver`. */
export const REASON_CODES = [...new Set([...CANCEL_REASONS, ...UNDELIVERABLE_REASONS, 'no_driver'])];
/** What became of an order's text. */
export const SMS_STATUSES = ['none', ...TEXT_STATUSES] as const;

export const ORDER_STATUS = named('OrderStatus', choice(ORDER_STATUSES));
export const PAYMENT_STATUS = named('PaymentStatus', choice(PAYMENT_STATUSES));

/** What every view of an order has. */
const base = {
  id: ID,
  status: ORDER_STATUS,
  delivery_tier: choice(TIER_IDS),
  delivery_fee: INTEGER,
  payment_status: PAYMENT_STATUS,
  external_id: orNull(STRING),
  created_at: TIME,
  deliver_by: TIME,
  estimated_delivery: orNull(TIME_RANGE),
};

/** Of an order that waits. */
export const waiting = { waiting_because: choice([...WAIT_REASONS, ...HOLD_REASONS]) };

const link = { tracking_token: TRACKING_TOKEN, tracking_url: STRING };

/** The order in the reply to its creation. */
export const CREATED_ORDER = named('CreatedOrder', object({ ...base, ...link }, waiting));

/** Of an order that an organization reads; one that a store reads has its link. */
const whose = { retailer_id: ID };

const ended = { driver_id: orNull(ID), reason_code: orNull(choice(REASON_CODES)) };

/** An order of a list. */
export const LISTED_ORDER = named(
  'ListedOrder',
  object(
    { ...base, ...ended, sms_status: choice(SMS_STATUSES), updated_at: TIME },
    { ...waiting, ...whose, tracking_token: TRACKING_TOKEN },
  ),
);

const CUSTOMER = object({ name: STRING, email: STRING, phone: STRING, sms_opt_in: BOOLEAN });
const ADDRESS = object({ line1: STRING, line2: orNull(STRING), city: STRING, state: STRING, zip: STRING });
const DROPOFF_POINT = object({
  lat: { type: 'number' },
  lng: { type: 'number' },
  accuracy_meters: INTEGER,
  source: choice(DROPOFF_POINT_SOURCES),
});

const TEXT = object({
  kind: choice(TEXT_KINDS),
  status: choice(TEXT_STATUSES),
  failure_code: orNull(STRING),
  at: TIME,
});
const DRIVER = object({ id: ID, first_name: orNull(STRING), vehicle: choice(VEHICLES) });
const DRIVER_POSITION = object({
  lat: { type: 'number' },
  lng: { type: 'number' },
  precision: choice(['exact', 'approximate']),
  at: TIME,
});
/** What a store said of an order beyond the contract's fields. */
const extras = {
  metadata: { type: 'object', additionalProperties: STRING },
  items: listOf(ITEM),
  pickup_instructions: orNull(STRING),
  dropoff_instructions: orNull(STRING),
  leave_at_door: BOOLEAN,
  size: choice(SIZES),
  ready_at: orNull(TIME),
  deliver_after: orNull(TIME),
};

const ASSIGNMENT = object({
  at: TIME,
  driver_id: ID,
  distance_meters: INTEGER,
  passed_over: object({}, Object.fromEntries(REJECTION_REASONS.map((reason) => [reason, INTEGER]))),
});

/** An order as `GET /orders/{id}` shows it. */
export const ORDER = named(
  'Order',
  object(
    {
      ...base,
      ...ended,
      ...extras,
      payment_failure_code: orNull(STRING),
      charge_id: orNull(STRING),
      refund_id: orNull(STRING),
      sms_status: choice(SMS_STATUSES),
      sms_failure_code: orNull(STRING),
      texts: listOf(TEXT),
      driver_name: orNull(STRING),
      driver: orNull(DRIVER),
      driver_position: orNull(DRIVER_POSITION),
      arrival: orNull(TIME_RANGE),
      customer_id: ID,
      customer: CUSTOMER,
      pickup_address: STRING,
      pickup_point: POINT,
      pickup_point_source: choice(PICKUP_POINT_SOURCES),
      dropoff_address_id: ID,
      dropoff_address: ADDRESS,
      dropoff_point: orNull(DROPOFF_POINT),
      proof_distance_meters: orNull(INTEGER),
      dispatch: listOf(ASSIGNMENT),
      cancelled_by: orNull(choice(['store', 'operator'])),
      sequence: INTEGER,
      assigned_at: orNull(TIME),
      picked_up_at: orNull(TIME),
      delivered_at: orNull(TIME),
      undeliverable_at: orNull(TIME),
      ended_at: orNull(TIME),
      updated_at: TIME,
      expires_at: orNull(TIME),
      dispatch_from: orNull(TIME),
      events: listOf({ oneOf: Object.entries(ORDER_EVENTS).map(([type, data]) => orderEvent(type, data)) }),
    },
    { ...waiting, ...whose, ...link },
  ),
);

function orderEvent(type: string, data: JsonSchema): JsonSchema {
  return object({ sequence: INTEGER, type: { type: 'string', const: type }, at: TIME, data });
}
