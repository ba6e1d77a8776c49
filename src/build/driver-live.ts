import { hashSecret } from '../domain/ids.ts';
import { validateDriverLocation } from '../http/driver-input.ts';
import type { Sql } from '../store/connect.ts';
import { findDriverByToken, findDriverState } from '../store/drivers.ts';
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
    findState: (driverId) => findDriverState(sql, driverId),
    now,
    failed,
  });
  closers.add('driver sockets', () => live.close());
  return live;
}
