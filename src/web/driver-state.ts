/** What a driver's phone is told, as `GET /driver/orders` and the socket's `state` message say it. */
export type DriverState = { readonly on_duty: boolean; readonly order: DriverOrder | null };

export type DriverOrder = {
  readonly id: string;
  readonly status: string;
  readonly sequence: number;
  readonly delivery_tier: string;
  readonly driver_payout_cents: number;
  readonly store_name: string;
  readonly pickup: { readonly address: string; readonly lat: number; readonly lng: number };
  readonly dropoff: {
    readonly name: string;
    readonly phone: string;
    readonly line1: string;
    readonly line2: string | null;
    readonly city: string;
    readonly state: string;
    readonly zip: string;
  };
};

/** What a driver does with an order; the last part of its address under `/driver/orders/{id}/`. */
export type ActionKind = 'pick-up' | 'deliver' | 'release' | 'undeliverable' | 'return';

/** Something the driver did, kept until the service has answered it. */
export type Action = {
  /** Ours, so that sending it twice changes nothing. */
  readonly id: string;
  /** Actions are sent in this order. */
  readonly number: number;
  readonly orderId: string;
  readonly kind: ActionKind;
  readonly reason: string | null;
  /** When the driver did it, by the phone's clock, ISO 8601. */
  readonly capturedAt: string;
  /** The photo of a delivery, a JPEG. Bytes and no Blob: not every browser keeps a Blob over a restart. */
  readonly photo: ArrayBuffer | null;
};

/** How far an order is by the service's own answer to an action. */
export type Progress = { readonly orderId: string; readonly status: string; readonly sequence: number };

/** The status after an action, where the driver still carries the order then. */
const STATUS_AFTER: Record<ActionKind, string | null> = {
  'pick-up': 'picked_up',
  undeliverable: 'undeliverable',
  deliver: null,
  release: null,
  return: null,
};
const CARRIED = new Set(['driver_assigned', 'picked_up', 'undeliverable']);

/** Whether a driver has the order while it is in this status. */
export function isCarried(status: string): boolean {
  return CARRIED.has(status);
}

/** What the phone shows: the order as it is once everything done here has been sent, and what ended it if that waits. */
export type Shown = {
  readonly order: DriverOrder | null;
  readonly ended: { readonly kind: ActionKind; readonly order: DriverOrder } | null;
};

/** The state with the actions that the service has not answered yet; those on other orders change nothing. */
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
 * The order as the service tells it, unless its answer to an action was later: what comes over the socket and what
 * answers an action travel apart and may overtake each other.
 */
export function notBefore(order: DriverOrder | null, progress: Progress | null): DriverOrder | null {
  if (!order || order.id !== progress?.orderId || order.sequence >= progress.sequence) return order;
  return isCarried(progress.status) ? { ...order, status: progress.status, sequence: progress.sequence } : null;
}
