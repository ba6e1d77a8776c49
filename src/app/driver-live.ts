import type { DriverAllowances } from '../driver-app/allowance.ts';
import { createDriverLive, type DriverLive } from '../driver-app/live.ts';
import type { Clock } from '../postgres/clock.ts';
import type { Closers } from '../runtime/closers.ts';
import type { Store } from '../store/store.ts';
import type { CredentialCaches } from './credential-caches.ts';
import type { Dispatch } from './dispatch.ts';

/** Opens the drivers' WebSocket. */
export function openDriverLive(
  store: Pick<Store, 'findDriverStates'>,
  drivers: CredentialCaches['drivers'],
  dispatch: Pick<Dispatch, 'actions' | 'positions'>,
  allowances: DriverAllowances,
  clock: Clock,
  failed: (error: unknown) => void,
  closers: Closers,
): DriverLive {
  const { actions, positions } = dispatch;
  const live = createDriverLive({ drivers, actions, positions, store, allowances, now: clock.now, clock, failed });
  closers.add('driver sockets', () => live.close());
  return live;
}
