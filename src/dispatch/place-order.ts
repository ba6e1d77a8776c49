import type { DropoffPoint } from '../domain/dropoff.ts';
import type { FieldError } from '../domain/errors.ts';
import type { Identity } from '../domain/idempotency.ts';
import { newId, newTrackingToken } from '../domain/ids.ts';
import type { CreatedOrder, OrderStatus, PaymentStatus, PlaceOrder } from '../domain/order.ts';
import type { ChosenDriver } from '../domain/rejected-candidate.ts';
import { NO_DRIVERS_LAND } from '../domain/scenario.ts';
import type { Tier } from '../domain/tier.ts';
import { DEFAULT_PROMISE_MS, MAX_CLAIM_ATTEMPTS } from '../limits.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Clock } from '../postgres/clock.ts';
import type { Relay } from '../queues/relay.ts';
import type { CommittedOrder, NewOrder } from '../store/orders-create.ts';
import type { RetailerKey } from '../store/retailers.ts';
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

/** The result of placing an order. All but `created` and `outcome_unknown` wrote nothing. */
export type PlaceOrderOutcome =
  | { readonly kind: 'created'; readonly order: CreatedOrder }
  /** The lost reply of an equal request without a key holds this one back. */
  | { readonly kind: 'repeated' }
  /** No driver goes there: the dropoff's fields that say why. */
  | { readonly kind: 'unserviceable'; readonly fields: readonly FieldError[] }
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
    const wrong = addressErrors(deps.places, request.dropoffAddress);
    if (wrong.length > 0) return { kind: 'unserviceable', fields: wrong };
    const located = await locatePickup(deps.places, request.pickupAddress, key);
    const tooFar = distanceErrors(deps.places, request.dropoffAddress, located, tier);
    if (tooFar.length > 0) return { kind: 'unserviceable', fields: tooFar };
    const pickup = request.extras?.scenario?.driver === 'none' ? { ...located, point: NO_DRIVERS_LAND } : located;
    // A job asks the geocoder later.
    const dropoff = dropoffByZip(deps.places, request.dropoffAddress);
    const draft = draftOrder({ id: orderId, request, key, tier, pickup, dropoff, idempotency });
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
      const outcome = await deps.groupCommit.commit({ ...draft, driver }, caller);
      if (outcome.kind === 'created') return assigned(draft, outcome.order, driver.driverId);
      releaseClaim(driver.driverId, draft.id, outcome.kind);
      hear(draft.request.retailerId, outcome.kind);
      if (outcome.kind === 'held') return null;
      if (outcome.kind !== 'driver_lost') return refused(draft, outcome.kind);
      lost.add(driver.driverId);
    }
    return null;
  }

  /**
   * Follows the commit of an order with a driver: relays its jobs, tells subscribers, waits for the charge.
   */
  async function assigned(order: NewOrder, committed: CommittedOrder, driverId: string): Promise<PlaceOrderOutcome> {
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
    return created(order, committed, 'driver_assigned', await deps.paymentWait.paymentWithin(order.id));
  }

  /**
   * Commits an order without a driver, uncharged, to wait for one, if there is room. Its fair start is taken
   * now, so that orders that come together queue up behind each other.
   */
  async function commitWaiting(draft: NewOrder, caller: Caller): Promise<PlaceOrderOutcome> {
    const { retailerId } = draft.request;
    if (!deps.waitingRoom.enter(retailerId)) return { kind: 'queue_full' };
    const fairStartMs = matcher.fairStart(retailerId, deps.clock.now());
    const order = { ...draft, fairStartMs };
    try {
      const outcome = await deps.groupCommit.commit(order, caller);
      if (outcome.kind !== 'created') return refused(order, outcome.kind);
      const committed = outcome.order;
      deps.relay.relay(committed.outbox);
      const sinceMs = committed.createdAt.getTime();
      const { pickup: point } = order;
      matcher.wait({ orderId: order.id, retailerId, tierId: order.tier.id, point, sinceMs, fairStartMs });
      // A driver may have become free during the commit.
      deps.redispatch.orderQueued(order.id);
      return created(order, committed, 'pending_dispatch', 'not_charged');
    } finally {
      deps.waitingRoom.leave(retailerId);
    }
  }

  function refused(order: NewOrder, why: Exclude<CommitOutcome['kind'], 'created'>): PlaceOrderOutcome {
    // If it is committed after all, its notice brings it into memory.
    if (why === 'unknown') deps.unknownOutcomes.add(order.id);
    return { kind: REFUSALS[why] };
  }

  /** Claims the nearest driver, and lists the candidates rejected at that moment. */
  function claim(order: NewOrder, lost: ReadonlySet<string>): ChosenDriver | null {
    const { retailerId } = order.request;
    const query = {
      tierId: order.tier.id,
      point: order.pickup,
      radiusMeters: order.tier.radiusMeters,
      nowMs: deps.clock.now(),
      dropoff: order.dropoff?.point,
      deliverByMs: deps.clock.now() + DEFAULT_PROMISE_MS,
    };
    const chosen = matcher.claimNearest({ ...query, exclude: lost, orderId: order.id, retailerId });
    return chosen ? { ...chosen, rejectedCandidates: matcher.rejectedCandidates({ ...query, chosen, lost }) } : null;
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
): PlaceOrderOutcome {
  const { id, tier, trackingToken } = order;
  const { createdAt } = committed;
  const externalId = order.request.extras?.externalId ?? null;
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
    },
  };
}

function draftOrder({
  id,
  request,
  key,
  tier,
  pickup,
  dropoff,
  idempotency,
}: {
  readonly id: string;
  readonly request: PlaceOrder;
  readonly key: RetailerKey;
  readonly tier: Tier;
  readonly pickup: LocatedPickup;
  readonly dropoff: DropoffPoint | null;
  readonly idempotency: Identity | null;
}): NewOrder {
  return {
    id,
    customerId: newId(),
    dropoffAddressId: newId(),
    trackingToken: newTrackingToken(),
    keyId: key.keyId,
    request,
    tier,
    pickup: pickup.point,
    pickupPointSource: pickup.source,
    dropoff,
    driver: null,
    idempotency,
  };
}
