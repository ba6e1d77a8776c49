import type { DriverActions } from '../dispatch/driver-actions.ts';
import type { Positions } from '../dispatch/positions.ts';
import { ServiceError } from '../domain/errors.ts';
import { type Authenticator, unauthorized } from '../http/credentials.ts';
import { JSON_BODY, parsed, wrongNames } from '../http/input.ts';
import { asAvailable, asWritten } from '../http/outcomes.ts';
import { schemas } from '../http/schemas.ts';
import { type Validated, valid, validate } from '../http/validate.ts';
import { validators } from '../http/validators.js';
import type { Clock } from '../postgres/clock.ts';
import type { Store } from '../store/store.ts';
import { json } from '../transport/reply.ts';
import type { Route } from '../transport/route.ts';
import type { DriverAllowances } from './allowance.ts';
import type { Driver } from './driver.ts';
import { validateDuty, validateLocation } from './input.ts';
import { driverStateOnWire } from './messages.ts';
import { getDriverDay, getDriverState, reportLocation, setDuty } from './operations.ts';

/** Most minutes that a phone's clock may be ahead of UTC or behind it; the last of all days ends at −12 h. */
const MAX_UTC_OFFSET_MINUTES = 14 * 60;

/** A driver's duty, position and order: `PUT /driver/duty`, `POST /driver/location`, `GET /driver/orders`. */
export function driverDutyRoutes(parts: {
  readonly drivers: Pick<Authenticator<Driver>, 'authenticate'>;
  readonly actions: Pick<DriverActions, 'setDuty'>;
  readonly positions: Pick<Positions, 'report' | 'last'>;
  readonly store: Pick<Store, 'findDriverState'>;
  readonly allowances: DriverAllowances;
  readonly clock: Clock;
}): Route<Driver>[] {
  const { actions, positions, store, clock } = parts;
  const { messages, requests } = parts.allowances;
  const { authenticate } = parts.drivers;

  const duty: Route<Driver> = {
    method: 'put',
    pattern: '/driver/duty',
    operation: setDuty,
    authenticate,
    admit: requests.admit,
    onDeadline: 'outcome_unknown',
    body: JSON_BODY,
    async handle({ principal, body }) {
      const { onDuty, until } = valid(validateDuty(parsed(body), clock.now()));
      const written = actions.setDuty(principal.driverId, onDuty, until);
      if (!(await asWritten(written, 'Send it again; that is safe.'))) await refuseDuty(principal.driverId, onDuty);
      return json(200, { success: true, on_duty: onDuty, on_duty_until: until?.toISOString() ?? null });
    },
  };

  /** One who was deactivated with a parcel in hand is off duty, stays so, and is signed in until it ends. */
  async function refuseDuty(driverId: string, onDuty: boolean): Promise<void> {
    if (!(await asAvailable(store.findDriverState(driverId)))) throw unauthorized('driver token');
    if (onDuty) throw new ServiceError('illegal_transition', 'You are not a driver here any more: end your order.');
  }

  const location: Route<Driver> = {
    method: 'post',
    pattern: '/driver/location',
    operation: reportLocation,
    authenticate,
    admit: messages.admit,
    body: JSON_BODY,
    handle({ principal, body }) {
      const outcome = positions.report(principal.driverId, valid(validateLocation(parsed(body))));
      if (outcome === 'unknown_driver') throw new ServiceError('unavailable', 'This driver is not known here yet.');
      return json(200, { success: true, taken: outcome === 'taken' });
    },
  };

  const orders: Route<Driver> = {
    method: 'get',
    pattern: '/driver/orders',
    operation: getDriverState,
    authenticate,
    admit: requests.admit,
    async handle({ principal }) {
      const state = await asAvailable(store.findDriverState(principal.driverId));
      if (!state) throw unauthorized('driver token');
      return json(200, { success: true, ...driverStateOnWire(state, positions.last(principal.driverId), clock.now()) });
    },
  };

  return [duty, location, orders];
}

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
