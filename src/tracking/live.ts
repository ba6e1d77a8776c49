import type { DriverPosition } from '../domain/driver.ts';
import { isTrackingToken } from '../domain/ids.ts';
import { networkOf } from '../domain/network.ts';
import { isShown, shownPosition } from '../domain/shown-position.ts';
import { Tally } from '../domain/tally.ts';
import type { TrackedOrder } from '../domain/tracked.ts';
import {
  below,
  MAX_TRACKING_SOCKETS,
  POSITION_FRESH_MS,
  SOCKET_IDLE_SECONDS,
  TRACKING_PING_MIN_MS,
} from '../limits.ts';
import { type Matcher, positionOf } from '../matcher/matcher.ts';
import { createLatestReader } from '../pages/latest-reader.ts';
import { sharedReads } from '../shared-read.ts';
import type { Store } from '../store/store.ts';
import type { LiveSocket, SocketBehaviour } from '../transport/live-socket.ts';
import type { Transport } from '../transport/transport.ts';
import { orderMessage, orderTopic, PONG, positionMessage } from './messages.ts';
import { needsNoSocket } from './view.ts';
import { ViewerPlaces } from './viewer-places.ts';
import { isNewer, newWatched, OrdersOfDrivers, type Viewer, type Watched } from './watched.ts';

/** Most sockets on one order. Below MAX_TRACKING_SOCKETS, so that one shared link does not take all. */
export const MAX_SOCKETS_PER_ORDER = 50;
/**
 * Most links from one network that are looked up at once for a socket; one more is refused with 503, so that a flood of
 * unknown links does not take the statements of other people's pages.
 */
export const MAX_TRACKING_LOOKUPS_PER_ADDRESS = 500;
/** Largest message from a customer's page in bytes. The page only ever sends `ping`. */
const TRACKING_MESSAGE_BYTES = 64;
/** Shortest time between two positions sent to one page. A car moves about 14 m meanwhile. */
export const POSITION_PUBLISH_MS = 1_000;
/**
 * Shortest time between two reads of an order behind other doors while its driver moves: what is estimated of it grows
 * old without an event. Above POSITION_PUBLISH_MS.
 */
export const ROUTE_READ_MS = 60_000;

/** Time after POSITION_FRESH_MS at which an order behind other stops is read again, as its driver has fallen silent. */
const SILENCE_MARGIN_MS = 1_000;

below({ POSITION_PUBLISH_MS }, { ROUTE_READ_MS });
below({ ROUTE_READ_MS }, { POSITION_FRESH_MS });

below({ MAX_SOCKETS_PER_ORDER }, { MAX_TRACKING_SOCKETS });

/** Close codes of RFC 6455 and its registry, and one of ours for an order that is no longer there. */
const POLICY_VIOLATION = 1008;
const TRY_AGAIN_LATER = 1013;
const UNKNOWN_ORDER = 4404;

export type Tracking = ReturnType<typeof createTracking>;

/**
 * The live side of the tracking page. A new socket subscribes first and is then sent a snapshot read after
 * that, so a change between the two reaches it as well; the page keeps whichever has the higher sequence.
 * Memory is bounded by the number of sockets, since only watched orders are kept.
 *
 * @param parts.now the database's clock in milliseconds
 * @param parts.failed called for each read that failed; reads of watched orders are retried
 * @param parts.places MAX_TRACKING_SOCKETS where none are given
 */
