import type { FieldError } from '../domain/errors.ts';
import { firstEstimate } from '../domain/estimate.ts';
import type { Identity } from '../domain/idempotency.ts';
import { newId, newTrackingToken } from '../domain/ids.ts';
import type { CreatedOrder, OrderStatus, PaymentStatus, PlaceOrder } from '../domain/order.ts';
import { NO_TIMES } from '../domain/order-times.ts';
import type { ChosenDriver } from '../domain/rejected-candidate.ts';
import { NO_DRIVERS_LAND } from '../domain/scenario.ts';
import { dispatchFrom, promiseOf, timeErrors, waitsForPlan } from '../domain/schedule.ts';
import type { Matcher, WaitingOrder } from '../matcher/matcher.ts';
import type { Clock } from '../postgres/clock.ts';
import type { Relay } from '../queues/relay.ts';
import type { RetailerKey } from '../store/accounts/retailers.ts';
import type { CommittedOrder, NewOrder } from '../store/orders/orders-create.ts';
import type { CommitOutcome } from './commit-batch.ts';
import type { Fleet } from './fleet.ts';
import type { Caller, GroupCommit } from './group-commit.ts';
import type { LoadedTiers } from './loaded-tiers.ts';
import { dropoffByZip } from './locate-dropoff.ts';
import { type LocatedPickup, locatePickup } from './locate-pickup.ts';
import type { OrderEvents } from './order-events.ts';
import type { PaymentWait } from './payment-wait.ts';
import type { Places } from './places.ts';
import type { Redispatch } from './redispatch.ts';
import { addressErrors, distanceErrors } from './serviceable.ts';
import type { UnknownOutcomes } from './unknown-outcomes.ts';
import type { WaitingRoom } from './waiting-room.ts';

/** Most attempts to claim another driver after one was lost to another process; then the order waits. */
const MAX_CLAIM_ATTEMPTS = 5;

/** The result of placing an order. All but `created` and `outcome_unknown` wrote nothing. */
export type PlaceOrderOutcome =
  | { readonly kind: 'created'; readonly order: CreatedOrder }
  /** The lost reply of an equal request without a key holds this one back. */
  | { readonly kind: 'repeated' }
  /** No driver goes there, or not at that time: the fields that say why. */
  | { readonly kind: 'unserviceable'; readonly fields: readonly FieldError[]; readonly isUntimely?: boolean }
  | {
      readonly kind:
        | 'unauthorized'
        | 'key_used'
        | 'refused'
        | 'queue_full'
        | 'unavailable'
        | 'internal'
        | 'outcome_unknown';
    };

/** Places one order; `orderId` is a new id by default. */
export type PlaceOrderOperation = (
  request: PlaceOrder,
  key: RetailerKey,
  idempotency: Identity | null,
  caller: Caller,
  orderId?: string,
) => Promise<PlaceOrderOutcome>;

/**
 * Places an order: locates the pickup, judges the distance, claims the nearest driver, commits, and waits a
 * bounded time for the charge. Only a driver lost to another process leads back, to the next claim.
 */
