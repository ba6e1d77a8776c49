import type { Lease } from '../domain/plan.ts';
import type { ChosenDriver } from '../domain/rejected-candidate.ts';
import type { FoundDriver, Matcher, WaitingOrder } from '../matcher/matcher.ts';
import type { Clock } from '../postgres/clock.ts';
import type { Relay } from '../queues/relay.ts';
import type { ChangedOrder } from '../store/orders/changes.ts';
import type { AssignOutcome, Surplus } from '../store/orders/orders.ts';
import type { Store } from '../store/store.ts';
import { errorFields, type Logger } from '../telemetry.ts';
import type { Fleet } from './fleet.ts';
import type { OrderEvents } from './order-events.ts';
import { chosenDriver, type PlannedChoice } from './planned-choice.ts';
import type { UnknownOutcomes } from './unknown-outcomes.ts';

/** Most orders that are matched in one turn of the event loop, and so statements at once. */
export const MATCHED_AT_ONCE = 16;
/** Most follow-ups of an assignment that the database refused. A race mostly ends after one. */
const MAX_FOLLOW_UPS = 4;

export type Redispatch = ReturnType<typeof createRedispatch>;

export type RedispatchParts = {
  readonly store: Pick<Store, 'assignWaiting' | 'expireOrder' | 'expireSurplus'>;
  readonly matcher: Matcher;
  readonly fleet: Pick<Fleet, 'refreshDrivers' | 'refreshOrders' | 'markStale'>;
  readonly unknownOutcomes: Pick<UnknownOutcomes, 'watch' | 'addDriver' | 'takeGift'>;
  readonly relay: Pick<Relay, 'relay'>;
  readonly events: Pick<OrderEvents, 'orderChanged' | 'orderGiven' | 'orderTaken' | 'storeChanged'>;
  /** Resolves once the planner has looked at a driver; null where this process plans nothing. */
  readonly nextLook?: (driverId: string) => Promise<void> | null;
  readonly unpaidAllowed?: number | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
};

/**
 * Assigns waiting orders to drivers. Each assignment is one conditional update; memory is marked before it and
 * corrected after it. A method that returns nothing starts work and logs its failure; the sweep makes up for it.
 */
