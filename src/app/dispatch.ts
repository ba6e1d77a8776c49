import { AdmissionControl } from '../dispatch/admission.ts';
import { createCancelOrder } from '../dispatch/cancel-order.ts';
import { createChangeDropoff } from '../dispatch/change-dropoff.ts';
import { CommitBacklog } from '../dispatch/commit-backlog.ts';
import { RESOLVE_MS, RESOLVE_PAUSE_MS } from '../dispatch/commit-batch.ts';
import { createDriverActions } from '../dispatch/driver-actions.ts';
import { startDueOrders } from '../dispatch/due-orders.ts';
import { Fleet } from '../dispatch/fleet.ts';
import { createGivenOrders } from '../dispatch/given-orders.ts';
import { COMMIT_GATHER_MS, createGroupCommit, MAX_COMMIT_WAIT_MS, SLOW_COMMIT_MS } from '../dispatch/group-commit.ts';
import type { LoadedTiers } from '../dispatch/loaded-tiers.ts';
import { dropoffByZip } from '../dispatch/locate-dropoff.ts';
import type { PaymentWait } from '../dispatch/payment-wait.ts';
import { createPlaceOnce } from '../dispatch/place-once.ts';
import { createPlaceOrder, type PlaceOrderOperation } from '../dispatch/place-order.ts';
import { createPlaceRequest } from '../dispatch/place-request.ts';
import { createPlaceUnkeyed } from '../dispatch/place-unkeyed.ts';
import type { Places } from '../dispatch/places.ts';
import { createPositions } from '../dispatch/positions.ts';
import { createQuoteOrder } from '../dispatch/quote-order.ts';
import { createReceipts } from '../dispatch/receipts.ts';
import { createRedispatch, type Redispatch } from '../dispatch/redispatch.ts';
import { createFindReplays } from '../dispatch/replays.ts';
import { createRequestDedup } from '../dispatch/request-dedup.ts';
import { createStoreHolds } from '../dispatch/store-holds.ts';
import { createSilentRelease, createSweep } from '../dispatch/sweep.ts';
import { MAX_UNKNOWN_OUTCOMES, UNKNOWN_OUTCOME_MS, UnknownOutcomes } from '../dispatch/unknown-outcomes.ts';
import {
  createWaitingRoom,
  MAX_LATER_ORDERS,
  MAX_LATER_ORDERS_PER_RETAILER,
  MAX_WAITING_ORDERS_PER_RETAILER,
  type WaitingBounds,
} from '../dispatch/waiting-room.ts';
import { createPositionWriter } from '../dispatch/write-behind.ts';
import { DEDUP_KEPT_MS, MAX_COMMIT_BATCH, MAX_COMMITS_IN_FLIGHT, MAX_WAITING_ORDERS } from '../limits.ts';
import type { Matcher } from '../matcher/matcher.ts';
import { createRetryCharge } from '../payments/retry-charge.ts';
import { createIdleDrivers, createIdleRounds } from '../planning/idle-drivers.ts';
import { type PlannerLoop, startPlannerLoop } from '../planning/planner-loop.ts';
import { MODEL_TIMES, type RoadTimes } from '../planning/road-times.ts';
import type { JobPace } from '../queues/job-pace.ts';
import type { ServiceParts } from '../runtime/parts.ts';
import { openPlaces } from './places.ts';

/** Time per event-loop turn for starting queued orders; about 40 orders. */
const ADMISSION_SLICE_MS = 5;

export type DispatchParts = Pick<
  ServiceParts,
  'config' | 'store' | 'relay' | 'events' | 'clock' | 'logger' | 'closers'
> & {
  readonly database: { isAway(): boolean };
  readonly matcher: Matcher;
  readonly tiers: Pick<LoadedTiers, 'get'>;
  readonly paymentWait: Pick<PaymentWait, 'paymentWithin'>;
  readonly pace: Pick<JobPace, 'orderTook'>;
  /** MODEL_TIMES by default. */
  readonly roadTimes?: RoadTimes;
};

export type Dispatch = ReturnType<typeof buildDispatch>;

