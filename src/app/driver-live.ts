import { ServiceError } from '../domain/errors.ts';
import { hashSecret } from '../domain/ids.ts';
import { createDriverLive, type DriverLive } from '../driver-app/live.ts';
import { validateDriverLocation } from '../http/driver-input.ts';
import { MAX_LIVE_READS_PER_STATEMENT, MAX_LIVE_STATEMENTS } from '../limits.ts';
import { batched, limitConcurrency } from '../postgres/batched-reads.ts';
import type { Clock } from '../postgres/clock.ts';
import type { Store } from '../store/store.ts';
import type { Closers } from './closers.ts';
import type { CredentialCaches } from './credential-caches.ts';
import type { Dispatch } from './dispatch.ts';

/** The drivers' WebSocket on the operations of this process. */
export function openDriverLive(
  store: Pick<Store, 'findDriverStates'>,
  drivers: CredentialCaches['drivers'],
  dispatch: Pick<Dispatch, 'positions' | 'actions'>,
  clock: Clock,
  failed: (error: unknown) => void,
  closers: Closers,
): DriverLive {
  const live = createDriverLive({
    authenticate: (token, address) => drivers.find(hashSecret(token), address).catch(laterIfGuessing),
    validateReport: validateDriverLocation,
    report: dispatch.positions.report,
    setDuty: dispatch.actions.setDuty,
    findState: batched(
      store.findDriverStates,
      (driverId) => driverId,
      MAX_LIVE_READS_PER_STATEMENT,
      limitConcurrency(MAX_LIVE_STATEMENTS),
    ),
    now: clock.now,
    failed,
  });
  closers.add('driver sockets', () => live.close());
  return live;
}

/** An address that guesses is nothing that went wrong here. */
function laterIfGuessing(error: unknown): 'later' {
  if (error instanceof ServiceError && error.code === 'rate_limited') return 'later';
  throw error;
}