export function createPlaceOrder(deps: {
  readonly tiers: Pick<LoadedTiers, 'get'>;
  readonly places: Places;
  readonly matcher: Matcher;
  readonly waitingRoom: WaitingRoom;
  readonly groupCommit: Pick<GroupCommit, 'commit'>;
  readonly relay: Pick<Relay, 'relay'>;
  readonly fleet: Pick<Fleet, 'markStale'>;
  readonly redispatch: Pick<Redispatch, 'driverAvailable' | 'orderQueued' | 'recheckDriver'>;
  readonly unknownOutcomes: Pick<UnknownOutcomes, 'add'>;
  readonly paymentWait: Pick<PaymentWait, 'paymentWithin'>;
  readonly events: Pick<OrderEvents, 'orderChanged' | 'orderGiven' | 'storeChanged'>;
  readonly clock: Clock;
}): PlaceOrderOperation {
  const { matcher } = deps;

  return async function placeOrder(request, key, idempotency, caller, orderId = newId()) {
    const tier = deps.tiers.get(request.tierId);
    const nowMs = deps.clock.now();
    const untimely = request.extras ? timeErrors(request.extras, nowMs) : [];
    const wrong = [...addressErrors(deps.places, request.dropoffAddress), ...untimely];
    if (wrong.length > 0) return { kind: 'unserviceable', fields: wrong, isUntimely: untimely.length > 0 };
    const located = await locatePickup(deps.places, request.pickupAddress, key);
    const tooFar = distanceErrors(deps.places, request.dropoffAddress, located, tier);
    if (tooFar.length > 0) return { kind: 'unserviceable', fields: tooFar };
    const pickup = request.extras?.scenario?.driver === 'none' ? { ...located, point: NO_DRIVERS_LAND } : located;
    // A job asks the geocoder later.
    const dropoff = dropoffByZip(deps.places, request.dropoffAddress);
    const draft = draftOrder({ id: orderId, request, tier, dropoff, idempotency }, key, pickup);
    const trip = { tier, pickup: pickup.point, dropoff: dropoff?.point ?? null };
    const dueMs = request.extras && dispatchFrom(request.extras, trip, nowMs);
    if (dueMs !== null) return commitWaiting({ ...draft, dispatchFromMs: dueMs }, caller);
    if (waitsForPlan(request.extras ?? NO_TIMES, trip, nowMs)) return commitWaiting(draft, caller);
    return (await claimAndCommit(draft, caller)) ?? commitWaiting(draft, caller);
  };

  /**
   * Claims the nearest driver and commits. An order that loses the race for a driver claims the next nearest
   * and joins the next commit. Null if no driver is left, or if the store is held; then nothing was written.
   */
  async function claimAndCommit(draft: NewOrder, caller: Caller): Promise<PlaceOrderOutcome | null> {
    const lost = new Set<string>();
    for (let attempt = 0; attempt < MAX_CLAIM_ATTEMPTS; attempt++) {
      const driver = claim(draft, lost);
      if (!driver) return null;
      const order = { ...draft, driver };
      const outcome = await deps.groupCommit.commit(order, caller);
      if (outcome.kind === 'created') return assigned(order, outcome.order, driver.driverId);
      releaseClaim(driver.driverId, draft.id, outcome.kind);
      hear(draft.request.retailerId, outcome.kind);
      if (outcome.kind === 'held') return null;
      if (outcome.kind !== 'driver_lost') return refused(order, outcome.kind);
      lost.add(driver.driverId);
    }
    return null;
  }

  /**
   * Follows the commit of an order with a driver: relays its jobs, tells subscribers, waits for the charge.
   */
  async function assigned(order: NewOrder, committed: CommittedOrder, driverId: string): Promise<PlaceOrderOutcome> {
    // Before the charge is handed over, which does not wait for others where a reply waits for it.
    const payment = deps.paymentWait.paymentWithin(order.id);
    deps.relay.relay(committed.outbox);
    hear(order.request.retailerId, 'created');
    const undone = matcher.holderOf(order.id) !== driverId;
    if (undone) matcher.claim(driverId, order.id);
    deps.fleet.markStale(driverId);
    deps.events.orderChanged(order.id, driverId);
    deps.events.orderGiven(driverId);
    // A rebuild undid the claim, or the order ended before this reply: the tables know who carries it.
    if (undone) deps.redispatch.recheckDriver(driverId);
    else if (matcher.hasRoomBeside(driverId)) deps.redispatch.driverAvailable(driverId);
    const driverMeters = order.driver?.shownMeters ?? null;
    return created(order, committed, 'driver_assigned', await payment, driverMeters);
  }

  /**
   * Commits an order without a driver, uncharged, to wait for one or for its time, if there is room. Its fair
   * start is taken now, so that orders that come together queue up behind each other; that of one for later is
   * taken when it is due.
   */
  async function commitWaiting(draft: NewOrder, caller: Caller): Promise<PlaceOrderOutcome> {
    const { retailerId } = draft.request;
    const isLater = draft.dispatchFromMs !== undefined;
    if (!deps.waitingRoom.enter(retailerId, isLater)) return { kind: 'queue_full' };
    const order = isLater ? draft : { ...draft, fairStartMs: matcher.fairStart(retailerId, deps.clock.now()) };
    try {
      const outcome = await deps.groupCommit.commit(order, caller);
      if (outcome.kind !== 'created') return refused(order, outcome.kind);
      const committed = outcome.order;
      deps.relay.relay(committed.outbox);
      matcher.wait(waitingOrder(order, committed));
      // A driver may have become free during the commit.
      if (!isLater) deps.redispatch.orderQueued(order.id);
      return created(order, committed, 'pending_dispatch', 'not_charged');
    } finally {
      deps.waitingRoom.leave(retailerId, isLater);
    }
  }

  function refused(order: NewOrder, why: Exclude<CommitOutcome['kind'], 'created'>): PlaceOrderOutcome {
    // If it is committed after all, its notice brings it into memory, and its driver is rung.
    if (why === 'unknown') deps.unknownOutcomes.add(order.id, order.driver?.driverId);
    return { kind: REFUSALS[why] };
  }

  /** Claims the nearest driver, and lists the candidates rejected at that moment. */
  function claim(order: NewOrder, lost: ReadonlySet<string>): ChosenDriver | null {
    const { retailerId, extras } = order.request;
    const nowMs = deps.clock.now();
    const query = {
      tierId: order.tier.id,
      point: order.pickup,
      radiusMeters: order.tier.radiusMeters,
      nowMs,
      size: extras?.size,
      dropoff: order.dropoff?.point,
      readyAtMs: extras?.readyAt?.getTime(),
      deliverAfterMs: extras?.deliverAfter?.getTime(),
      deliverByMs: promiseOf(extras ?? NO_TIMES, order.tier, nowMs).getTime(),
    };
    const chosen = matcher.claimNearest({ ...query, exclude: lost, orderId: order.id, retailerId });
    if (!chosen) return null;
    // A read of the driver that began before knows nothing of the claim, and is repeated.
    deps.fleet.markStale(chosen.driverId);
    const { driverId, slot } = chosen;
    const rejectedCandidates = matcher.rejectedCandidates({ ...query, chosen, lost });
    return { driverId, slot, shownMeters: matcher.shownMeters(chosen, order.pickup), rejectedCandidates };
  }

  /** An order took credit, used or not, or memory believed in credit that is not there. */
  function hear(retailerId: string, outcome: CommitOutcome['kind']): void {
    if (outcome === 'held') matcher.setHold({ retailerId, reason: 'payment_required', credit: 0 });
    if (outcome === 'created' || outcome === 'unknown') matcher.noteAssigned(retailerId);
    if (matcher.isWatched(retailerId)) deps.events.storeChanged(retailerId);
  }

  /**
   * Undoes a claim. If memory may be wrong about the driver, they are read again, while the next claim goes
   * on.
   */
  function releaseClaim(driverId: string, orderId: string, outcome: Exclude<CommitOutcome['kind'], 'created'>): void {
    if (outcome === 'driver_lost') matcher.setAside(driverId, orderId, deps.clock.now());
    else if (outcome !== 'unknown') {
      matcher.release(driverId, deps.clock.now(), orderId);
      deps.redispatch.driverAvailable(driverId);
    }
    if (outcome === 'driver_lost' || outcome === 'unknown') deps.redispatch.recheckDriver(driverId);
  }
}

