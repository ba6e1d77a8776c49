import { canBecome, type OrderStatus, type ReleaseReason, type UndeliverableReason } from '../domain/order.ts';
import { MAX_ACTION_TRIES } from '../limits.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { ChangedOrder } from '../store/changes.ts';
import type { ActionStamp } from '../store/lifecycle.ts';
import type { OutboxRow } from '../store/outbox.ts';

/** What became of a driver's action on an order; only `done` changed anything, now or when it was first sent. */
export type ActionOutcome =
  | { readonly kind: 'done'; readonly status: OrderStatus; readonly sequence: number; readonly repeated: boolean }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'illegal'; readonly status: OrderStatus };

/** An action on one order: by whom, on which, and what the phone said of it. */
export type DriverAction = { readonly driverId: string; readonly orderId: string; readonly stamp: ActionStamp };

export type DriverActions = {
  setDuty(driverId: string, onDuty: boolean): Promise<{ readonly onDuty: boolean } | null>;
  pickUp(action: DriverAction): Promise<ActionOutcome>;
  /** What a delivery would come to now, asked before a photo is stored: null where it is to be tried. */
  foreseeDelivery(action: DriverAction): Promise<ActionOutcome | null>;
  deliver(action: DriverAction, photoName: string): Promise<ActionOutcome>;
  release(action: DriverAction, reason: ReleaseReason): Promise<ActionOutcome>;
  undeliverable(action: DriverAction, reason: UndeliverableReason): Promise<ActionOutcome>;
  returned(action: DriverAction): Promise<ActionOutcome>;
};

type Write = Promise<ChangedOrder | null>;

/** The tables, as the actions read and write them. */
export type ActionStore = {
  setDuty(driverId: string, onDuty: boolean): Promise<{ onDuty: boolean } | null>;
  pickUp(action: DriverAction): Write;
  deliver(action: DriverAction, photoName: string): Write;
  release(action: DriverAction, reason: ReleaseReason): Write;
  undeliverable(action: DriverAction, reason: UndeliverableReason): Write;
  returned(action: DriverAction): Write;
  findState(orderId: string): Promise<{ status: OrderStatus; driverId: string | null } | null>;
  findAction(
    driverId: string,
    actionId: string,
  ): Promise<{ orderId: string; status: OrderStatus; sequence: number } | null>;
};

/** What a driver does with the order he was given. Each action is one conditional write; the memory follows it. */
export function createDriverActions(deps: {
  readonly matcher: Matcher;
  readonly now: () => number;
  readonly store: ActionStore;
  readonly touched: (driverId: string) => void;
  readonly changed: (orderId: string, driverId: string) => void;
  readonly dutyChanged: (driverId: string) => void;
  readonly driverAvailable: (driverId: string) => void;
  readonly relay: (rows: readonly OutboxRow[]) => void;
  /** The order waits again, without the driver who gave it back. */
  readonly waitsAgain: (orderId: string) => void;
}): DriverActions {
  const { matcher, store } = deps;

  async function setDuty(driverId: string, onDuty: boolean) {
    const result = await store.setDuty(driverId, onDuty);
    if (!result) return null;
    matcher.setDuty(driverId, onDuty, deps.now());
    deps.touched(driverId);
    deps.dutyChanged(driverId);
    if (onDuty) deps.driverAvailable(driverId);
    return result;
  }

  /** The write, and where it changed nothing the reason: sent before, not his, or not in this status. */
  async function act(action: DriverAction, to: OrderStatus, write: () => Write): Promise<ActionOutcome> {
    const { driverId, orderId } = action;
    for (let tries = 1; ; tries++) {
      const changed = await write();
      if (changed) {
        deps.relay(changed.outbox);
        deps.changed(orderId, driverId);
        return { kind: 'done', status: changed.status, sequence: changed.sequence, repeated: false };
      }
      const known = await foresee(action, to);
      if (known) return known;
      // It would be legal by now and was not when the write looked: the step before it was made in between.
      if (tries === MAX_ACTION_TRIES) return explainRace(action);
    }
  }

  /**
   * Repeating an action gets its first answer; a foreign order is not found; one in the wrong status is illegal. The state
   * is read first: should the same action be done by another request meanwhile, it is found behind the state it left.
   */
  async function foresee({ driverId, orderId, stamp }: DriverAction, to: OrderStatus): Promise<ActionOutcome | null> {
    const state = await store.findState(orderId);
    const earlier = stamp.actionId === null ? null : await store.findAction(driverId, stamp.actionId);
    // An id that was used for another step says nothing of this one.
    if (earlier?.orderId === orderId && earlier.status === to) {
      return { kind: 'done', status: earlier.status, sequence: earlier.sequence, repeated: true };
    }
    if (!state || state.driverId !== driverId) return { kind: 'not_found' };
    return canBecome(state.status, to) ? null : { kind: 'illegal', status: state.status };
  }

  /** Somebody changed it under every try; what it is by now says as much as can be said. */
  async function explainRace({ orderId }: DriverAction): Promise<ActionOutcome> {
    const state = await store.findState(orderId);
    return state ? { kind: 'illegal', status: state.status } : { kind: 'not_found' };
  }

  /** The driver carries nothing any more: he takes what waits. Also after a repetition, should the first answer be lost. */
  function freed({ driverId, orderId }: DriverAction): void {
    matcher.release(driverId, deps.now(), orderId);
    deps.touched(driverId);
    deps.driverAvailable(driverId);
  }

  return {
    setDuty,
    pickUp: (action) => act(action, 'picked_up', () => store.pickUp(action)),
    foreseeDelivery: (action) => foresee(action, 'delivered'),
    async deliver(action, photoName) {
      const outcome = await act(action, 'delivered', () => store.deliver(action, photoName));
      if (outcome.kind === 'done') freed(action);
      return outcome;
    },
    async release(action, reason) {
      const outcome = await act(action, 'pending_dispatch', () => store.release(action, reason));
      if (outcome.kind === 'done') {
        deps.waitsAgain(action.orderId);
        freed(action);
      }
      return outcome;
    },
    undeliverable: (action, reason) => act(action, 'undeliverable', () => store.undeliverable(action, reason)),
    async returned(action) {
      const outcome = await act(action, 'returned', () => store.returned(action));
      if (outcome.kind === 'done') freed(action);
      return outcome;
    },
  };
}
