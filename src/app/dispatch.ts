import type { Config } from '../config.ts';
import { AdmissionControl } from '../dispatch/admission.ts';
import { createCancelOrder } from '../dispatch/cancel-order.ts';
import { type ActionStore, createDriverActions } from '../dispatch/driver-actions.ts';
import { Fleet } from '../dispatch/fleet.ts';
import { createGroupCommit } from '../dispatch/group-commit.ts';
import { dropoffByZip } from '../dispatch/locate-dropoff.ts';
import { locatePickup } from '../dispatch/locate-pickup.ts';
import type { PaymentWait } from '../dispatch/payment-wait.ts';
import { createPlaceOrder } from '../dispatch/place-order.ts';
import { createReportPosition } from '../dispatch/positions.ts';
import { createProofDistance } from '../dispatch/proof-distance.ts';
import { createRedispatch } from '../dispatch/redispatch.ts';
import { UnknownOutcomes } from '../dispatch/unknown-outcomes.ts';
import { createWaitingRoom } from '../dispatch/waiting-room.ts';
import { createPositionWriter } from '../dispatch/write-behind.ts';
import type { Tiers } from '../domain/tier.ts';
import {
  ADMISSION_SLICE_MS,
  COMMIT_GATHER_MS,
  DRIVER_SILENT_MS,
  MAX_COMMIT_BATCH,
  MAX_COMMIT_QUEUE,
  MAX_COMMIT_WAIT_MS,
  MAX_COMMITS_IN_FLIGHT,
  MAX_EXPIRIES_PER_SWEEP,
  MAX_UNKNOWN_OUTCOMES,
  MAX_UNSTORED_ORDERS,
  MAX_WAITING_ORDERS,
  MAX_WAITING_ORDERS_PER_RETAILER,
  POSITION_FRESH_MS,
  RESOLVE_MS,
  RESOLVE_PAUSE_MS,
  SLOW_COMMIT_MS,
  UNKNOWN_OUTCOME_MS,
} from '../limits.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Sql } from '../postgres/connect.ts';
import type { Relay } from '../queues/relay.ts';
import { type DriverPosition, loadFleet, setDriverDuty, writePositions } from '../store/drivers.ts';
import { findDropoffPoint } from '../store/dropoffs.ts';
import {
  cancelOrder as changeCancelled,
  deliverOrder,
  findAction,
  findCancelledBy,
  findSilent,
  markUndeliverable,
  pickUpOrder,
  releaseFromSilent,
  releaseOrder,
  returnOrder,
} from '../store/lifecycle.ts';
import { assignWaiting, expireOrder, findOrderState, findStoreOrder } from '../store/orders.ts';
import { explainRefused, insertOrders, resolveUnknown } from '../store/orders-create.ts';
import type { RetailerKey } from '../store/retailers.ts';
import { findMatchable, findOverdue, loadOrderStates, loadWaiting } from '../store/waiting.ts';
import { errorFields, type Logger } from '../telemetry.ts';
import { createGeocoder } from '../vendors/geocoder.ts';
import { loadZips, ZIPS_FILE } from '../vendors/zips.ts';
import type { Closers } from './closers.ts';
import { buildPlaceOnce } from './place-once.ts';

