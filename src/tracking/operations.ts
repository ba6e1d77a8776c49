import { UNDELIVERABLE_REASONS } from '../domain/order.ts';
import { ORDER_STATUS } from '../http/openapi/order-schemas.ts';
import {
  BOOLEAN,
  choice,
  INTEGER,
  listOf,
  named,
  object,
  orNull,
  POINT,
  STRING,
  success,
  TIME,
} from '../http/openapi/schema.ts';
import { schemas } from '../http/schemas.ts';
import type { Operation } from '../transport/operation.ts';

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

export const getTracking: Operation = {
  id: 'getTracking',
  tag: 'Tracking',
  summary: 'What the customer may know of an order',
  secret: 'tracking_token',
  replies: { 200: success({ order: VIEW }) },
  errors: ['not_found', 'gone'],
};

export const getTrackingPhoto: Operation = {
  id: 'getTrackingPhoto',
  tag: 'Tracking',
  summary: 'The photo of the handover',
  secret: 'tracking_token',
  replies: { 200: { contentType: 'image/jpeg' } },
  errors: ['not_found', 'gone'],
};

const { dropoff_instructions, leave_at_door } = schemas.changeDropoff.properties;

export const changeDropoffNotes: Operation = {
  id: 'changeDropoffNotes',
  tag: 'Tracking',
  summary: "Change the customer's notes for the door, until the pickup",
  description: 'Both fields replace what is there. Null and an empty text are no instructions.',
  secret: 'tracking_token',
  body: named('ChangeDropoff', {
    ...schemas.changeDropoff,
    properties: { dropoff_instructions: orNull(dropoff_instructions), leave_at_door },
  }),
  replies: { 200: success({ order: VIEW }) },
  errors: ['not_found', 'gone', 'illegal_transition', 'rate_limited'],
};
