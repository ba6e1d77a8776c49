import { UNDELIVERABLE_REASONS } from '../domain/order.ts';
import { ORDER_STATUS } from '../http/openapi/order-schemas.ts';
import {
  BOOLEAN,
  choice,
  INTEGER,
  listOf,
  named,
  object,
  operations,
  orNull,
  POINT,
  STRING,
  TIME,
} from '../http/openapi/schema.ts';
import { schemas } from '../http/schemas.ts';

/** What `/openapi.json` says of the tracking page's data: `TrackingView`. */

const STAGE = object({
  id: choice(['ordered', 'driver_assigned', 'picked_up', 'delivered', 'not_delivered']),
  label: STRING,
  state: choice(['done', 'current', 'upcoming', 'failed']),
  at: orNull(TIME),
});

const POSITION = object({
  lat: { type: 'number' },
  lng: { type: 'number' },
  precision: choice(['exact', 'approximate']),
  at: TIME,
  age_ms: INTEGER,
});

const VIEW = named(
  'TrackingView',
  object({
    sequence: INTEGER,
    status: ORDER_STATUS,
    final: BOOLEAN,
    headline: STRING,
    detail: STRING,
    stages: listOf(STAGE),
    store_name: STRING,
    pickup: POINT,
    home: orNull(POINT),
    driver: orNull(object({ first_name: orNull(STRING), position: orNull(POSITION) })),
    stops_before: orNull(INTEGER),
    is_planned: BOOLEAN,
    was_released: BOOLEAN,
    reason: orNull(choice(UNDELIVERABLE_REASONS)),
    arrival: orNull(object({ earliest_minutes: INTEGER, latest_minutes: INTEGER })),
    deliver_by: orNull(STRING),
    photo_url: orNull(STRING),
    dropoff_notes: orNull(object({ instructions: orNull(STRING), leave_at_door: BOOLEAN })),
  }),
);

const operation = operations({ tag: 'Tracking', secret: 'tracking_token', errors: ['not_found', 'gone'] });

export const getTracking = operation('getTracking', 'What the customer may know of an order', {
  reply: { order: VIEW },
});

export const getTrackingPhoto = operation('getTrackingPhoto', 'The photo of the handover', {
  replies: { 200: { contentType: 'image/jpeg' } },
});

const { dropoff_instructions, leave_at_door } = schemas.changeDropoff.properties;

export const changeDropoffNotes = operation(
  'changeDropoffNotes',
  "Change the customer's notes for the door, until the pickup",
  {
    description: 'Both fields replace what is there. Null and an empty text are no instructions.',
    body: named('ChangeDropoff', {
      ...schemas.changeDropoff,
      properties: { dropoff_instructions: orNull(dropoff_instructions), leave_at_door },
    }),
    reply: { order: VIEW },
    errors: ['not_found', 'gone', 'illegal_transition', 'rate_limited'],
  },
);