const REFUSALS = {
  key_dead: 'unauthorized',
  key_used: 'key_used',
  repeated: 'repeated',
  // Only an order with a driver can lose one, or be held.
  driver_lost: 'internal',
  held: 'internal',
  refused: 'refused',
  failed: 'internal',
  unavailable: 'unavailable',
  unknown: 'outcome_unknown',
} as const;

function created(
  order: NewOrder,
  committed: CommittedOrder,
  status: OrderStatus,
  paymentStatus: PaymentStatus,
  driverMeters: number | null = null,
): PlaceOrderOutcome {
  const { id, tier, trackingToken, pickup, dispatchFromMs } = order;
  const { createdAt, deliverBy } = committed;
  const { externalId = null, readyAt = null, deliverAfter = null } = order.request.extras ?? {};
  const times = { readyAt, deliverAfter, deliverBy, dispatchFrom: asDate(dispatchFromMs) };
  const dropoff = order.dropoff && { ...order.dropoff.point, accuracyMeters: order.dropoff.accuracyMeters };
  const estimatedDelivery = firstEstimate({ ...times, createdAt, pickup, dropoff }, driverMeters);
  return {
    kind: 'created',
    order: {
      id,
      status,
      tierId: tier.id,
      feeCents: tier.feeCents,
      paymentStatus,
      trackingToken,
      createdAt,
      externalId,
      deliverBy,
      estimatedDelivery,
      isForLater: status === 'pending_dispatch' && estimatedDelivery !== null,
    },
  };
}

/** A committed order without a driver, as the matcher needs it. */
function waitingOrder(order: NewOrder, { createdAt, deliverBy }: CommittedOrder): WaitingOrder {
  const { id: orderId, tier, pickup: point, dropoff, fairStartMs, dispatchFromMs: dueMs, request } = order;
  const createdMs = createdAt.getTime();
  return {
    orderId,
    retailerId: request.retailerId,
    tierId: tier.id,
    point,
    sinceMs: dueMs ?? createdMs,
    fairStartMs,
    dueMs,
    size: request.extras?.size,
    readyAtMs: request.extras?.readyAt?.getTime() ?? createdMs,
    deliverAfterMs: request.extras?.deliverAfter?.getTime(),
    deliverByMs: deliverBy.getTime(),
    dropoff: dropoff?.point ?? null,
  };
}

const asDate = (ms: number | undefined): Date | null => (ms === undefined ? null : new Date(ms));

function draftOrder(
  given: Pick<NewOrder, 'id' | 'request' | 'tier' | 'dropoff' | 'idempotency'>,
  key: RetailerKey,
  pickup: LocatedPickup,
): NewOrder {
  return {
    ...given,
    customerId: newId(),
    dropoffAddressId: newId(),
    trackingToken: newTrackingToken(),
    keyId: key.keyId,
    pickup: pickup.point,
    pickupPointSource: pickup.source,
    driver: null,
  };
}
