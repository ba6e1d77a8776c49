import { createDriverLive, type DriverLive } from '../driver-app/live.ts';
import type { Sql } from '../postgres/connect.ts';
import { findDriverStates } from '../store/drivers.ts';
import type { Closers } from './closers.ts';
import type { CredentialCaches } from './credential-caches.ts';
import type { Dispatch } from './dispatch.ts';

/** The drivers' WebSocket on the operations of this process. */
export function openDriverLive(
  sql: Sql,
  drivers: CredentialCaches['drivers'],
  dispatch: Dispatch,
  now: () => number,
  failed: (error: unknown) => void,
  closers: Closers,
): DriverLive {
  const { actions, positions } = dispatch;
  const store = { findDriverStates: (ids: readonly string[]) => findDriverStates(sql, ids) };
  const live = createDriverLive({ drivers, actions, positions, store, now, failed });
  closers.add('driver sockets', () => live.close());
  return live;
}
