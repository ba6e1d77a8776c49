import type { DriverActions } from '../../dispatch/driver-actions.ts';
import type { PositionReport, ReportOutcome } from '../../dispatch/positions.ts';
import { ServiceError } from '../../domain/errors.ts';
import { MAX_JSON_BYTES } from '../../limits.ts';
import type { DriverOrder } from '../../store/drivers.ts';
import { json } from '../../transport/reply.ts';
import type { RequestHead, Route } from '../../transport/route.ts';
import { unauthorized } from '../credentials.ts';
import { validateDriverDuty, validateDriverLocation } from '../driver-input.ts';
import { parsed, valid } from '../input.ts';
import { asAvailable, asWritten } from '../outcomes.ts';

export type Driver = { readonly driverId: string };
type State = { readonly onDuty: boolean; readonly order: DriverOrder | null };

/** Duty, position and the order being carried, for a driver's phone. */
export function driverRoutes(deps: {
  readonly authenticate: (head: RequestHead) => Promise<Driver>;
  readonly setDuty: DriverActions['setDuty'];
  readonly report: (driverId: string, report: PositionReport) => ReportOutcome;
  readonly findState: (driverId: string) => Promise<State | null>;
  readonly toWire: (state: State) => object;
}): Route<Driver>[] {
  const { authenticate } = deps;
  const jsonBody = { contentTypes: ['application/json'], maxBytes: MAX_JSON_BYTES };

  const duty: Route<Driver> = {
    method: 'put',
    pattern: '/driver/duty',
    authenticate,
    onDeadline: 'outcome_unknown',
    body: jsonBody,
    async handle({ principal, body }) {
      const { onDuty } = valid(validateDriverDuty(parsed(body)));
      const result = await asWritten(deps.setDuty(principal.driverId, onDuty), 'Send it again; that is safe.');
      if (!result) throw unauthorized('driver token');
      return json(200, { success: true, on_duty: result.onDuty });
    },
  };

  const location: Route<Driver> = {
    method: 'post',
    pattern: '/driver/location',
    authenticate,
    body: jsonBody,
    handle({ principal, body }) {
      const outcome = deps.report(principal.driverId, valid(validateDriverLocation(parsed(body))));
      if (outcome === 'unknown_driver') throw new ServiceError('unavailable', 'This driver is not known here yet.');
      return json(200, { success: true, taken: outcome === 'taken' });
    },
  };

  const orders: Route<Driver> = {
    method: 'get',
    pattern: '/driver/orders',
    authenticate,
    async handle({ principal }) {
      const state = await asAvailable(deps.findState(principal.driverId));
      if (!state) throw unauthorized('driver token');
      return json(200, { success: true, ...deps.toWire(state) });
    },
  };

  return [duty, location, orders];
}
