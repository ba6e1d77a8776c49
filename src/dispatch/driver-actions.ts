import { canBecome, type OrderStatus, type ReleaseReason, type UndeliverableReason } from '../domain/order.ts';
import { type HandoverPhoto, type JudgedStep, type Receipt, withPhoto } from '../domain/payout.ts';
import { STEPS } from '../domain/route.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Relay } from '../queues/relay.ts';
import type { ChangedOrder } from '../store/orders/changes.ts';
import type { ActionStamp } from '../store/orders/driver-action.ts';
import type { Store } from '../store/store.ts';
import type { Fleet } from './fleet.ts';
import type { OrderEvents } from './order-events.ts';
import type { Receipts } from './receipts.ts';
import type { Redispatch } from './redispatch.ts';
import type { UnknownOutcomes } from './unknown-outcomes.ts';

/** Most attempts of an action while the step before it is being written. An order has three steps. */
const MAX_ACTION_TRIES = 3;

/** The result of a driver's action. Only `done` changed the order, now or when the action was first sent. */
export type ActionOutcome =
  | { readonly kind: 'done'; readonly status: OrderStatus; readonly sequence: number; readonly repeated: boolean }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'too_many_releases'; readonly retryAfterSeconds: number }
  | { readonly kind: 'illegal'; readonly status: OrderStatus };

/** A driver's action on an order. */
export type DriverAction = { readonly driverId: string; readonly orderId: string; readonly stamp: ActionStamp };

export type DriverActions = ReturnType<typeof createDriverActions>;

/** The statements of the actions. */
export type ActionStore = Pick<
  Store,
  | 'setDriverDuty'
  | 'pickUpOrder'
  | 'pickUpLate'
  | 'deliverOrder'
  | 'releaseOrder'
  | 'findReleasePause'
  | 'markUndeliverable'
  | 'returnOrder'
  | 'findOrderState'
  | 'findAction'
>;

