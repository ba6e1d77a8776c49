import type { ErrorCode } from '../../domain/errors.ts';
import { type Choice, type Door, ordersAt, stopsLeft } from './route.ts';
import {
  type Action,
  type DriverOrder,
  type DriverState,
  isCarried,
  notBefore,
  type Progress,
  type Shown,
  type Stop,
  stateOf,
  withActions,
  withKnownCustomer,
  withoutCustomers,
} from './state.ts';
import { kept } from './store.ts';

export type OrdersListener = {
  /** The driver got orders, which are shown from now on; `isFirst` where they had none. */
  gained(orders: readonly DriverOrder[], isFirst: boolean): void;
  /** The driver lost orders, and not by an action on this phone. */
  lost(orders: readonly DriverOrder[]): void;
};

/**
 * Most answers to actions that are remembered, above what a driver carries with one of before for each: a
 * message that was on its way for longer than so many actions is not worth a thought.
 */
const MAX_PROGRESS = 100;
const NONE: DriverState = stateOf({ on_duty: false });

/** Refusals after which the order may not be the driver's any more. */
const NOT_THEIRS: ReadonlySet<string> = new Set<ErrorCode>(['not_found', 'illegal_transition']);

/** The orders that a driver carries: what the service says, and what the driver did since. */
export class Orders {
  readonly #queue: { readonly waiting: readonly Action[] };
  readonly #listener: OrdersListener;
  /** The last answer to an action on each order, the latest last. */
  readonly #progress = new Map<string, Progress>();
  /** The orders of actions that were refused for them: the driver knows why, and is not told again of their loss. */
  readonly #refusedIds = new Set<string>();
  #state: DriverState;
  #door: Door | null = kept.door();
  #choice: Choice | null = null;
  #isAside = false;

  constructor(state: DriverState | null, queue: { readonly waiting: readonly Action[] }, listener: OrdersListener) {
    this.#state = state ?? NONE;
    this.#queue = queue;
    this.#listener = listener;
    // What waits to be sent is not read yet, so nothing is known of the order's status.
    if (!this.#state.orders.some(({ id }) => id === this.#door?.orderId)) this.#keepDoor(null);
  }

  /** As the service states it, without what waits to be sent. */
  get state(): DriverState {
    return this.#state;
  }

  /** The order at whose door the driver stands. */
  get door(): Door | null {
    return this.#door;
  }

  /** What is on the screen: orders and stops that are left, the next stop first. */
  get shown(): Shown & { readonly stops: readonly Stop[] } {
    const shown = withActions(ordersAt(this.#state.orders, this.#door), this.#queue.waiting);
    const choice = this.#door ? { kind: 'dropoff' as const, orderId: this.#door.orderId } : this.#choice;
    return { ...shown, stops: stopsLeft(this.#state.stops, shown.orders, choice) };
  }

  arrive(orderId: string): void {
    if (this.#door?.orderId === orderId) return;
    this.#keepDoor({ orderId, knownIds: this.#state.orders.map(({ id }) => id) });
  }

  /** The handover is over, or the driver is not there after all: what the route has gained meanwhile is shown. */
  leaveDoor(): void {
    const seen = ordersAt(this.#state.orders, this.#door);
    this.#keepDoor(null);
    this.#tellGained(seen);
  }

  choose(choice: Choice): void {
    this.#choice = choice;
  }

  /** Takes the state as the service tells it. */
  take(told: DriverState): void {
    const before = this.#state.orders;
    const seen = ordersAt(before, this.#door);
    const orders = told.orders.flatMap((each) => {
      const order = notBefore(each, this.#progress.get(each.id));
      const known = before.find(({ id }) => id === each.id);
      return order ? [withKnownCustomer(order, known)] : [];
    });
    this.#state = { ...told, orders };
    this.#keep();
    const lost = seen.filter(({ id }) => !orders.some((order) => order.id === id) && !this.#endedHere(id));
    for (const { id } of orders) this.#refusedIds.delete(id);
    this.#checkDoor();
    if (lost.length > 0) this.#listener.lost(lost);
    this.#tellGained(seen);
  }

  /** Notes that actions on these orders wait to be sent. */
  acted(orderIds: readonly string[]): void {
    this.#keep();
    if (this.#door && orderIds.includes(this.#door.orderId)) this.leaveDoor();
  }

  /** Notes the service's answer to an action; `take` the state again after it. */
  answered(progress: Progress): void {
    this.#progress.delete(progress.orderId);
    this.#progress.set(progress.orderId, progress);
    const [oldest] = this.#progress.keys();
    if (this.#progress.size > MAX_PROGRESS && oldest !== undefined) this.#progress.delete(oldest);
  }

  refused({ orderId, refusal }: Action): void {
    if (NOT_THEIRS.has(refusal?.code ?? '')) this.#refusedIds.add(orderId);
    this.#keep();
  }

  /** The driver goes on with another phone, so this one forgets their customers. */
  standAside(): void {
    this.#isAside = true;
    this.#keep();
  }

  /** Keeps the state for the next page; a customer only while the driver has their order on this phone. */
  #keep(): void {
    const carried = withActions(this.#state.orders, this.#queue.waiting).orders;
    const isOver = (orderId: string) => this.#isAside || !carried.some(({ id }) => id === orderId);
    kept.keepState(withoutCustomers(this.#state, isOver));
  }

  /** Tells of the orders that are shown now and were not among those `seen`. */
  #tellGained(seen: readonly DriverOrder[]): void {
    const gained = ordersAt(this.#state.orders, this.#door).filter(({ id }) => !seen.some((order) => order.id === id));
    if (gained.length > 0) this.#listener.gained(gained, seen.length === 0);
  }

  /** Leaves the door of an order that the driver does not have any more. */
  #checkDoor(): void {
    const { orders } = withActions(this.#state.orders, this.#queue.waiting);
    if (this.#door && !orders.some(({ id, status }) => id === this.#door?.orderId && status === 'picked_up')) {
      this.#keepDoor(null);
    }
  }

  #keepDoor(door: Door | null): void {
    this.#door = door;
    kept.keepDoor(door);
  }

  /** Whether an order ended by an action on this phone, or by the answer to one. */
  #endedHere(orderId: string): boolean {
    if (this.#refusedIds.has(orderId)) return true;
    const { status } = this.#progress.get(orderId) ?? {};
    return (
      (status !== undefined && !isCarried(status)) || this.#queue.waiting.some((action) => action.orderId === orderId)
    );
  }
}
