import type { ErrorCode } from '../domain/errors.ts';
import { ACTIVE_STATUSES } from '../domain/order.ts';
import { ORDER_STATUS } from '../http/openapi/order-schemas.ts';
import {
  BOOLEAN,
  choice,
  ID,
  INTEGER,
  ITEM,
  listOf,
  named,
  object,
  operations,
  orNull,
  STRING,
  success,
} from '../http/openapi/schema.ts';
import { schemas } from '../http/schemas.ts';
import type { Operation } from '../transport/operation.ts';

/** What `/openapi-drivers.json` says of the drivers' routes. */

const ORDER = named(
  'DriverOrder',
  object({
    id: ID,
    status: choice(ACTIVE_STATUSES),
    sequence: INTEGER,
    delivery_tier: STRING,
    driver_payout_cents: INTEGER,
    store_name: STRING,
    deliver_by: STRING,
    items: orNull(listOf(ITEM)),
    pickup: object({
      address: STRING,
      lat: { type: 'number' },
      lng: { type: 'number' },
      instructions: orNull(STRING),
    }),
    dropoff: object({
      name: orNull(STRING),
      phone: orNull(STRING),
      line1: STRING,
      line2: orNull(STRING),
      city: STRING,
      state: STRING,
      zip: STRING,
      instructions: orNull(STRING),
      leave_at_door: orNull(BOOLEAN),
    }),
  }),
);

const STOP = object({
  kind: choice(['pickup', 'dropoff', 'return']),
  lat: orNull({ type: 'number' }),
  lng: orNull({ type: 'number' }),
  accuracy_m: orNull({ type: 'number' }),
  order_ids: listOf(ID),
});

const operation = operations({ tag: 'Driver', secret: 'driver_token', errors: ['rate_limited'] });

export const setDuty = operation('setDuty', 'Come on duty or go off duty', {
  body: schemas.driverDuty,
  reply: { on_duty: BOOLEAN, on_duty_until: orNull(STRING) },
  errors: ['illegal_transition', 'rate_limited'],
});

export const reportLocation = operation('reportLocation', 'Report a position', {
  body: schemas.driverLocation,
  reply: { taken: BOOLEAN },
});

export const getDriverState = operation('getDriverState', "The driver's duty and order", {
  reply: {
    driver_id: ID,
    driver_name: STRING,
    on_duty: BOOLEAN,
    on_duty_until: orNull(STRING),
    capacity: INTEGER,
    order: orNull(ORDER),
    orders: listOf(ORDER),
    stops: listOf(STOP),
    version: STRING,
    wait_at: orNull(object({ lat: { type: 'number' }, lng: { type: 'number' }, name: orNull(STRING) })),
  },
});

export const getDriverDay = operation('getDriverDay', 'What the driver did and earned today', {
  query: schemas.driverDay,
  reply: {
    day: object({ deliveries: INTEGER, returns: INTEGER, earnings_cents: INTEGER, held_cents: INTEGER }),
  },
});

/** An action on an order, with what is sent beside it. */
function action(
  id: string,
  summary: string,
  sent: Pick<Operation, 'body' | 'query'> = { body: schemas.driverAction },
  errors: readonly ErrorCode[] = [],
): Operation {
  return {
    id,
    summary,
    ...sent,
    secret: 'driver_token',
    tag: 'Actions',
    replies: { 200: success({ order: object({ status: ORDER_STATUS, sequence: INTEGER }) }) },
    errors: ['not_found', 'illegal_transition', 'rate_limited', ...errors],
  };
}

/** The actions on an order by the last segment of their address. */
export const driverActions = {
  'pick-up': action('pickUpOrder', 'The parcel was picked up'),
  release: action('releaseOrder', 'Give an order back before the pickup', { body: schemas.release }, [
    'too_many_releases',
  ]),
  undeliverable: action('reportUndeliverable', 'The handover failed', { body: schemas.undeliverable }),
  return: action('returnOrder', 'The parcel is back at the store'),
  deliver: action(
    'deliverOrder',
    'The parcel was handed over; the body is the photo',
    { query: schemas.driverAction },
    ['unusable_photo'],
  ),
  'deliver-without-photo': action(
    'deliverOrderWithoutPhoto',
    'The parcel was handed over, and the camera is broken; the payout is held',
  ),
} satisfies Record<string, Operation>;
