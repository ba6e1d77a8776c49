import type { ActionOutcome, DriverAction, DriverActions } from '../dispatch/driver-actions.ts';
import type { Redispatch } from '../dispatch/redispatch.ts';
import type { SilentRelease } from '../dispatch/sweep.ts';
import type { OrderStatus } from '../domain/order.ts';
import type { Photos } from '../photos/open-photos.ts';
import type { Clock } from '../postgres/clock.ts';
import type { Store } from '../store/store.ts';
import { drawPhoto } from './simulated-world.ts';

/** The statuses to which an order can be moved on, by the one that it has; the first by default. */
export const ADVANCES = {
  pending_dispatch: ['driver_assigned', 'expired'],
  driver_assigned: ['picked_up', 'pending_dispatch'],
  picked_up: ['delivered', 'undeliverable'],
  undeliverable: ['returned'],
} as const satisfies Partial<Record<OrderStatus, readonly [OrderStatus, ...OrderStatus[]]>>;

type Step = (typeof ADVANCES)[keyof typeof ADVANCES][number];

/**
 * What an order is that has taken a step, as its driver may have moved it on since. Whether one was taken from
 * its driver does not show in its status: it may have the next one.
 */
const TAKEN: Readonly<Record<Exclude<Step, 'pending_dispatch'>, readonly OrderStatus[]>> = {
  driver_assigned: ['driver_assigned', 'picked_up', 'delivered', 'undeliverable', 'returned'],
  expired: ['expired'],
  picked_up: ['picked_up', 'delivered', 'undeliverable', 'returned'],
  delivered: ['delivered'],
  undeliverable: ['undeliverable', 'returned'],
  returned: ['returned'],
};

export type AdvanceOutcome =
  | { readonly kind: 'done'; readonly status: OrderStatus }
  | { readonly kind: 'not_found' }
  /** It has ended, or it changed at the same moment, or no driver is free. */
  | { readonly kind: 'illegal'; readonly status: OrderStatus }
  /** Its window has not begun, and the handover was not asked for by name. */
  | { readonly kind: 'too_early'; readonly deliverAfter: Date };

/** Moves a store's order on, to its next step or to the one that is asked for. */
export type Advance = (orderId: string, retailerId: string, to: OrderStatus | null) => Promise<AdvanceOutcome>;

/**
 * Moves orders of the sandbox on without waiting: by the driver who has the order, as their phone would, and
 * past the limits of a wait and of a driver's silence. The next step of an order for later is that it is due. The
 * times that the store sent stay as they are.
 */
export function createAdvance(deps: {
  readonly store: Pick<Store, 'findStoreOrder' | 'endWait' | 'makeDue'>;
  readonly actions: Pick<DriverActions, 'pickUp' | 'deliver' | 'undeliverable' | 'returned'>;
  readonly redispatch: Pick<Redispatch, 'giveAtOnce' | 'expire'>;
  readonly releaseSilent: SilentRelease;
  /** Where the photo of a handover is stored. */
  readonly photos: Pick<Photos, 'store'>;
  readonly clock: Pick<Clock, 'now'>;
}): Advance {
  const { store, actions, redispatch } = deps;
  const photo = drawPhoto();

  return async function advance(orderId, retailerId, to) {
    const order = await store.findStoreOrder(orderId, retailerId);
    if (!order) return { kind: 'not_found' };
    const { status } = order;
    const steps: readonly Step[] = status in ADVANCES ? ADVANCES[status as keyof typeof ADVANCES] : [];
    const step = to === null ? steps[0] : steps.find((each) => each === to);
    if (!step) return { kind: 'illegal', status };
    const deliverAfter = order.deliver_after as Date | null;
    const isTooEarly = deliverAfter !== null && deliverAfter.getTime() > deps.clock.now();
    if (step === 'delivered' && to === null && isTooEarly) return { kind: 'too_early', deliverAfter };
    const isMadeDue = step === 'driver_assigned' && (await store.makeDue(orderId));
    const outcome = await take(step, orderId, (order.driver_id as string | null) ?? '');
    const after = await store.findStoreOrder(orderId, retailerId);
    if (!after) return { kind: 'not_found' };
    const isTaken = step === 'pending_dispatch' ? outcome === true : TAKEN[step].includes(after.status);
    const isDue = isMadeDue && to === null && after.status === 'pending_dispatch';
    return { kind: isTaken || isDue ? 'done' : 'illegal', status: after.status };
  };

  /** Takes one step; one that another was faster than changes nothing. True where a driver lost the order. */
  async function take(step: Step, orderId: string, driverId: string): Promise<unknown> {
    const action: DriverAction = { orderId, driverId, stamp: { actionId: null, capturedAt: null } };
    switch (step) {
      case 'driver_assigned':
        return redispatch.giveAtOnce(orderId);
      case 'expired':
        return (await store.endWait(orderId)) && redispatch.expire(orderId);
      case 'pending_dispatch':
        return deps.releaseSilent(orderId, driverId, 0);
      case 'picked_up':
        return actions.pickUp(action);
      case 'delivered':
        return deliver(action);
      case 'undeliverable':
        return actions.undeliverable(action, 'nobody_home');
      case 'returned':
        return actions.returned(action);
    }
  }

  async function deliver(action: DriverAction): Promise<ActionOutcome | null> {
    const stored = await deps.photos.store(await photo, () => true, action.driverId);
    return stored.kind === 'stored' ? actions.deliver(action, { name: stored.name, isBlank: false }) : null;
  }
}
