import { canBecome, type OrderStatus } from '../domain/order.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { ChangedOrder } from '../store/changes.ts';

/** What became of a driver's action on an order; only `done` changed anything. */
export type ActionOutcome =
  | { readonly kind: 'done'; readonly status: OrderStatus; readonly sequence: number }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'illegal'; readonly status: OrderStatus };

export type DriverActions = {
  setDuty(driverId: string, onDuty: boolean): Promise<{ readonly onDuty: boolean } | null>;
  pickUp(driverId: string, orderId: string): Promise<ActionOutcome>;
  /** Whether the driver could deliver this order now, asked before a photo is stored. */
  mayDeliver(driverId: string, orderId: string): Promise<ActionOutcome>;
  deliver(driverId: string, orderId: string, photoName: string): Promise<ActionOutcome>;
};

/** What a driver does with the order he was given. Each action is one conditional write; the memory follows it. */
export function createDriverActions(deps: {
  readonly matcher: Matcher;
  readonly now: () => number;
  readonly store: {
    setDuty(driverId: string, onDuty: boolean): Promise<{ onDuty: boolean } | null>;
    pickUp(orderId: string, driverId: string): Promise<ChangedOrder | null>;
    deliver(orderId: string, driverId: string, photoName: string): Promise<ChangedOrder | null>;
    findState(orderId: string): Promise<{ status: OrderStatus; driverId: string | null } | null>;
  };
  readonly touched: (driverId: string) => void;
  readonly changed: (orderId: string, driverId: string) => void;
  readonly dutyChanged: (driverId: string) => void;
  readonly driverAvailable: (driverId: string) => void;
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

  /** A foreign order is not found; the driver's own in the wrong status is illegal. */
  async function check(driverId: string, orderId: string, to: OrderStatus): Promise<ActionOutcome> {
    const state = await store.findState(orderId);
    if (!state || state.driverId !== driverId) return { kind: 'not_found' };
    if (!canBecome(state.status, to)) return { kind: 'illegal', status: state.status };
    return { kind: 'done', status: state.status, sequence: 0 };
  }

  async function act(
    driverId: string,
    orderId: string,
    to: OrderStatus,
    write: () => Promise<ChangedOrder | null>,
  ): Promise<ActionOutcome> {
    const changed = await write();
    if (!changed) {
      const state = await check(driverId, orderId, to);
      // It would be legal now, but was not when the write looked: somebody else is changing it.
      return state.kind === 'done' ? { kind: 'illegal', status: state.status } : state;
    }
    return { kind: 'done', status: changed.status, sequence: changed.sequence };
  }

  return {
    setDuty,
    async pickUp(driverId, orderId) {
      const outcome = await act(driverId, orderId, 'picked_up', () => store.pickUp(orderId, driverId));
      if (outcome.kind === 'done') deps.changed(orderId, driverId);
      return outcome;
    },
    mayDeliver: (driverId, orderId) => check(driverId, orderId, 'delivered'),
    async deliver(driverId, orderId, photoName) {
      const outcome = await act(driverId, orderId, 'delivered', () => store.deliver(orderId, driverId, photoName));
      if (outcome.kind !== 'done') return outcome;
      matcher.release(driverId, deps.now(), orderId);
      deps.touched(driverId);
      deps.changed(orderId, driverId);
      deps.driverAvailable(driverId);
      return outcome;
    },
  };
}
