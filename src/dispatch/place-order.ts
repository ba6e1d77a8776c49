import { newId, newTrackingToken } from '../domain/ids.ts';
import type { CreatedOrder, PaymentStatus, PlaceOrder } from '../domain/order.ts';
import type { Tier, Tiers } from '../domain/tier.ts';
import { MAX_CLAIM_ATTEMPTS, MAX_WAITING_ORDERS, MAX_WAITING_ORDERS_PER_RETAILER } from '../limits.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { CommittedOrder, NewOrder } from '../store/orders-create.ts';
import type { OutboxRow } from '../store/outbox.ts';
import type { RetailerKey } from '../store/retailers.ts';
import type { CommitOutcome, GroupCommit } from './group-commit.ts';
import type { LocatedPickup } from './locate-pickup.ts';

/** What became of a request to place an order. All but `created` and `outcome_unknown` left nothing behind. */
export type PlaceOrderOutcome =
  | { readonly kind: 'created'; readonly order: CreatedOrder }
  | { readonly kind: 'unauthorized' | 'refused' | 'queue_full' | 'unavailable' | 'internal' | 'outcome_unknown' };

type Created = { readonly order: NewOrder; readonly committed: CommittedOrder };

/**
 * Places an order: locate the pickup, claim the nearest driver, commit, and wait a moment for the charge.
 * Data flows from top to bottom; a driver lost to another process is the only way back.
 */
export function createPlaceOrder(deps: {
  readonly tiers: () => Tiers;
  readonly matcher: Matcher;
  readonly now: () => number;
  readonly locate: (text: string, key: RetailerKey) => Promise<LocatedPickup>;
  readonly groupCommit: GroupCommit;
  readonly relay: (rows: readonly OutboxRow[]) => void;
  readonly refreshDriver: (driverId: string) => void;
  /** The driver's order was committed by this process. */
  readonly assigned: (orderId: string, driverId: string) => void;
  /** The order waits; it is matched once more, since a driver may have become free during its commit. */
  readonly waits: (orderId: string) => void;
  /** Nobody knows whether the order was committed; should it be, its notice will come. */
  readonly unsettled: (orderId: string) => void;
  readonly settledWithin: (orderId: string) => Promise<PaymentStatus>;
}): (request: PlaceOrder, key: RetailerKey) => Promise<PlaceOrderOutcome> {
  const { matcher } = deps;

  return async function placeOrder(request, key) {
    const tier = deps.tiers().get(request.tierId);
    if (!tier) throw new Error(`the tier table has no row ${request.tierId}`);
    const pickup = await deps.locate(request.pickupAddress, key);
    const draft = draftOrder(request, key, tier, pickup);
    const outcome = await claimAndCommit(draft);
    return 'kind' in outcome ? outcome : finish(outcome);
  };

  /** Claims the nearest driver and commits; the loser of a race claims the next nearest and joins the next commit. */
  async function claimAndCommit(draft: NewOrder): Promise<Created | Exclude<PlaceOrderOutcome, { kind: 'created' }>> {
    const lost = new Set<string>();
    for (let attempt = 0; ; attempt++) {
      const driver = attempt < MAX_CLAIM_ATTEMPTS ? claim(draft, lost) : null;
      if (!driver && queueIsFull(draft.request.retailerId)) return { kind: 'queue_full' };
      const order = { ...draft, driver };
      const outcome = await deps.groupCommit.commit(order);
      if (outcome.kind === 'created') return { order, committed: outcome.order };
      if (outcome.kind === 'unknown') deps.unsettled(order.id);
      if (driver) letGo(driver.driverId, order.id, outcome.kind);
      if (outcome.kind !== 'driver_lost') return { kind: REFUSALS[outcome.kind] };
      if (driver) lost.add(driver.driverId);
    }
  }

  function claim(order: NewOrder, exclude: ReadonlySet<string>): NewOrder['driver'] {
    const query = {
      orderId: order.id,
      tierId: order.tier.id,
      point: order.pickup,
      radiusMeters: order.tier.radiusMeters,
      nowMs: deps.now(),
      exclude,
    };
    return matcher.claimNearest(query) ?? null;
  }

  /** The order did not get this driver. Where the tables know better, they are read again; the next claim won't wait. */
  function letGo(driverId: string, orderId: string, outcome: Exclude<CommitOutcome['kind'], 'created'>): void {
    if (outcome === 'driver_lost') matcher.setAside(driverId, orderId, deps.now());
    else if (outcome !== 'unknown') matcher.release(driverId, deps.now(), orderId);
    if (outcome === 'driver_lost' || outcome === 'unknown') deps.refreshDriver(driverId);
  }

  function queueIsFull(retailerId: string): boolean {
    return (
      matcher.waitingCount() >= MAX_WAITING_ORDERS ||
      matcher.waitingCountOf(retailerId) >= MAX_WAITING_ORDERS_PER_RETAILER
    );
  }

  /** The order is durable: hand over its jobs, tell who must know, and give the charge its moment. */
  async function finish({ order, committed }: Created): Promise<PlaceOrderOutcome> {
    deps.relay(committed.outbox);
    const { driver, request, tier } = order;
    if (driver) {
      // A rebuild during the commit may have undone the claim; the row stands, so it is claimed again.
      matcher.claim(driver.driverId, order.id);
      deps.assigned(order.id, driver.driverId);
    } else {
      matcher.wait({
        orderId: order.id,
        retailerId: request.retailerId,
        tierId: tier.id,
        point: order.pickup,
        sinceMs: committed.createdAt.getTime(),
      });
      deps.waits(order.id);
    }
    const paymentStatus = driver ? await deps.settledWithin(order.id) : 'not_charged';
    return {
      kind: 'created',
      order: {
        id: order.id,
        status: driver ? 'driver_assigned' : 'pending_dispatch',
        tierId: tier.id,
        feeCents: tier.feeCents,
        paymentStatus,
        trackingToken: order.trackingToken,
        createdAt: committed.createdAt,
      },
    };
  }
}

const REFUSALS = {
  key_dead: 'unauthorized',
  refused: 'refused',
  failed: 'internal',
  unavailable: 'unavailable',
  unknown: 'outcome_unknown',
} as const;

function draftOrder(request: PlaceOrder, key: RetailerKey, tier: Tier, pickup: LocatedPickup): NewOrder {
  return {
    id: newId(),
    customerId: newId(),
    dropoffAddressId: newId(),
    trackingToken: newTrackingToken(),
    keyId: key.keyId,
    request,
    tier,
    pickup: pickup.point,
    pickupPointSource: pickup.source,
    driver: null,
  };
}
