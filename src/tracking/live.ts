import { isTrackingToken } from '../domain/ids.ts';
import type { TrackedOrder } from '../domain/tracked.ts';
import {
  MAX_SOCKETS_PER_ORDER,
  MAX_TRACKING_SOCKETS,
  POSITION_PUBLISH_MS,
  SOCKET_IDLE_SECONDS,
  TRACKING_MESSAGE_BYTES,
  TRACKING_PING_MIN_MS,
} from '../limits.ts';
import { createLatestReader } from '../pages/latest-reader.ts';
import type { DriverPosition } from '../store/drivers.ts';
import type { LiveSocket, SocketBehaviour } from '../transport/live-socket.ts';
import { orderMessage, orderTopic, PONG, positionMessage } from './messages.ts';
import { isGone, type KnownPosition, shownPosition } from './view.ts';

/** Close codes of RFC 6455 and its registry, and one of ours for an order that is no longer there. */
const POLICY_VIOLATION = 1008;
const TRY_AGAIN_LATER = 1013;
const UNKNOWN_ORDER = 4404;

export type Viewer = { readonly orderId: string; watching: boolean; lastPingMs: number };

export type Tracking = {
  readonly behaviour: SocketBehaviour<Viewer>;
  /** Tells the order's pages of a change. Costs nothing where none is open in this process; never throws. */
  orderChanged(orderId: string): Promise<void>;
  /**
   * Tells the order's pages where its driver is now, at most once in POSITION_PUBLISH_MS, the newest wins. A position of
   * anybody but the order's driver is left out: memory may still hold who gave the order back at another process.
   */
  driverMoved(orderId: string, position: DriverPosition): void;
  /** Reads every watched order again, for when notices may have been missed. */
  everythingChanged(): void;
  /** How many orders are watched and by how many sockets. */
  watched(): { readonly orders: number; readonly sockets: number };
  close(): void;
};

/** One order with at least one page open. */
type Watched = {
  sockets: number;
  /** Sockets that have not been sent a snapshot yet. */
  readonly joining: Set<LiveSocket<Viewer>>;
  order: TrackedOrder | null;
  /** The newest position that was not published yet. */
  moved: DriverPosition | null;
  publishedMs: number;
  timer: NodeJS.Timeout | null;
};

/**
 * The live side of the tracking page. A new socket subscribes first and is then sent a snapshot read after that, so a
 * change between the two reaches it as well; the page keeps whichever has the higher sequence. Only watched orders are
 * known here, so this is bounded by the number of sockets.
 *
 * @param deps.publish sends a text to every socket of this process that subscribed to the topic
 * @param deps.now the database's clock in milliseconds
 * @param deps.failed is told of reads that failed; they are tried again
 */
