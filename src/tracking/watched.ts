import type { DriverPosition } from '../domain/driver.ts';
import { Groups } from '../domain/groups.ts';
import type { TrackedOrder } from '../domain/tracked.ts';
import type { LiveSocket } from '../transport/live-socket.ts';

/** What is kept with the socket of an open page. */
export type Viewer = {
  readonly orderId: string;
  readonly network: string;
  watching: boolean;
  lastPingMs: number;
};

/** One order with at least one page open. */
export type Watched = {
  readonly sockets: Set<LiveSocket<Viewer>>;
  /** Sockets that have not been sent a snapshot yet. */
  readonly joining: Set<LiveSocket<Viewer>>;
  order: TrackedOrder | null;
  /** The newest position that was not published yet. */
  moved: DriverPosition | null;
  publishedMs: number;
  /** Whether the pages were told that the position is not to be seen for now. */
  isHidden: boolean;
  /** When it was read. */
  readMs: number;
  timer: NodeJS.Timeout | null;
  /** Reads it again once its driver counts as silent. */
  silence: NodeJS.Timeout | undefined;
};

export function newWatched(): Watched {
  return {
    sockets: new Set(),
    joining: new Set(),
    order: null,
    moved: null,
    publishedMs: 0,
    isHidden: false,
    readMs: 0,
    timer: null,
    silence: undefined,
  };
}

/**
 * Whether the pages must be sent `order`: after an event, or once the dropoff is found, the driver's other
 * stops are others, its plan is another or the way to the stops before it takes longer, which are no events of it.
 */
export function isNewer(order: TrackedOrder, known: TrackedOrder | null): boolean {
  if (known === null || order.sequence > known.sequence) return true;
  if (order.sequence < known.sequence) return false;
  return (
    order.onRoute?.stopsBefore !== known.onRoute?.stopsBefore ||
    minutesBehind(order) !== minutesBehind(known) ||
    order.dropoff?.accuracyMeters !== known.dropoff?.accuracyMeters ||
    order.planned?.from !== known.planned?.from ||
    order.planned?.to !== known.planned?.to
  );
}

/** Whole minutes until the driver is at the door, where other stops come first; null while they are silent. */
const minutesBehind = ({ onRoute }: TrackedOrder): number | null =>
  onRoute && !onRoute.isNext && onRoute.doorInMinutes !== null ? Math.round(onRoute.doorInMinutes) : null;

/** The watched orders of each driver who is under way with one. */
export class OrdersOfDrivers {
  readonly #orders = new Groups<string, string>();

  of(driverId: string): ReadonlySet<string> {
    return this.#orders.of(driverId);
  }

  /** Notes who is under way with an order; of null nobody is, or nobody watches. */
  set(orderId: string, before: TrackedOrder | null, now: TrackedOrder | null): void {
    const [was, is] = [carrier(before), carrier(now)];
    if (was === is) return;
    if (was !== null) this.#orders.delete(was, orderId);
    if (is !== null) this.#orders.add(is, orderId);
  }
}

function carrier(order: TrackedOrder | null): string | null {
  return order?.status === 'driver_assigned' || order?.status === 'picked_up' ? order.driverId : null;
}
