import { ACTIVE_STATUSES } from '../../domain/order.ts';

/** A place where the driver stops; several pickups at one store are one stop. */
export type Stop = {
  readonly kind: 'pickup' | 'dropoff' | 'return';
  /** Null for a door whose customer the service has not named. */
  readonly lat: number | null;
  readonly lng: number | null;
  /** By how much a door's point may be off. A service of before does not say. */
  readonly accuracy_m?: number | null;
  readonly order_ids: readonly string[];
};

/** Where a driver without an order is asked to wait: a store's pickup, and its name where that is known. */
export type WaitPlace = { readonly lat: number; readonly lng: number; readonly name: string | null };

/**
 * A driver's state, as in `GET /driver/orders` and in the socket's `state` message. A service of before, and
 * the page of before in what it kept, state a single order and no stops.
 */
export type ToldState = {
  /** A service of before does not say. */
  readonly driver_id?: string;
  /** A service of before does not say. */
  readonly driver_name?: string | null;
  readonly on_duty: boolean;
  readonly on_duty_until?: string | null;
  readonly order?: DriverOrder | null;
  readonly orders?: readonly DriverOrder[];
  readonly stops?: readonly Stop[];
  readonly wait_at?: WaitPlace | null;
};

/** What a driver did on one day, as `GET /driver/day` says it. */
export type Day = { readonly deliveries: number; readonly earnings_cents: number; readonly held_cents: number };

/** The state as the page holds and keeps it. */
export type DriverState = {
  /** Null where it is not known yet. */
  readonly driver_id: string | null;
  /** Null where it is not known. */
  readonly driver_name: string | null;
  readonly on_duty: boolean;
  /** When the driver goes off duty by themselves, ISO 8601; null where they did not say. */
  readonly on_duty_until: string | null;
  readonly orders: readonly DriverOrder[];
  /** In the order of driving. */
  readonly stops: readonly Stop[];
  /** Null where nothing is asked. */
  readonly wait_at: WaitPlace | null;
};

export function stateOf(told: ToldState): DriverState {
  const { driver_id, driver_name, on_duty, on_duty_until, order, orders, stops, wait_at } = told;
  return {
    driver_id: driver_id ?? null,
    driver_name: driver_name ?? null,
    on_duty,
    on_duty_until: on_duty_until ?? null,
    orders: orders ?? (order ? [order] : []),
    stops: stops ?? [],
    wait_at: wait_at ?? null,
  };
}

export type DriverOrder = {
  readonly id: string;
  readonly status: string;
  readonly sequence: number;
  readonly delivery_tier: string;
  readonly driver_payout_cents: number;
  /** When it is promised, ISO 8601. A service of before does not say. */
  readonly deliver_by?: string | null;
  readonly store_name: string;
  /** Null like the customer's name. A state that the page of before kept has none. */
  readonly items?: readonly { readonly name: string; readonly quantity: number }[] | null;
  readonly pickup: {
    readonly address: string;
    readonly lat: number;
    readonly lng: number;
    readonly instructions?: string | null;
  };
  /** Name, phone, unit and notes are null until the service names them, near the store or with the pickup. */
  readonly dropoff: {
    readonly name: string | null;
    readonly phone: string | null;
    readonly line1: string;
    readonly line2: string | null;
    readonly city: string;
    readonly state: string;
    readonly zip: string;
    readonly instructions?: string | null;
    readonly leave_at_door?: boolean | null;
  };
};

/** An action on an order, by the last segment of its path `/driver/orders/{id}/…`. */
export type ActionKind = 'pick-up' | 'deliver' | 'release' | 'undeliverable' | 'return';

