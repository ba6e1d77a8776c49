import { BOOLEAN, object, STRING, success } from '../http/openapi/schema.ts';
import { schemas } from '../http/schemas.ts';
import type { Operation } from '../transport/operation.ts';

/** What `/openapi-drivers.json` says of the phone's routes. */

const phone = { tag: 'Phone', secret: 'driver_token' } as const;
const open = { tag: 'Phone', secret: 'none' } as const;
const done: Operation['replies'] = { 200: success({}) };

export const signInByLink: Operation = {
  ...open,
  id: 'signInByLink',
  summary: 'Exchange the code of a sign-in link for a token',
  description: 'Once. The same `attempt` again gets the same token, as the first reply may have been lost.',
  body: schemas.driverSignIn,
  replies: { 200: success({ driver_token: STRING }) },
  errors: ['unauthorized'],
};

export const getPushKey: Operation = {
  ...phone,
  id: 'getPushKey',
  summary: 'The key with which the service signs its pushes',
  replies: { 200: success({ public_key: STRING }) },
  errors: ['rate_limited'],
};

export const addPush: Operation = {
  ...phone,
  id: 'addPush',
  summary: 'Ring this phone for the driver',
  body: schemas.pushSubscription,
  replies: done,
  errors: ['rate_limited'],
};

export const removePush: Operation = {
  ...phone,
  id: 'removePush',
  summary: 'Ring this phone no more, or none without an endpoint',
  body: schemas.pushEndpoint,
  replies: done,
  errors: ['rate_limited'],
};

const TRACKED = {
  replies: { 200: success({ taken: BOOLEAN }) },
  errors: ['unauthorized', 'rate_limited'],
} as const;

export const reportByQuery: Operation = {
  ...open,
  ...TRACKED,
  id: 'reportByQuery',
  summary: 'Report a position as a tracking app does, by the query',
  query: object({}, { id: STRING, lat: STRING, lon: STRING, timestamp: STRING, accuracy: STRING, valid: STRING }),
};

export const reportByTracker: Operation = {
  ...open,
  ...TRACKED,
  id: 'reportByTracker',
  summary: 'Report a position as Traccar Client does, by the query, a form or JSON',
};
