import type { ActionOutcome, DriverActions } from '../../src/dispatch/driver-actions.ts';
import { driverActionRoutes } from '../../src/driver-app/action-routes.ts';
import { createDriverAllowances } from '../../src/driver-app/allowance.ts';
import { driverDutyRoutes } from '../../src/driver-app/duty-routes.ts';
import { PhotoTurns } from '../../src/driver-app/photo-turns.ts';
import type { Route } from '../../src/transport/route.ts';
import { driverState } from '../harness/driver-state.ts';

type Parts = Parameters<typeof driverDutyRoutes>[0] & Parameters<typeof driverActionRoutes>[0];

/** The routes of a driver's duty and actions; what a test does not give works. */
export function driverRoutes(given: Pick<Parts, 'drivers' | 'actions'> & Partial<Parts>, now = Date.now): Route[] {
  const parts: Parts = {
    positions: { report: () => 'taken', last: () => null },
    store: { findDriverState: async () => driverState(true) },
    photos: {
      store: async () => ({ kind: 'stored', name: 'photo', isBlank: false }),
      discard: async () => undefined,
      failureCause: () => null,
    },
    allowances: createDriverAllowances(now),
    clock: { now },
    photoTurns: new PhotoTurns(now),
    ...given,
  };
  return [...driverDutyRoutes(parts), ...driverActionRoutes(parts)];
}

/** Actions that all end as `act` does, each on an order that waits for it. */
export function actionsBy(act: () => Promise<ActionOutcome>): Omit<DriverActions, 'setDuty'> {
  const foreseeDelivery = async () => null;
  return { pickUp: act, foreseeDelivery, deliver: act, release: act, undeliverable: act, returned: act };
}