/** The actions of drivers. Each is one conditional write; memory follows it. */
export function createDriverActions(deps: {
  readonly store: ActionStore;
  readonly matcher: Pick<Matcher, 'driver' | 'setStep' | 'holderOf' | 'unwait'>;
  readonly fleet: Pick<Fleet, 'refreshDrivers' | 'markStale'>;
  readonly redispatch: Pick<Redispatch, 'driverAvailable' | 'driverFreed' | 'orderReleased' | 'recheckDriver'>;
  readonly receipts: Receipts;
  /** Releases within an hour after which a driver has to wait; 0 for no bound. */
  readonly releasesPerHour: number;
  readonly unknownOutcomes: Pick<UnknownOutcomes, 'watch' | 'addDriver'>;
  readonly relay: Pick<Relay, 'relay'>;
  readonly events: Pick<OrderEvents, 'orderChanged' | 'driverChanged' | 'orderTaken'>;
  /** Time from a step to the text of it; 0 by default. */
  readonly textDelaySeconds?: number;
}) {
  const { matcher, store, redispatch, textDelaySeconds = 0 } = deps;

  /** @param until when the driver goes home; null for one who does not say */
  async function setDuty(driverId: string, onDuty: boolean, until: Date | null = null) {
    const result = await store.setDriverDuty(driverId, onDuty, until).catch((error) => {
      // It may be written all the same: the change feed reads the driver, now and with the notice.
      deps.unknownOutcomes.addDriver(driverId);
      throw error;
    });
    if (!result) return null;
    // The reply waits for memory to know it.
    await deps.fleet.refreshDrivers([driverId]).catch(() => deps.unknownOutcomes.addDriver(driverId));
    deps.events.driverChanged(driverId);
    if (onDuty) redispatch.driverAvailable(driverId);
    return result;
  }

  /** Makes the write of a step that is judged. */
  function step(
    action: DriverAction,
    to: JudgedStep,
    write: (receipt: Receipt | null) => Promise<ChangedOrder | null>,
  ): Promise<ActionOutcome> {
    return act(action, to, async () => write(await deps.receipts(to, action)));
  }

  /** The pickup of a driver who lost the order while nobody heard of them; null where they may not have it. */
  async function pickUpLate(action: DriverAction): Promise<ActionOutcome | null> {
    const { driverId, orderId, stamp } = action;
    const receipt = await deps.receipts('picked_up', action);
    const write = store.pickUpLate(orderId, driverId, stamp, receipt, textDelaySeconds);
    const changed = await deps.unknownOutcomes.watch(orderId, write);
    if (!changed) return null;
    const loser = matcher.holderOf(orderId);
    deps.relay.relay(changed.outbox);
    matcher.unwait(orderId);
    if (loser !== undefined && loser !== driverId) {
      deps.events.driverChanged(loser);
      deps.events.orderTaken(loser);
      redispatch.driverFreed(loser, orderId);
    }
    redispatch.recheckDriver(driverId);
    deps.events.orderChanged(orderId, driverId);
    return { kind: 'done', status: changed.status, sequence: changed.sequence, repeated: false };
  }

  /** Follows the end of a driver's order; one who was deactivated meanwhile leaves memory with it. */
  function freed(driverId: string, orderId: string): void {
    redispatch.driverFreed(driverId, orderId);
    if (matcher.driver(driverId)?.onDuty === false) redispatch.recheckDriver(driverId);
  }

  /**
   * Makes the write, and explains one that changed nothing.
   *
   * @param forbidden why the driver may not do what is legal for the order; null if they may
   */
  async function act(
    action: DriverAction,
    to: OrderStatus,
    write: () => Promise<ChangedOrder | null>,
    forbidden: () => Promise<ActionOutcome | null> = async () => null,
  ): Promise<ActionOutcome> {
    const { driverId, orderId } = action;
    for (let tries = 1; ; tries++) {
      const changed = await deps.unknownOutcomes.watch(orderId, write());
      if (changed) {
        deps.relay.relay(changed.outbox);
        const step = STEPS[to];
        if (step) {
          matcher.setStep(driverId, orderId, step);
          deps.fleet.markStale(driverId);
        }
        deps.events.orderChanged(orderId, driverId);
        return { kind: 'done', status: changed.status, sequence: changed.sequence, repeated: false };
      }
      const known = (await foresee(action, to)) ?? (await forbidden());
      if (known) return known;
      // The action is legal now but was not at its write: the step before it was recorded in between.
      if (tries === MAX_ACTION_TRIES) return explainRace(action);
    }
  }

  /**
   * The result of an action that would change nothing; null if it is legal. A repeated action gets its first
   * result.
   *
   * The order's state is read before the action: if another request does the same action in between, the
   * action is found, whatever the state says.
   */
  async function foresee({ driverId, orderId, stamp }: DriverAction, to: OrderStatus): Promise<ActionOutcome | null> {
    const state = await store.findOrderState(orderId);
    const earlier = stamp.actionId === null ? null : await store.findAction(driverId, stamp.actionId);
    // An action id that was used for another step does not make this one a repetition.
    if (earlier?.orderId === orderId && earlier.status === to) {
      return { kind: 'done', status: earlier.status, sequence: earlier.sequence, repeated: true };
    }
    if (!state || state.driverId !== driverId) return { kind: 'not_found' };
    return canBecome(state.status, to) ? null : { kind: 'illegal', status: state.status };
  }

  /** Why the driver may not release an order now; null if they may. */
  async function tooManyReleases(driverId: string): Promise<ActionOutcome | null> {
    const retryAfterSeconds = await store.findReleasePause(driverId, deps.releasesPerHour);
    return retryAfterSeconds > 0 ? { kind: 'too_many_releases', retryAfterSeconds } : null;
  }

  /** The result if the order changed during each of MAX_ACTION_TRIES attempts. */
  async function explainRace({ orderId }: DriverAction): Promise<ActionOutcome> {
    const state = await store.findOrderState(orderId);
    return state ? { kind: 'illegal', status: state.status } : { kind: 'not_found' };
  }

  return {
    setDuty,
    async pickUp(action: DriverAction): Promise<ActionOutcome> {
      const { orderId, driverId, stamp } = action;
      const write = (receipt: Receipt | null) => store.pickUpOrder(orderId, driverId, stamp, receipt, textDelaySeconds);
      const outcome = await step(action, 'picked_up', write);
      if (outcome.kind !== 'not_found') return outcome;
      // Meanwhile the same action may have been done, or the order be theirs again.
      return (await pickUpLate(action)) ?? step(action, 'picked_up', write);
    },
    /** The result of a delivery if it is known before the write, so before a photo is stored; else null. */
    foreseeDelivery: (action: DriverAction) => foresee(action, 'delivered'),
    /** @param photo one that shows nothing, or none, holds the payout */
    async deliver(action: DriverAction, photo: HandoverPhoto | null): Promise<ActionOutcome> {
      const { orderId, driverId, stamp } = action;
      const write = (receipt: Receipt | null) =>
        store.deliverOrder(orderId, driverId, photo?.name ?? null, stamp, withPhoto(receipt, photo), textDelaySeconds);
      const outcome = await step(action, 'delivered', write);
      // Also for a repeated action, as the first request may have ended before this.
      if (outcome.kind === 'done') freed(driverId, orderId);
      return outcome;
    },
    async release(action: DriverAction, reason: ReleaseReason): Promise<ActionOutcome> {
      const { orderId, driverId, stamp } = action;
      const write = () => store.releaseOrder(orderId, driverId, reason, stamp, deps.releasesPerHour);
      const outcome = await act(action, 'pending_dispatch', write, () => tooManyReleases(driverId));
      if (outcome.kind === 'done') {
        redispatch.orderReleased(orderId);
        redispatch.driverFreed(driverId, orderId);
      }
      return outcome;
    },
    undeliverable(action: DriverAction, reason: UndeliverableReason): Promise<ActionOutcome> {
      const { orderId, driverId, stamp } = action;
      const write = (receipt: Receipt | null) =>
        store.markUndeliverable(orderId, driverId, reason, stamp, receipt, textDelaySeconds);
      return step(action, 'undeliverable', write);
    },
    async returned(action: DriverAction): Promise<ActionOutcome> {
      const { orderId, driverId, stamp } = action;
      const write = (receipt: Receipt | null) => store.returnOrder(orderId, driverId, stamp, receipt);
      const outcome = await step(action, 'returned', write);
      if (outcome.kind === 'done') freed(driverId, orderId);
      return outcome;
    },
  };
}