/** Whom the operations tell of what they did in this process. */
export type OrderEvents = {
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
    readonly commits: Sql;
    readonly isAway: () => boolean;
    readonly matcher: Matcher;
    readonly tiers: () => Tiers;
    readonly now: () => number;
    readonly origin: string;
    readonly relay: Relay;
    readonly paymentWait: Pick<PaymentWait, 'paymentWithin'>;
    readonly announce: OrderEvents;
  },
  logger: Logger,
  closers: Closers,
) {
  const { sql, matcher, tiers, now, origin, announce } = parts;
  const { relay } = parts.relay;
  const quietly = (work: Promise<unknown>, message: string) =>
    void work.catch((error) => logger.warn({ err: errorFields(error) }, message));

  const unknownOutcomes = new UnknownOutcomes(UNKNOWN_OUTCOME_MS, MAX_UNKNOWN_OUTCOMES, now);
  const fleet = new Fleet(
    matcher,
    {
      loadFleet: (ids) => loadFleet(sql, ids),
      loadWaiting: (limit) => loadWaiting(sql, limit),
      loadOrderStates: (ids) => loadOrderStates(sql, ids),
      findMatchable: (limit, afterDriver) => findMatchable(sql, limit, POSITION_FRESH_MS, afterDriver),
    },
    (driverId) => {
      // The notice of what freed him would not find him any more.
      announce.driverChanged(driverId);
      driverAvailable(driverId);
    },
  );
  const assigned = (orderId: string, driverId: string) => {
    fleet.touched(driverId);
    announce.orderChanged(orderId, driverId);
  };
  const redispatch = createRedispatch({
    matcher,
    now,
    assignWaiting: (orderId, driver) => unknownOutcomes.watch(orderId, assignWaiting(sql, orderId, driver, origin)),
    expireOrder: (orderId) => unknownOutcomes.watch(orderId, expireOrder(sql, orderId, origin)),
    findOverdue: (limit) => findOverdue(sql, limit),
    findSilent: () => findSilent(sql, DRIVER_SILENT_MS, MAX_EXPIRIES_PER_SWEEP),
    releaseFromSilent: (orderId, driverId) =>
      unknownOutcomes.watch(orderId, releaseFromSilent(sql, orderId, driverId, DRIVER_SILENT_MS, origin)),
    catchUp: () => fleet.catchUp(now),
    refreshDrivers: (ids) => fleet.refreshDrivers(ids),
    refreshOrders: (ids) => fleet.refreshOrders(ids),
    touched: (driverId) => fleet.touched(driverId),
    relay,
    assigned,
    orderChanged: announce.orderChanged,
    logger,
  });
  const driverAvailable = (driverId: string) =>
    quietly(redispatch.driverAvailable(driverId), 'a free driver could not be given a waiting order');

  const zipCentroid = loadZips(ZIPS_FILE);
  const groupCommit = createGroupCommit(
    {
      insert: (orders) => insertOrders(parts.commits, orders, origin, parts.config.geocoderUrl !== null),
      explain: (orders) => explainRefused(sql, orders),
      settle: (orders) => resolveUnknown(sql, orders),
      isAway: parts.isAway,
    },
    {
      maxBatch: MAX_COMMIT_BATCH,
      maxInFlight: MAX_COMMITS_IN_FLIGHT,
      slowMs: SLOW_COMMIT_MS,
      maxQueue: MAX_COMMIT_QUEUE,
      maxWaitMs: MAX_COMMIT_WAIT_MS,
      resolveMs: RESOLVE_MS,
      resolvePauseMs: RESOLVE_PAUSE_MS,
      gatherMs: COMMIT_GATHER_MS,
    },
    logger,
    () => admission.isLate(),
  );
  const admission = new AdmissionControl(ADMISSION_SLICE_MS, MAX_UNSTORED_ORDERS, groupCommit.depth);
  const placeOrder = createPlaceOrder({
    tiers,
    matcher,
    now,
    locate: createLocate(parts.config, zipCentroid),
    dropoffOf: (address) => dropoffByZip(address, zipCentroid),
    groupCommit,
    waitingRoom: createWaitingRoom(matcher, MAX_WAITING_ORDERS, MAX_WAITING_ORDERS_PER_RETAILER),
    relay,
    refreshDriver: (driverId) =>
      quietly(
        fleet.refreshDrivers([driverId]).then(() => redispatch.driverAvailable(driverId)),
        'a driver could not be read again',
      ),
    driverAvailable,
    assigned,
    waits: (orderId) => quietly(redispatch.orderWaits(orderId), 'a new order could not be matched again'),
    unknownOutcomes: (orderId) => unknownOutcomes.add(orderId),
    paymentWithin: parts.paymentWait.paymentWithin,
  });

  const placeOnce = buildPlaceOnce(placeOrder, sql, origin, logger, closers);
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
  const proofDistance = createProofDistance({
    positionOf: (driverId) => matcher.driver(driverId)?.position ?? null,
    findDropoff: (orderId) => findDropoffPoint(sql, orderId),
    now,
  });
  const actions = createDriverActions({
    matcher,
    now,
    store: {
      setDuty: (driverId, onDuty) => setDriverDuty(sql, driverId, onDuty, origin),
      ...actionWrites(sql, origin, unknownOutcomes, proofDistance),
      findAction: (driverId, actionId) => findAction(sql, driverId, actionId),
      findState: (orderId) => findOrderState(sql, orderId),
    },
    touched: (driverId) => fleet.touched(driverId),
    changed: announce.orderChanged,
    dutyChanged: announce.driverChanged,
    driverAvailable,
    relay,
    waitsAgain: (orderId) => quietly(redispatch.waitsAgain(orderId), 'a released order could not be matched at once'),
  });
  const cancelOrder = createCancelOrder({
    matcher,
    now,
    cancel: (orderId, retailerId, reason, idempotencyKey) =>
      unknownOutcomes.watch(orderId, changeCancelled(sql, orderId, { retailerId, idempotencyKey }, reason, origin)),
    findState: async (orderId, retailerId) => (await findStoreOrder(sql, orderId, retailerId))?.status ?? null,
    findCancelledBy: (retailerId, idempotencyKey) => findCancelledBy(sql, retailerId, idempotencyKey),
    touched: (driverId) => fleet.touched(driverId),
    relay,
    changed: announce.orderChanged,
    driverAvailable,
  });

  return {
    fleet,
    unknownOutcomes,
    redispatch,
    placeOnce,
    positions,
    actions,
    cancelOrder,
    admission,
    groupCommit,
    driverAvailable,
  };
}