export function createTracking(deps: {
  readonly findByToken: (token: string) => Promise<TrackedOrder | null>;
  readonly findById: (orderId: string) => Promise<TrackedOrder | null>;
  readonly positionOf: (driverId: string) => KnownPosition | null;
  readonly publish: (topic: string, text: string) => void;
  readonly now: () => number;
  readonly failed: (error: unknown) => void;
}): Tracking {
  const watchedOrders = new Map<string, Watched>();
  let sockets = 0;
  const reader = createLatestReader({ read: deps.findById, apply, failed: deps.failed });

  /** A read came back: newer than what the pages have goes to all of them, else only newcomers need it. */
  function apply(orderId: string, order: TrackedOrder | null): void {
    const watched = watchedOrders.get(orderId);
    if (!watched) return;
    const joining = [...watched.joining];
    watched.joining.clear();
    if (!order) {
      for (const socket of joining) socket.close(UNKNOWN_ORDER, 'unknown order');
      return;
    }
    const nowMs = deps.now();
    const position = order.driverId === null ? null : deps.positionOf(order.driverId);
    const text = orderMessage(order, position, nowMs);
    if (isNewer(order, watched.order)) {
      watched.order = order;
      watched.moved = null;
      watched.publishedMs = nowMs;
      deps.publish(orderTopic(orderId), text);
    } else {
      for (const socket of joining) socket.send(text);
    }
  }

  /**
   * While a change is not read yet the newest position waits: what may be shown of it depends on the status, and a
   * delivered order's driver is nobody's business any more.
   */
  function publishPosition(orderId: string, watched: Watched): void {
    watched.timer = null;
    if (!watched.moved || !watched.order) return;
    if (reader.isPending(orderId)) {
      schedulePosition(orderId, watched, POSITION_PUBLISH_MS);
      return;
    }
    const nowMs = deps.now();
    const isHis = watched.moved.driverId === watched.order.driverId;
    const shown = isHis ? shownPosition(watched.order.status, watched.moved, nowMs) : null;
    watched.moved = null;
    if (!shown) return;
    watched.publishedMs = nowMs;
    deps.publish(orderTopic(orderId), positionMessage(watched.order, shown));
  }

  function schedulePosition(orderId: string, watched: Watched, waitMs: number): void {
    watched.timer = setTimeout(() => publishPosition(orderId, watched), waitMs);
    watched.timer.unref();
  }

  function watch(socket: LiveSocket<Viewer>): void {
    const { orderId } = socket.data;
    let watched = watchedOrders.get(orderId);
    if (watched && watched.sockets >= MAX_SOCKETS_PER_ORDER) {
      socket.close(TRY_AGAIN_LATER, 'too many viewers');
      return;
    }
    if (!watched) {
      watched = { sockets: 0, joining: new Set(), order: null, moved: null, publishedMs: 0, timer: null };
      watchedOrders.set(orderId, watched);
    }
    watched.sockets += 1;
    sockets += 1;
    socket.data.watching = true;
    watched.joining.add(socket);
    socket.subscribe(orderTopic(orderId));
    void reader.request(orderId);
  }

  function unwatch(socket: LiveSocket<Viewer>): void {
    if (!socket.data.watching) return;
    socket.data.watching = false;
    const { orderId } = socket.data;
    const watched = watchedOrders.get(orderId);
    if (!watched) return;
    sockets -= 1;
    watched.sockets -= 1;
    watched.joining.delete(socket);
    if (watched.sockets > 0) return;
    if (watched.timer) clearTimeout(watched.timer);
    watchedOrders.delete(orderId);
    reader.forget(orderId);
  }

  const behaviour: SocketBehaviour<Viewer> = {
    path: '/track/:token/live',
    maxMessageBytes: TRACKING_MESSAGE_BYTES,
    idleTimeoutSeconds: SOCKET_IDLE_SECONDS,
    maxSockets: MAX_TRACKING_SOCKETS,
    async accept({ params: [token] }) {
      if (token === undefined || !isTrackingToken(token)) return { refuse: 404 };
      try {
        const order = await deps.findByToken(token);
        if (!order) return { refuse: 404 };
        if (isGone(order, deps.now())) return { refuse: 410 };
        return { orderId: order.orderId, watching: false, lastPingMs: 0 };
      } catch (error) {
        deps.failed(error);
        return { refuse: 503 };
      }
    },
    opened: watch,
    message(socket, text) {
      const nowMs = deps.now();
      const early = nowMs - socket.data.lastPingMs < TRACKING_PING_MIN_MS;
      if (text !== 'ping' || early) {
        socket.close(POLICY_VIOLATION, 'unexpected message');
        return;
      }
      socket.data.lastPingMs = nowMs;
      socket.send(PONG);
    },
    closed: unwatch,
  };

  return {
    behaviour,
    async orderChanged(orderId) {
      if (watchedOrders.has(orderId)) await reader.request(orderId);
    },
    driverMoved(orderId, position) {
      const watched = watchedOrders.get(orderId);
      if (!watched?.order) return;
      watched.moved = position;
      if (watched.timer) return;
      const waitMs = watched.publishedMs + POSITION_PUBLISH_MS - deps.now();
      if (waitMs > 0) schedulePosition(orderId, watched, Math.min(waitMs, POSITION_PUBLISH_MS));
      else publishPosition(orderId, watched);
    },
    everythingChanged() {
      for (const orderId of watchedOrders.keys()) void reader.request(orderId);
    },
    watched: () => ({ orders: watchedOrders.size, sockets }),
    close() {
      reader.close();
      for (const watched of watchedOrders.values()) if (watched.timer) clearTimeout(watched.timer);
      watchedOrders.clear();
    },
  };
}

/** Whether the pages must be told: an event, or the dropoff was found meanwhile, which is none. */
function isNewer(order: TrackedOrder, known: TrackedOrder | null): boolean {
  if (known === null || order.sequence > known.sequence) return true;
  return order.sequence === known.sequence && order.dropoff?.accuracyMeters !== known.dropoff?.accuracyMeters;
}
