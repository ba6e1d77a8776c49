import type { DriverActions } from '../dispatch/driver-actions.ts';
import type { Positions } from '../dispatch/positions.ts';
import { ServiceError } from '../domain/errors.ts';
import { type Authenticator, unauthorized } from '../http/credentials.ts';
import { parsed } from '../http/input.ts';
import { asAvailable, asWritten } from '../http/outcomes.ts';
import { valid } from '../http/validate.ts';
import { MAX_JSON_BYTES } from '../limits.ts';
import type { Clock } from '../postgres/clock.ts';
import type { Store } from '../store/store.ts';
import { json } from '../transport/reply.ts';
import type { Route } from '../transport/route.ts';
import type { DriverAllowances } from './allowance.ts';
import type { Driver } from './driver.ts';
import { validateDuty, validateLocation } from './input.ts';
import { driverStateOnWire } from './messages.ts';
import { getDriverState, reportLocation, setDuty } from './operations.ts';

const JSON_BODY = { contentTypes: ['application/json'], maxBytes: MAX_JSON_BYTES };

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
