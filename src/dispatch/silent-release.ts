import type { Store } from '../store/store.ts';
import type { Fleet } from './fleet.ts';
import type { Redispatch, RedispatchParts } from './redispatch.ts';

/**
 * Takes an order before its pickup from a driver of whom nothing was heard for `silentMs`, and offers it
 * anew; false if the driver was heard or has picked it up.
 */
export type SilentRelease = (orderId: string, driverId: string, silentMs: number) => Promise<boolean>;

export type SilentReleaseParts = Pick<RedispatchParts, 'matcher' | 'unknownOutcomes' | 'relay' | 'events' | 'clock'> & {
  readonly store: Pick<Store, 'releaseFromSilent'>;
  readonly fleet: Pick<Fleet, 'markStale'>;
  readonly redispatch: Pick<Redispatch, 'requeue'>;
};

/** One conditional write; memory follows it. */
export function createSilentRelease(parts: SilentReleaseParts): SilentRelease {
  const { store, matcher, clock } = parts;

  return async function releaseSilent(orderId, driverId, silentMs) {
    const write = store.releaseFromSilent(orderId, driverId, silentMs);
    const released = await parts.unknownOutcomes.watch(orderId, write);
    if (!released) return false;
    parts.relay.relay(released.outbox);
    matcher.release(driverId, clock.now(), orderId);
    parts.fleet.markStale(driverId);
    parts.events.orderChanged(orderId, driverId);
    parts.events.orderTaken(driverId);
    await parts.redispatch.requeue(orderId);
    return true;
  };
}
