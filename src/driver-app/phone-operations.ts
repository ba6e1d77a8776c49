import { BOOLEAN, object, operations, STRING } from '../http/openapi/schema.ts';
import { schemas } from '../http/schemas.ts';

/** What `/openapi-drivers.json` says of the phone's routes. */

const phone = operations({ tag: 'Phone', secret: 'driver_token', errors: ['rate_limited'] });
const open = operations({ tag: 'Phone', secret: 'none', errors: ['unauthorized', 'rate_limited'] });

export const signInByLink = open('signInByLink', 'Exchange the code of a sign-in link for a token', {
  description: 'Once. The same `attempt` again gets the same token, as the first reply may have been lost.',
  body: schemas.driverSignIn,
  reply: { driver_token: STRING },
  errors: ['unauthorized'],
});

export const getPushKey = phone('getPushKey', 'The key with which the service signs its pushes', {
  reply: { public_key: STRING },
});

export const addPush = phone('addPush', 'Ring this phone for the driver', { body: schemas.pushSubscription });

export const removePush = phone('removePush', 'Ring this phone no more, or none without an endpoint', {
  body: schemas.pushEndpoint,
});

export const reportByQuery = open('reportByQuery', 'Report a position as a tracking app does, by the query', {
  reply: { taken: BOOLEAN },
  query: object({}, { id: STRING, lat: STRING, lon: STRING, timestamp: STRING, accuracy: STRING, valid: STRING }),
});

export const reportByTracker = open(
  'reportByTracker',
  'Report a position as Traccar Client does, by the query, a form or JSON',
  { reply: { taken: BOOLEAN } },
);
