import { hashSecret } from '../domain/ids.ts';
import { validateDriverLocation } from '../http/driver-input.ts';
import { MAX_LIVE_READ_TOGETHER, MAX_LIVE_STATEMENTS } from '../limits.ts';
import type { Sql } from '../store/connect.ts';
import { findDriverByToken, findDriverStates } from '../store/drivers.ts';
import { createLane, together } from '../store/together.ts';
import { createDriverLive, type DriverLive } from '../tracking/driver-live.ts';
import type { Closers } from './closers.ts';
import type { Dispatch } from './dispatch.ts';

/** The drivers' WebSocket on the operations of this process. */
export function openDriverLive(
  sql: Sql,
  dispatch: Dispatch,
  now: () => number,
  failed: (error: unknown) => void,
  closers: Closers,
): DriverLive {
  const live = createDriverLive({
    authenticate: (token) => findDriverByToken(sql, hashSecret(token)),
    validateReport: validateDriverLocation,
    report: dispatch.positions.report,
    setDuty: dispatch.actions.setDuty,
    findState: together(
      (driverIds: readonly string[]) => findDriverStates(sql, driverIds),
      (driverId) => driverId,
      MAX_LIVE_READ_TOGETHER,
      createLane(MAX_LIVE_STATEMENTS),
    ),
    now,
    failed,
  });
  closers.add('driver sockets', () => live.close());
  return live;
}