export function createTracking(parts: {
  readonly store: Pick<Store, 'findTrackedByToken' | 'findTrackedByIds'>;
  readonly matcher: Pick<Matcher, 'driver'>;
  readonly transport: Pick<Transport, 'publish'>;
  readonly now: () => number;
  readonly failed: (error: unknown) => void;
  readonly places?: ViewerPlaces;
}) {
  const { store, matcher, transport, now, failed, places = new ViewerPlaces() } = parts;
  const watchedOrders = new Map<string, Watched>();
  const ordersOf = new OrdersOfDrivers();
  const reader = createLatestReader({ read: (ids) => store.findTrackedByIds(ids), apply, failed });

  /**
   * Sends what was read to all of the order's pages where it is newer than theirs, else to new pages alone.
   */
  function apply(orderId: string, order: TrackedOrder | null): void {
    const watched = watchedOrders.get(orderId);
    if (!watched) return;
    const joining = [...watched.joining];
    watched.joining.clear();
    if (!order) {
      // Also of pages that have shown it: a reset of the sandbox removes orders.
      for (const socket of [...watched.sockets]) socket.close(UNKNOWN_ORDER, 'unknown order');
      return;
    }
    const nowMs = now();
    watched.readMs = nowMs;
    const text = orderMessage(order, positionOf(matcher, order.driverId), nowMs);
    const isNews = isNewer(order, watched.order);
    if (order.sequence >= (watched.order?.sequence ?? 0)) {
      ordersOf.set(orderId, watched.order, order);
      // Also where the pages need not be told: another parcel on board decides where the driver may be seen.
      watched.order = order;
      readWhenSilent(orderId, watched);
    }
    if (isNews) {
      watched.moved = null;
      watched.publishedMs = nowMs;
      watched.isHidden = false;
      transport.publish(orderTopic(orderId), text);
    } else {
      for (const socket of joining) socket.send(text);
    }
  }

  /** A driver who falls silent sends nothing, and what was estimated by their route is no longer so. */
  function readWhenSilent(orderId: string, watched: Watched): void {
    clearTimeout(watched.silence);
    if (!isByRoute(watched) || watched.order?.onRoute?.doorInMinutes === null) return;
    const nowMs = now();
    const heardMs = positionOf(matcher, watched.order?.driverId ?? null)?.atMs ?? nowMs;
    const silentMs = Math.max(heardMs + POSITION_FRESH_MS - nowMs, 0) + SILENCE_MARGIN_MS;
    watched.silence = setTimeout(() => void reader.request(orderId), silentMs);
    watched.silence.unref();
  }

  /**
   * While a change is not read yet, the newest position waits: the status decides what may be shown of it,
   * and of the driver of a delivered order nothing may be.
   */
  function publishPosition(orderId: string, watched: Watched): void {
    watched.timer = null;
    if (!watched.moved || !watched.order) return;
    if (reader.isPending(orderId)) {
      schedulePosition(orderId, watched, POSITION_PUBLISH_MS);
      return;
    }
    const nowMs = now();
    const isDriver = watched.moved.driverId === watched.order.driverId;
    const shown = isDriver ? shownPosition(watched.order, watched.moved, nowMs) : null;
    watched.moved = null;
    // That they are at another door now is told once.
    if (!shown && (watched.isHidden || !isDriver || !isShown(watched.order))) return;
    watched.isHidden = !shown;
    watched.publishedMs = nowMs;
    transport.publish(orderTopic(orderId), positionMessage(watched.order, shown, nowMs));
  }

  function schedulePosition(orderId: string, watched: Watched, waitMs: number): void {
    watched.timer = setTimeout(() => publishPosition(orderId, watched), waitMs);
    watched.timer.unref();
  }

  function watch(socket: LiveSocket<Viewer>): void {
    const { orderId } = socket.data;
    let watched = watchedOrders.get(orderId);
    if (watched && watched.sockets.size >= MAX_SOCKETS_PER_ORDER) {
      socket.dismiss(TRY_AGAIN_LATER, 'too many viewers');
      return;
    }
    if (!watched) {
      watched = newWatched();
      watchedOrders.set(orderId, watched);
    }
    watched.sockets.add(socket);
    const inTheWay = places.enter(socket);
    socket.data.watching = true;
    watched.joining.add(socket);
    socket.subscribe(orderTopic(orderId));
    void reader.request(orderId);
    if (!inTheWay) return;
    unwatch(inTheWay);
    inTheWay.dismiss(TRY_AGAIN_LATER, 'too many viewers');
  }

  function unwatch(socket: LiveSocket<Viewer>): void {
    if (!socket.data.watching) return;
    socket.data.watching = false;
    places.leave(socket);
    const { orderId } = socket.data;
    const watched = watchedOrders.get(orderId);
    if (!watched) return;
    watched.sockets.delete(socket);
    watched.joining.delete(socket);
    if (watched.sockets.size > 0) return;
    endTimers(watched);
    watchedOrders.delete(orderId);
    ordersOf.set(orderId, watched.order, null);
    reader.forget(orderId);
  }

  const behaviour: SocketBehaviour<Viewer> = {
    path: '/track/:token/live',
    maxMessageBytes: TRACKING_MESSAGE_BYTES,
    idleTimeoutSeconds: SOCKET_IDLE_SECONDS,
    accept: createAccept({ store, places, now, failed }),
    opened: watch,
    message(socket, text) {
      const nowMs = now();
      const sinceMs = nowMs - socket.data.lastPingMs;
      // The database's clock may be set back, by a failover; the page did nothing wrong then.
      const early = sinceMs >= 0 && sinceMs < TRACKING_PING_MIN_MS;
      if (text !== 'ping' || early) {
        socket.dismiss(POLICY_VIOLATION, 'unexpected message');
        return;
      }
      socket.data.lastPingMs = nowMs;
      socket.send(PONG);
    },
    closed: unwatch,
  };

  return {
    behaviour,
    /**
     * Sends the order's pages its new state. Costs nothing where none is open in this process; never throws.
     */
    async orderChanged(orderId: string) {
      if (watchedOrders.has(orderId)) await reader.request(orderId);
    },
    /** Sends the pages of all the driver's orders their new state: another order of theirs may have come or gone. */
    driverChanged(driverId: string) {
      for (const orderId of ordersOf.of(driverId)) void reader.request(orderId);
    },
    /**
     * Sends the order's pages the newest position of its driver, at most once in POSITION_PUBLISH_MS. A
     * position of any other driver is left out: memory may still hold a driver who gave the order back at
     * another process.
     */
    driverMoved(orderId: string, position: DriverPosition) {
      const watched = watchedOrders.get(orderId);
      if (!watched?.order) return;
      if (isToRead(watched, position, now())) void reader.request(orderId);
      watched.moved = position;
      if (watched.timer) return;
      const waitMs = watched.publishedMs + POSITION_PUBLISH_MS - now();
      if (waitMs > 0) schedulePosition(orderId, watched, Math.min(waitMs, POSITION_PUBLISH_MS));
      else publishPosition(orderId, watched);
    },
    /** Reads every watched order again, for when notices may have been missed. */
    everythingChanged() {
      for (const orderId of watchedOrders.keys()) void reader.request(orderId);
    },
    /** How many orders are watched and by how many sockets. */
    watched: () => ({ orders: watchedOrders.size, sockets: places.taken }),
    close() {
      reader.close();
      for (const watched of watchedOrders.values()) endTimers(watched);
      watchedOrders.clear();
    },
  };
}

