import type { Authenticator } from '../http/credentials.ts';
import { wrongNames } from '../http/input.ts';
import { INTEGER, object, success } from '../http/openapi/schema.ts';
import { asAvailable } from '../http/outcomes.ts';
import { schemas } from '../http/schemas.ts';
import { type Validated, valid, validate } from '../http/validate.ts';
import { validators } from '../http/validators.js';
import type { Store } from '../store/store.ts';
import type { Operation } from '../transport/operation.ts';
import { json } from '../transport/reply.ts';
import type { Route } from '../transport/route.ts';
import type { DriverAllowances } from './allowance.ts';
import type { Driver } from './driver.ts';

/** Most minutes that a phone's clock may be ahead of UTC or behind it; the last of all days ends at −12 h. */
const MAX_UTC_OFFSET_MINUTES = 14 * 60;

const getDriverDay: Operation = {
  tag: 'Driver',
  secret: 'driver_token',
  id: 'getDriverDay',
  summary: 'What the driver did and earned today',
  query: schemas.driverDay,
  replies: {
    200: success({
      day: object({ deliveries: INTEGER, returns: INTEGER, earnings_cents: INTEGER, held_cents: INTEGER }),
    }),
  },
  errors: ['rate_limited'],
};

/** `GET /driver/day?utc_offset_minutes=`: what a driver did and earned since their last midnight. */
export function driverDayRoute(parts: {
  readonly drivers: Pick<Authenticator<Driver>, 'authenticate'>;
  readonly store: Pick<Store, 'findDriverDay'>;
  readonly allowances: Pick<DriverAllowances, 'requests'>;
}): Route<Driver> {
  const { drivers, store, allowances } = parts;
  return {
    method: 'get',
    pattern: '/driver/day',
    operation: getDriverDay,
    authenticate: drivers.authenticate,
    admit: allowances.requests.admit,
    async handle({ head, principal }) {
      const minutes = valid(utcOffsetOf(head.query));
      const day = await asAvailable(store.findDriverDay(principal.driverId, minutes));
      const { deliveries, returns, earningsCents, heldCents } = day;
      return json(200, {
        success: true,
        day: { deliveries, returns, earnings_cents: earningsCents, held_cents: heldCents },
      });
    },
  };
}

/** The minutes by which the driver's clock is ahead of UTC; 0 where they do not say. */
function utcOffsetOf(query: URLSearchParams): Validated<number> {
  const unknown = wrongNames(query, schemas.driverDay.properties);
  if (unknown.length > 0) return { fields: unknown };
  const checked = validate(validators.driverDay, Object.fromEntries(query));
  if ('fields' in checked) return checked;
  const minutes = Number(checked.ok.utc_offset_minutes ?? 0);
  if (Math.abs(minutes) <= MAX_UTC_OFFSET_MINUTES) return { ok: minutes };
  const message = `must be from -${MAX_UTC_OFFSET_MINUTES} to ${MAX_UTC_OFFSET_MINUTES}`;
  return { fields: [{ field: 'utc_offset_minutes', message }] };
}
