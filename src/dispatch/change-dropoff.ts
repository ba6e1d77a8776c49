import type { DropoffNotes } from '../domain/order.ts';
import type { Store } from '../store/store.ts';
import type { OrderEvents } from './order-events.ts';
import type { UnknownOutcomes } from './unknown-outcomes.ts';

/**
 * Replaces the notes for an order's dropoff; false where that is too late, or was done MAX_DROPOFF_CHANGES
 * times.
 */
export type ChangeDropoff = (orderId: string, notes: DropoffNotes) => Promise<boolean>;

/** The driver's page and the customers' pages show the new notes at once, at every process. */
export function createChangeDropoff(deps: {
  readonly store: Pick<Store, 'changeDropoffNotes'>;
  readonly unknownOutcomes: Pick<UnknownOutcomes, 'watch'>;
  readonly events: Pick<OrderEvents, 'detailsChanged' | 'driverChanged'>;
}): ChangeDropoff {
  return async function changeDropoff(orderId, notes) {
    const changed = await deps.unknownOutcomes.watch(orderId, deps.store.changeDropoffNotes(orderId, notes));
    if (!changed) return false;
    deps.events.detailsChanged(orderId);
    if (changed.driverId !== null) deps.events.driverChanged(changed.driverId);
    return true;
  };
}
