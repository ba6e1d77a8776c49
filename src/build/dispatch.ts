import type { Config } from '../config.ts';
import { createDriverActions } from '../dispatch/driver-actions.ts';
import { Fleet } from '../dispatch/fleet.ts';
import { createGroupCommit } from '../dispatch/group-commit.ts';
import { locatePickup } from '../dispatch/locate-pickup.ts';
import type { PaymentWait } from '../dispatch/payment-wait.ts';
import { createPlaceOrder } from '../dispatch/place-order.ts';
import { createReportPosition } from '../dispatch/positions.ts';
import { createRedispatch } from '../dispatch/redispatch.ts';
import { createWaitingRoom } from '../dispatch/waiting-room.ts';
import { createPositionWriter } from '../dispatch/write-behind.ts';
import type { Tiers } from '../domain/tier.ts';
import type { Relay } from '../jobs/relay.ts';
import {
  MAX_COMMIT_BATCH,
  MAX_COMMIT_QUEUE,
  MAX_COMMITS_IN_FLIGHT,
  MAX_UNSETTLED,
  MAX_WAITING_ORDERS,
  MAX_WAITING_ORDERS_PER_RETAILER,
  SETTLE_MS,
  SETTLE_PAUSE_MS,
} from '../limits.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Sql } from '../store/connect.ts';
import { type DriverPosition, loadFleet, setDriverDuty, writePositions } from '../store/drivers.ts';
import { assignWaiting, deliverOrder, expireOrder, findOrderState, pickUpOrder } from '../store/orders.ts';
import { explainRefused, insertOrders, settleUnknown } from '../store/orders-create.ts';
import type { RetailerKey } from '../store/retailers.ts';
import { findOverdue, loadOrderNews, loadWaiting } from '../store/waiting.ts';
import { errorFields, type Logger } from '../telemetry.ts';
import { createGeocoder } from '../vendors/geocoder.ts';
import { loadZips, ZIPS_FILE } from '../vendors/zips.ts';
import type { Closers } from './closers.ts';

/** Whom the operations tell of what they did in this process. */
export type Announce = {
  orderChanged(orderId: string, driverId: string | null): void;
  driverChanged(driverId: string): void;
  driverMoved(driverId: string, orderId: string | null, position: DriverPosition): void;
  sharePosition(position: DriverPosition): void;
};

export type Dispatch = ReturnType<typeof buildDispatch>;

/** The operations of an API process around one matcher. */
export function buildDispatch(
  parts: {
    readonly config: Config;
    readonly sql: Sql;
    readonly matcher: Matcher;
    readonly tiers: () => Tiers;
    readonly now: () => number;
    readonly origin: string;
    readonly relay: Relay;
    readonly paymentWait: PaymentWait;
    readonly announce: Announce;
  },
  logger: Logger,
  closers: Closers,
) {
  const { sql, matcher, tiers, now, origin, announce } = parts;
  const { relay } = parts.relay;
  const quietly = (work: Promise<unknown>, message: string) =>
    void work.catch((error) => logger.warn({ err: errorFields(error) }, message));

  const fleet = new Fleet(matcher, {
    loadFleet: (ids) => loadFleet(sql, ids),
    loadWaiting: (limit) => loadWaiting(sql, limit),
    loadOrderNews: (ids) => loadOrderNews(sql, ids),
  });
  const assigned = (orderId: string, driverId: string) => {
    fleet.touched(driverId);
    announce.orderChanged(orderId, driverId);
  };
  const redispatch = createRedispatch({
    matcher,
    now,
    assignWaiting: (orderId, driver) => assignWaiting(sql, orderId, driver, origin),
    expireOrder: async (orderId) => (await expireOrder(sql, orderId, origin)) !== null,
    findOverdue: (limit) => findOverdue(sql, limit),
    refreshDrivers: (ids) => fleet.refreshDrivers(ids),
    refreshOrders: (ids) => fleet.refreshOrders(ids),
    relay,
    assigned,
    orderChanged: (orderId) => announce.orderChanged(orderId, null),
    logger,
  });
  const driverAvailable = (driverId: string) =>
    quietly(redispatch.driverAvailable(driverId), 'a free driver could not be given a waiting order');

  const groupCommit = createGroupCommit(
    {
      insert: (orders) => insertOrders(sql, orders, origin),
      explain: (orders) => explainRefused(sql, orders),
      settle: (orders) => settleUnknown(sql, orders),
    },
    {
      maxBatch: MAX_COMMIT_BATCH,
      maxInFlight: MAX_COMMITS_IN_FLIGHT,
      maxQueue: MAX_COMMIT_QUEUE,
      settleMs: SETTLE_MS,
      settlePauseMs: SETTLE_PAUSE_MS,
    },
    logger,
  );
  /** Orders answered with 504: the notice of our own commit is news after all, should it come. */
  const unsettled = new Set<string>();
  const placeOrder = createPlaceOrder({
    tiers,
    matcher,
    now,
    locate: createLocate(parts.config),
    groupCommit,
    waitingRoom: createWaitingRoom(matcher, MAX_WAITING_ORDERS, MAX_WAITING_ORDERS_PER_RETAILER),
    relay,
    refreshDriver: (driverId) => quietly(fleet.refreshDrivers([driverId]), 'a driver could not be read again'),
    assigned,
    waits: (orderId) => quietly(redispatch.orderWaits(orderId), 'a new order could not be matched again'),
    unsettled(orderId) {
      if (unsettled.size < MAX_UNSETTLED) unsettled.add(orderId);
    },
    settledWithin: parts.paymentWait.settledWithin,
  });

  const writer = createPositionWriter((positions) => writePositions(sql, positions), logger);
  closers.add('positions', () => writer.close());
  const positions = createReportPosition({
    matcher,
    now,
    writeBehind: writer.put,
    share: announce.sharePosition,
    moved: announce.driverMoved,
    driverAvailable,
  });
  const actions = createDriverActions({
    matcher,
    now,
    store: {
      setDuty: (driverId, onDuty) => setDriverDuty(sql, driverId, onDuty, origin),
      pickUp: (orderId, driverId) => pickUpOrder(sql, orderId, driverId, origin),
      deliver: (orderId, driverId, photoName) => deliverOrder(sql, orderId, driverId, photoName, origin),
      findState: (orderId) => findOrderState(sql, orderId),
    },
    touched: (driverId) => fleet.touched(driverId),
    changed: announce.orderChanged,
    dutyChanged: announce.driverChanged,
    driverAvailable,
  });

  return { fleet, unsettled, redispatch, placeOrder, positions, actions, groupCommit, driverAvailable };
}

/** The chain that finds a pickup's point (README, "Where the pickup is"). */
function createLocate(config: Config) {
  const geocoder = config.geocoderUrl ? createGeocoder({ url: config.geocoderUrl }) : null;
  const geocode = geocoder
    ? async (text: string) => {
        const found = await geocoder.geocode(text);
        return found.kind === 'found' ? found.point : null;
      }
    : null;
  const zipCentroid = loadZips(ZIPS_FILE);
  return (text: string, key: RetailerKey) => locatePickup(text, key, geocode, zipCentroid);
}