/** Lets a page in by its link, where its network finds a place. */
function createAccept(parts: {
  readonly store: Pick<Store, 'findTrackedByToken'>;
  readonly places: ViewerPlaces;
  readonly now: () => number;
  readonly failed: (error: unknown) => void;
}): SocketBehaviour<Viewer>['accept'] {
  const { store, places, now, failed } = parts;
  const lookups = new Tally();
  const findByToken = sharedReads((token) => store.findTrackedByToken(token));
  return async ({ params: [token], remoteAddress }) => {
    if (token === undefined || !isTrackingToken(token)) return { refuse: 404 };
    const network = networkOf(remoteAddress);
    if (!places.isOpenTo(network)) return { refuse: 503 };
    try {
      const lookUp = async () => ({ order: await findByToken(token) });
      const found = await lookups.run(network, MAX_TRACKING_LOOKUPS_PER_ADDRESS, lookUp);
      if (!found) return { refuse: 503 };
      if (!found.order) return { refuse: 404 };
      if (needsNoSocket(found.order, now())) return { refuse: 410 };
      return { orderId: found.order.orderId, network, watching: false, lastPingMs: 0 };
    } catch (error) {
      failed(error);
      return { refuse: 503 };
    }
  };
}

/** Whether the arrival of an order is by its driver's route, and not by where they are. */
const isByRoute = ({ order }: Watched): boolean => order?.onRoute?.isNext === false;

/** Whether the order is read again as its driver is heard of: what is estimated by their route grows old. */
function isToRead(watched: Watched, { atMs }: DriverPosition, nowMs: number): boolean {
  if (!isByRoute(watched)) return false;
  // One who was silent has an estimate again with the next position, unless their phone's clock makes it old.
  const isBack = watched.order?.onRoute?.doorInMinutes === null && atMs > nowMs - POSITION_FRESH_MS;
  return nowMs - watched.readMs >= (isBack ? POSITION_PUBLISH_MS : ROUTE_READ_MS);
}

function endTimers({ timer, silence }: Watched): void {
  if (timer) clearTimeout(timer);
  clearTimeout(silence);
}