export function createRedispatch(parts: RedispatchParts) {
  const { store, matcher, fleet, events, clock, logger } = parts;

  // While an assignment is being written, no other event finds its order or its driver. After a refused write
  // the one that is left is therefore matched again. The number of these follow-ups is bounded, because only
  // agreement of memory and tables would end them.
  async function matchDriver(driverId: string, followUps = MAX_FOLLOW_UPS): Promise<void> {
    // What is planned for a driver goes before what anybody free may have.
    await parts.nextLook?.(driverId);
    for (let left = followUps; ; ) {
      const best = matcher.bestWaitingFor(driverId, clock.now());
      if (!best) return;
      const outcome = await assign(best.orderId, { driverId, distanceMeters: best.distanceMeters });
      if (outcome === 'order_gone') continue;
      // What waits at the same store may go along.
      if (outcome === 'assigned' && matcher.hasRoomBeside(driverId)) continue;
      if ((outcome !== 'driver_lost' && outcome !== 'held') || left-- === 0) return;
      if (outcome === 'driver_lost') await matchOrder(best.orderId, left);
    }
  }

  async function matchOrder(orderId: string, followUps = MAX_FOLLOW_UPS): Promise<void> {
    const lost = new Set<string>();
    for (;;) {
      const driver = matcher.bestDriverFor(orderId, clock.now(), lost);
      if (!driver) break;
      const outcome = await assign(orderId, driver, lost);
      if (outcome === 'order_gone' || outcome === 'held') lost.add(driver.driverId);
      if (outcome === 'assigned' && matcher.hasRoomBeside(driver.driverId)) lost.add(driver.driverId);
      if (outcome !== 'driver_lost') break;
      lost.add(driver.driverId);
    }
    // The drivers who did not get it were read again; a free one takes another order.
    if (followUps > 0) for (const driverId of lost) await matchDriver(driverId, followUps - 1);
  }

  /**
   * Marks order and driver in memory, synchronously, so that no other event picks either. Then the row
   * decides.
   */
  async function assign(
    orderId: string,
    driver: FoundDriver,
    lost?: ReadonlySet<string>,
    planned?: PlannedChoice,
  ): Promise<AssignOutcome['kind'] | 'failed'> {
    // In memory an order can wait and be carried at the same time, if one of the two was read too early.
    const carrier = matcher.holderOf(orderId);
    const drivers = carrier === undefined ? [driver.driverId] : [driver.driverId, carrier];
    if (!matcher.beginAssign(orderId, driver.driverId, clock.now())) return 'failed';
    const order = matcher.waitingOrder(orderId) as WaitingOrder;
    fleet.markStale(driver.driverId); // A read that began before knows nothing of the mark, and is repeated.
    const chosen = chosenDriver(matcher, order, driver, { nowMs: clock.now(), lost }, planned);
    const outcome = await write(orderId, chosen, planned?.lease);
    hear(order.retailerId, outcome);
    if (outcome === null) {
      matcher.endAssign(orderId, 'driver_lost', clock.now());
      // It may have been written after all: the tables are read, now or by the next sweep. The change feed rings.
      void reread(orderId, drivers).catch(() => undefined);
      return 'failed';
    }
    const overtaken = matcher.holderOf(orderId) !== driver.driverId || matcher.waitingOrder(orderId) !== order;
    // Where another process plans, order and driver are as they were before, as with a store that is held.
    matcher.endAssign(orderId, outcome.kind === 'lease_lost' ? 'held' : outcome.kind, clock.now());
    if (outcome.kind === 'assigned') {
      parts.relay.relay(outcome.outbox);
      fleet.markStale(driver.driverId);
      events.orderChanged(orderId, driver.driverId);
      events.orderGiven(driver.driverId);
      // This rings for an earlier try without an answer, too.
      parts.unknownOutcomes.takeGift(orderId, driver.driverId);
      // A read undid the mark or replaced the order, or the order changed again before this reply.
      if (overtaken || carrier !== undefined) await rematch(orderId, drivers);
    } else {
      // Memory was wrong about one of them. Another process may even have assigned this order to this driver.
      await reread(orderId, drivers);
    }
    return outcome.kind;
  }

  /**
   * The order took credit that it may not use, as one whose charge failed before does not, or memory did not
   * know that its store is held.
   */
  function hear(retailerId: string, outcome: AssignOutcome | null): void {
    if (outcome?.kind === 'held') matcher.setHold({ retailerId, reason: outcome.reason, credit: 0 });
    if (outcome === null || outcome.kind === 'assigned') matcher.noteAssigned(retailerId);
    if (matcher.isWatched(retailerId)) events.storeChanged(retailerId);
  }

  /** Null if the write failed or its outcome is unknown. */
  async function write(orderId: string, driver: ChosenDriver, lease?: Lease): Promise<AssignOutcome | null> {
    try {
      const assigning = store.assignWaiting(orderId, driver, parts.unpaidAllowed, lease);
      return await parts.unknownOutcomes.watch(orderId, assigning, driver.driverId);
    } catch (error) {
      logger.warn({ err: errorFields(error), orderId }, 'a waiting order could not be assigned');
      return null;
    }
  }

  function reread(orderId: string, driverIds: readonly string[]): Promise<unknown> {
    return Promise.all([fleet.refreshDrivers(driverIds), fleet.refreshOrders([orderId])]);
  }

  async function rematch(orderId: string, driverIds: readonly string[]): Promise<void> {
    await reread(orderId, driverIds);
    await matchOrder(orderId);
    for (const driverId of driverIds) await matchDriver(driverId);
  }

  /** Reads a waiting order again and matches it. */
  async function requeue(orderId: string): Promise<void> {
    await fleet.refreshOrders([orderId]);
    await matchOrder(orderId);
  }

  /** Does the same with whoever is nearest, whatever is planned. */
  async function giveAtOnce(orderId: string): Promise<void> {
    await fleet.refreshOrders([orderId]);
    matcher.planned.leave(orderId);
    await matchOrder(orderId);
    // Where nobody is free it is planned again.
    if (matcher.isWaiting(orderId)) matcher.planned.takeBack(orderId);
  }

  /** @param lost called where another process plans by now */
  async function assignPlanned(
    orderId: string,
    driver: FoundDriver,
    planned: PlannedChoice,
    lost: () => void,
  ): Promise<void> {
    const outcome = await assign(orderId, driver, undefined, planned);
    if (outcome === 'lease_lost') lost();
  }

  /**
   * Matches up to MATCHED_AT_ONCE orders: each takes the nearest driver whom none before it took. A driver is marked in
   * the turn of the event loop in which an order finds them, so that the next one does not.
   */
  async function matchOrders(orderIds: readonly string[]): Promise<void> {
    await Promise.all(orderIds.map((orderId) => matchOrder(orderId)));
  }

  /** Expires an order whose time is up. */
  async function expire(orderId: string): Promise<void> {
    const expired = await parts.unknownOutcomes.watch(orderId, store.expireOrder(orderId));
    if (expired) followExpiry(expired);
  }

  /**
   * Expires waiting orders before their time is up, and forgets their lost replies; returns how many. After an unknown
   * outcome the sweep finds the orders that wait in memory only.
   */
  async function expireSurplus(surplus: Surplus): Promise<number> {
    const expired = await store.expireSurplus(surplus);
    for (const order of expired) followExpiry(order);
    return expired.length;
  }

  function followExpiry({ id, outbox }: ChangedOrder): void {
    parts.relay.relay(outbox);
    matcher.unwait(id);
    events.orderChanged(id, null);
  }

  function start(work: Promise<unknown>, message: string): void {
    work.catch((error) => logger.warn({ err: errorFields(error) }, message));
  }

  /** A driver came on duty, became free or moved: they take the waiting order of least cost in reach. */
  function driverAvailable(driverId: string): void {
    start(matchDriver(driverId), 'a free driver could not be matched');
  }

  return {
    driverAvailable,
    /** A driver no longer carries this order: memory releases them, and they take a waiting order. */
    driverFreed(driverId: string, orderId: string): void {
      matcher.release(driverId, clock.now(), orderId);
      fleet.markStale(driverId);
      driverAvailable(driverId);
    },
    /** Memory may be wrong about a driver: they are read again, and take a waiting order if they are free. */
    recheckDriver(driverId: string): void {
      const rechecked = fleet.refreshDrivers([driverId]).catch((error) => {
        // The change feed tries until it succeeds.
        parts.unknownOutcomes.addDriver(driverId);
        throw error;
      });
      start(
        rechecked.then(() => matchDriver(driverId)),
        'a driver could not be read again',
      );
    },
    /** A new order waits: it takes the nearest driver who became free meanwhile. */
    orderQueued: (orderId: string) => start(matchOrder(orderId), 'a new waiting order could not be matched'),
    /** A driver released an order: it is read again, and takes the nearest driver. */
    orderReleased: (orderId: string) => start(requeue(orderId), 'a released order could not be matched'),
    /** Matches a driver with waiting orders until one is theirs or none is left; resolves when that is written. */
    matchDriver: (driverId: string) => matchDriver(driverId),
    /** Matches a waiting order with free drivers, nearest first; resolves when the result is written. */
    matchOrder: (orderId: string) => matchOrder(orderId),
    /** Gives a driver an order as the planner says, without being waited for. */
    assignPlanned: (...args: Parameters<typeof assignPlanned>) =>
      start(assignPlanned(...args), 'a planned order could not be assigned'),
    matchOrders,
    requeue,
    giveAtOnce,
    expire,
    expireSurplus,
  };
}