/** What a driver's actions write. */
function actionWrites(
  sql: Sql,
  origin: string,
  unknownOutcomes: UnknownOutcomes,
  proofDistance: ReturnType<typeof createProofDistance>,
): Pick<ActionStore, 'pickUp' | 'deliver' | 'release' | 'undeliverable' | 'returned'> {
  return {
    pickUp: ({ orderId, driverId, stamp }) =>
      unknownOutcomes.watch(orderId, pickUpOrder(sql, orderId, driverId, stamp, origin)),
    deliver: async ({ orderId, driverId, stamp }, photo) => {
      const proof = await proofDistance(orderId, driverId, stamp.capturedAt);
      return unknownOutcomes.watch(orderId, deliverOrder(sql, orderId, driverId, photo, stamp, origin, proof));
    },
    release: ({ orderId, driverId, stamp }, reason) =>
      unknownOutcomes.watch(orderId, releaseOrder(sql, orderId, driverId, reason, stamp, origin)),
    undeliverable: ({ orderId, driverId, stamp }, reason) =>
      unknownOutcomes.watch(orderId, markUndeliverable(sql, orderId, driverId, reason, stamp, origin)),
    returned: ({ orderId, driverId, stamp }) =>
      unknownOutcomes.watch(orderId, returnOrder(sql, orderId, driverId, stamp, origin)),
  };
}

/** The chain that finds a pickup's point (README, "Where the pickup is"). */
function createLocate(config: Config, zipCentroid: ReturnType<typeof loadZips>) {
  const geocoder = config.geocoderUrl ? createGeocoder({ url: config.geocoderUrl }) : null;
  const geocode = geocoder
    ? async (text: string) => {
        const found = await geocoder.geocode(text);
        return found.kind === 'found' ? found.point : null;
      }
    : null;
  return (text: string, key: RetailerKey) => locatePickup(text, key, geocode, zipCentroid);
}