/** An action of the driver, kept until the service has answered it. */
export type Action = {
  /** Made by the phone, so that sending it twice changes nothing. */
  readonly id: string;
  /** The actions on an order are sent in this order. */
  readonly number: number;
  /** Who did it: nobody else sends it. Null, or missing in what the page of before kept, where that is not known. */
  readonly driverId?: string | null;
  readonly orderId: string;
  /** Missing in what the page of before kept. */
  readonly storeName?: string | null;
  readonly kind: ActionKind;
  readonly reason: string | null;
  /** When it was done by the phone's clock, ISO 8601. */
  readonly capturedAt: string;
  /** The photo of a delivery as JPEG. Bytes, because not every browser keeps a Blob over a restart. */
  readonly photo: ArrayBuffer | null;
  /** Why the service did not take it. It is kept until the driver has seen that. */
  readonly refusal?: Refusal;
};

/** Why the service does not take an action. */
export type Refusal = {
  /** One of the service's error codes; null where it names none. */
  readonly code: string | null;
  /** The service's sentence. */
  readonly message: string;
  /** Seconds after which it may be done again, where the service says so. */
  readonly retryAfterSeconds: number | null;
};

/** The state of an order by the service's answer to an action. */
export type Progress = { readonly orderId: string; readonly status: string; readonly sequence: number };

/** The status after an action; null where the driver no longer carries the order. */
const STATUS_AFTER: Record<ActionKind, string | null> = {
  'pick-up': 'picked_up',
  undeliverable: 'undeliverable',
  deliver: null,
  release: null,
  return: null,
};
const CARRIED: ReadonlySet<string> = new Set(ACTIVE_STATUSES);

/** Whether a driver carries an order of this status. */
export function isCarried(status: string): boolean {
  return CARRIED.has(status);
}

/** What the driver carries once all actions are sent, and the last unsent action that ends an order. */
export type Shown = {
  readonly orders: readonly DriverOrder[];
  readonly ended: { readonly kind: ActionKind; readonly order: DriverOrder } | null;
};

/** Applies the unanswered actions to the orders; those on others change nothing. */
export function withActions(orders: readonly DriverOrder[], actions: readonly Action[]): Shown {
  const left = new Map(orders.map((order) => [order.id, order]));
  let ended: Shown['ended'] = null;
  for (const { orderId, kind } of actions) {
    const order = left.get(orderId);
    if (!order) continue;
    const status = STATUS_AFTER[kind];
    if (status !== null) {
      left.set(orderId, { ...order, status });
      continue;
    }
    left.delete(orderId);
    ended = { kind, order };
  }
  return { orders: [...left.values()], ended };
}

/**
 * The order as the service states it, unless its answer to an action is newer: the socket and the answers are
 * separate and may overtake each other. Null where it has ended by then.
 *
 * @param progress the last answer to an action on this order
 */
export function notBefore(order: DriverOrder, progress: Progress | undefined): DriverOrder | null {
  if (!progress || order.sequence >= progress.sequence) return order;
  return isCarried(progress.status) ? { ...order, status: progress.status, sequence: progress.sequence } : null;
}

/**
 * The order with the customer whom an earlier message named. One that comes later, before the pickup and away
 * from the store, leaves them out.
 */
export function withKnownCustomer(order: DriverOrder, known: DriverOrder | undefined): DriverOrder {
  if (!known || order.dropoff.name !== null) return order;
  return { ...order, items: known.items ?? null, dropoff: known.dropoff };
}

type Dropoff = Required<DriverOrder['dropoff']>;
/** The compiler asks for each field that the service may hold back. */
const NOBODY: { readonly [Field in keyof Dropoff as null extends Dropoff[Field] ? Field : never]: null } = {
  name: null,
  phone: null,
  line2: null,
  instructions: null,
  leave_at_door: null,
};

/**
 * The state as the phone keeps it once the driver needs some customers no more: their addresses stay for maps.
 *
 * @param isOver whether the driver is done with an order
 */
export function withoutCustomers(state: DriverState, isOver: (orderId: string) => boolean): DriverState {
  const orders = state.orders.map((order) =>
    isOver(order.id) ? { ...order, items: null, dropoff: { ...order.dropoff, ...NOBODY } } : order,
  );
  return { ...state, orders };
}
