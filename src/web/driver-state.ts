import { ACTIVE_STATUSES } from '../domain/order.ts';
/** A driver's state, as in `GET /driver/orders` and in the socket's `state` message. */
export type DriverState = { readonly on_duty: boolean; readonly order: DriverOrder | null };

export type DriverOrder = {
  readonly id: string;
  readonly status: string;
  readonly sequence: number;
  readonly delivery_tier: string;
  readonly driver_payout_cents: number;
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
  /** Actions are sent in this order. */
  readonly number: number;
  readonly orderId: string;
  readonly kind: ActionKind;
  readonly reason: string | null;
  /** When it was done by the phone's clock, ISO 8601. */
  readonly capturedAt: string;
  /** The photo of a delivery as JPEG. Bytes, because not every browser keeps a Blob over a restart. */
  readonly photo: ArrayBuffer | null;
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

/**
 * What the phone shows: the order as it will be once all actions are sent, and an unsent action that ends it.
 */
export type Shown = {
  readonly order: DriverOrder | null;
  readonly ended: { readonly kind: ActionKind; readonly order: DriverOrder } | null;
};

/** Applies the unanswered actions to the order; those on other orders change nothing. */
export function withActions(order: DriverOrder | null, actions: readonly Action[]): Shown {
  let shown: Shown = { order, ended: null };
  for (const { orderId, kind } of actions) {
    const current = shown.order;
    if (current?.id !== orderId) continue;
    const status = STATUS_AFTER[kind];
    shown =
      status === null
        ? { order: null, ended: { kind, order: current } }
        : { order: { ...current, status }, ended: null };
  }
  return shown;
}

/**
 * The order as the service states it, unless its answer to an action is newer: the socket and the answers are
 * separate and may overtake each other.
 */
export function notBefore(order: DriverOrder | null, progress: Progress | null): DriverOrder | null {
  if (!order || order.id !== progress?.orderId || order.sequence >= progress.sequence) return order;
  return isCarried(progress.status) ? { ...order, status: progress.status, sequence: progress.sequence } : null;
}

/**
 * The order with the customer whom an earlier message named. One that comes later, before the pickup and away
 * from the store, leaves them out.
 */
export function withKnownCustomer(order: DriverOrder | null, known: DriverOrder | null): DriverOrder | null {
  if (!order || order.id !== known?.id || order.dropoff.name !== null) return order;
  return { ...order, items: known.items ?? null, dropoff: known.dropoff };
}

/** The state as the phone keeps it once the driver needs the customer no more: the address stays for maps. */
export function withoutCustomer({ on_duty, order }: DriverState): DriverState {
  if (!order) return { on_duty, order };
  const nobody = { name: null, phone: null, line2: null, instructions: null, leave_at_door: null };
  return { on_duty, order: { ...order, items: null, dropoff: { ...order.dropoff, ...nobody } } };
}
