import type { TrackedOrder } from '../domain/tracked.ts';
import type { DriverPosition } from '../store/drivers.ts';
import type { LiveSocket } from '../transport/live-socket.ts';

/** What is kept with the socket of an open page. */
export type Viewer = { readonly orderId: string; watching: boolean; lastPingMs: number };

/** One order with at least one page open. */
export type Watched = {
  readonly sockets: Set<LiveSocket<Viewer>>;
  /** Sockets that have not been sent a snapshot yet. */
  readonly joining: Set<LiveSocket<Viewer>>;
  order: TrackedOrder | null;
  /** The newest position that was not published yet. */
  moved: DriverPosition | null;
  publishedMs: number;
  timer: NodeJS.Timeout | null;
};

export function newWatched(): Watched {
  return { sockets: new Set(), joining: new Set(), order: null, moved: null, publishedMs: 0, timer: null };
}

/**
 * Whether the pages must be sent `order`: after an event, or once the dropoff is found, which is no event.
 */
export function isNewer(order: TrackedOrder, known: TrackedOrder | null): boolean {
  if (known === null || order.sequence > known.sequence) return true;
  return order.sequence === known.sequence && order.dropoff?.accuracyMeters !== known.dropoff?.accuracyMeters;
}