/** Builds the operations of an API process around its matcher. */
export function buildDispatch(parts: DispatchParts) {
  const { config, store, matcher, events, clock, logger, closers } = parts;
  const unknownOutcomes = new UnknownOutcomes(UNKNOWN_OUTCOME_MS, MAX_UNKNOWN_OUTCOMES, clock.now, events);
  const fleet = new Fleet(matcher, store, events);
  const unpaidAllowed = config.unpaidOrdersAllowed;
  let planner: PlannerLoop | null = null;
  const nextLook = (driverId: string) => planner?.nextLook(driverId) ?? null;
  const redispatch = createRedispatch({ ...parts, fleet, unknownOutcomes, nextLook, unpaidAllowed });
  const holds = createStoreHolds({ ...parts, redispatch, unpaidAllowed });
  closers.add('store holds', async () => holds.close());
  const dueOrders = startDueOrders({ ...parts, redispatch });
  closers.add('orders for later', async () => dueOrders.close());
  const shared = { ...parts, fleet, unknownOutcomes, redispatch };
  const given = createGivenOrders(shared);
  const sweep = createSweep(shared);
  const releaseSilent = createSilentRelease(shared);
  const { admission, groupCommit, backlog } = buildCommit(parts);
  const waitingRoom = createWaitingRoom(matcher, roomFor(config.sandbox));
  const places = openPlaces(config);
  const placeOrder = createPlaceOrder({ ...shared, places, groupCommit, waitingRoom });
  const { placeRequest, findReplays } = buildPlacing(parts, places, placeOrder);
  const quoteOrder = createQuoteOrder({ ...shared, places });
  const writer = createPositionWriter(store, logger);
  closers.add('positions', () => writer.close());
  const positions = createPositions({ ...shared, writer });
  const receipts = createReceipts({ matcher, store, clock });
  const actions = createDriverActions({
    ...shared,
    receipts,
    releasesPerHour: config.releasesPerHour,
    textDelaySeconds: config.sms.delaySeconds,
  });
  const cancelOrder = createCancelOrder(shared);
  const retryCharge = createRetryCharge(shared);
  const changeDropoff = createChangeDropoff(shared);
  return {
    fleet,
    given,
    unknownOutcomes,
    redispatch,
    holds,
    sweep,
    releaseSilent,
    placeRequest,
    findReplays,
    quoteOrder,
    positions,
    actions,
    cancelOrder,
    retryCharge,
    changeDropoff,
    admission,
    backlog,
    /** Plans what waits, once the matcher knows it: what it does not know counts as gone. */
    startPlanning() {
      planner ??= startPlanner(parts, redispatch);
    },
    /** Leaves the planning to another process. */
    stopPlanning: async () => planner?.close(),
  };
}

/** Starts the planner of what waits, and what asks idle drivers where to wait. */
function startPlanner(parts: DispatchParts, redispatch: Redispatch): PlannerLoop {
  const { config, roadTimes = MODEL_TIMES, closers } = parts;
  const idleDrivers = createIdleDrivers({ ...parts, isOn: config.idleDriversWait });
  const askIdle = createIdleRounds({ ...parts, idleDrivers });
  const planner = startPlannerLoop({ ...parts, redispatch, roadTimes, askIdle });
  closers.add('planner', () => planner.close());
  return planner;
}

/** The bounds on orders without a driver. A load test of the sandbox has one store. */
function roomFor(isSandbox: boolean): WaitingBounds {
  return {
    max: MAX_WAITING_ORDERS,
    maxPerStore: isSandbox ? MAX_WAITING_ORDERS : MAX_WAITING_ORDERS_PER_RETAILER,
    maxLater: MAX_LATER_ORDERS,
    maxLaterPerStore: isSandbox ? MAX_LATER_ORDERS : MAX_LATER_ORDERS_PER_RETAILER,
  };
}

/** Admission control and group commit, which share the count of unstored orders. */
function buildCommit({ store, database, config, pace, logger }: DispatchParts) {
  const backlog = new CommitBacklog();
  const admission = new AdmissionControl(ADMISSION_SLICE_MS, backlog);
  const orderJobs = { locate: config.geocoderUrl !== null, smsDelaySeconds: config.sms.delaySeconds };
  const groupCommit = createGroupCommit(
    { store, database, backlog, pace, orderJobs, unpaidAllowed: config.unpaidOrdersAllowed },
    {
      maxBatch: MAX_COMMIT_BATCH,
      maxInFlight: MAX_COMMITS_IN_FLIGHT,
      slowMs: SLOW_COMMIT_MS,
      maxWaitMs: MAX_COMMIT_WAIT_MS,
      resolveMs: RESOLVE_MS,
      resolvePauseMs: RESOLVE_PAUSE_MS,
      gatherMs: COMMIT_GATHER_MS,
    },
    logger,
  );
  return { backlog, admission, groupCommit };
}

/** What places one order for each request, with an idempotency key or without, and what finds it again. */
function buildPlacing(
  { store, matcher, logger, closers }: DispatchParts,
  places: Places,
  placeOrder: PlaceOrderOperation,
) {
  const doorByZip = (zip: string) => {
    const door = dropoffByZip(places, { zip });
    return door && { ...door.point, accuracyMeters: door.accuracyMeters };
  };
  const placed: typeof store = {
    ...store,
    findPlacedByKeys: (retailerId, keys) => store.findPlacedByKeys(retailerId, keys, doorByZip),
    findPlacedByIds: (ids) => store.findPlacedByIds(ids, doorByZip),
  };
  const dedup = createRequestDedup(
    store,
    { retryMs: RESOLVE_PAUSE_MS, keptMs: DEDUP_KEPT_MS, maxWriting: MAX_UNKNOWN_OUTCOMES },
    logger,
  );
  closers.add('request deduplication', () => dedup.close());
  const placeRequest = createPlaceRequest(
    createPlaceOnce(placeOrder, placed, logger),
    createPlaceUnkeyed(placeOrder, dedup, placed, logger),
    matcher,
  );
  return { placeRequest, findReplays: createFindReplays(placed, matcher) };
}
