import type { FleetDriver } from '../domain/driver.ts';
import type { HoldReason, StoreHold } from '../domain/hold.ts';
import type { RejectedCandidate } from '../domain/rejected-candidate.ts';
import type { CarriedOrder } from '../domain/route.ts';
import { type KnownPosition, shownMeters } from '../domain/shown-position.ts';
import type { Tier, TierId, Tiers } from '../domain/tier.ts';
import type { WaitingOrder } from '../domain/waiting-order.ts';
import type { Point } from '../geo/point.ts';
import { below } from '../limits.ts';
import { type ClaimedDriver, claimedOf, type NewClaim, poolOrderOf } from './claims.ts';
import { claimOf } from './cost.ts';
import { type DriverQuery, DriverSearch, type FoundDriver } from './driver-search.ts';
import { DriverSlots } from './driver-slots.ts';
import { type ClaimedOrder, Drivers } from './drivers.ts';
import { Gate } from './gate.ts';
import { type LaterOrder, LaterOrders } from './later-orders.ts';
import type { FoundOrder } from './order-search.ts';
import { PlannedOrders } from './planned.ts';
import { type PoolOrder, Pools } from './pools.ts';
import { type Decision, rejectedCandidates } from './rejected-candidates.ts';
import { TierTable } from './tier-table.ts';
import { type SeekingOrder, type WaitReason, waitReason } from './wait-reason.ts';
import { WaitingOrders } from './waiting.ts';
import { countsFrom, queryFor } from './waiting-order.ts';

/**
 * Most waiting orders of a store that are tried for a driver who goes there anyway with one, the oldest first;
 * fewer, in proportion, for one who carries more. A route of 4 takes 0.1 ms to plan, one of 20 some 10 ms.
 */
const MAX_POOL_ORDERS = 32;
/** Most waiting orders of a store that are looked at to find these: others are the planner's, or of unknown doors. */
const MAX_POOL_LOOKS = 256;

below({ MAX_POOL_ORDERS }, { MAX_POOL_LOOKS });

export type { Decision, DriverQuery, FoundDriver, FoundOrder, WaitingOrder, WaitReason };
export { countsFrom };

/**
 * The outcome of an assignment: the row took it, or refused the driver, or refused any driver for now, or the
 * order no longer waits.
 */
export type AssignOutcome = 'assigned' | 'driver_lost' | 'held' | 'order_gone';

/**
 * The free drivers and the waiting orders in memory: a view of the tables that answers in microseconds. It is
 * synchronous, without clock or I/O, so no other request comes between a question and a mark. Points must be
 * valid (`isPoint`). Times are the caller's, in milliseconds since 1970 by the database's clock.
 *
 * A driver is available for an order who is on duty, carries nothing, reported a position within
 * `POSITION_FRESH_MS`, serves the order's tier, is within its radius, has a vehicle for its size and is
 * back before they go home. So is one who has room and goes to that store anyway (`pools.ts`). "Nearest"
 * is by `distanceMeters`, exactly; of drivers at the same distance the one who has been free longest, as far as
 * this process knows, counts as nearer, then the one with the smaller id.
 *
 * A new order claims its driver before its row is written. {@link claimNearest} comes first, then the write.
 * After a write that succeeded nothing is needed, though {@link claim} restores what a read in between may
 * have undone. If nothing was written, {@link release} follows; if the row refused the driver,
 * {@link setAside}.
 *
 * A waiting order is assigned in two steps. {@link beginAssign} asks the gate and marks order and driver, so that
 * neither is picked again while the write is in flight; {@link endAssign} must follow in every case. Between the
 * two the order still counts as waiting, and anything may happen to both: the order may be removed (`unwait`) or
 * put again, and the driver removed, replaced or sent off duty.
 */
export class Matcher {
  private readonly tiers: TierTable;
  private readonly slots: DriverSlots;
  private readonly drivers: Drivers;
  private readonly search: DriverSearch;
  private readonly gate: Gate;
  private readonly waiting: WaitingOrders;
  private readonly later = new LaterOrders();
  private onNextDue: () => void = () => undefined;
  private readonly pools: Pools;
  /** What the planner sees and does here. */
  readonly planned: PlannedOrders;
  /** The orders whose assignment is in flight, each with its driver. */
  private readonly assigning = new Map<string, string>();
  /** By store, how many of its orders may get a driver before it is held; without a bound it is missing. */
  private readonly credits = new Map<string, number>();
  /** Null while no credits are read. */
  private assignedDuringRead: Set<string> | null = null;

  /**
   * @param plans whether a planner gives the waiting orders of tiers whose dispatch mode says so: then no search
   *   here finds them
   * @throws for a table of more than `MAX_TIERS` rows
   */
  constructor(tiers: Tiers, plans = false) {
    this.tiers = new TierTable(tiers);
    this.slots = new DriverSlots(this.tiers);
    this.drivers = new Drivers(this.slots, this.tiers);
    this.search = new DriverSearch(this.slots, this.tiers);
    this.gate = new Gate(this.slots, this.tiers);
    this.waiting = new WaitingOrders(this.tiers, plans);
    this.pools = new Pools(this.slots, this.tiers);
    this.slots.onChange((slot) => this.pools.changed(slot));
    const { drivers, search, waiting, later, assigning } = this;
    const { slots } = this;
    this.planned = new PlannedOrders({ slots, drivers, search, waiting, later, tiers: this.tiers, assigning });
    this.slots.onChange((slot) => this.planned.driverChanged(this.slots.ids[slot] as string));
  }

  /**
   * Takes the rows of the tier table. A tier that is new is served at once by every driver whose row names
   * it; orders of a tier that is gone wait, and get no driver until its row is back. A change of the set of
   * tiers, of a mode or of a weight goes through all drivers and waiting orders, which takes 0.1 to 1 s for a
   * million drivers.
   *
   * @throws for more than `MAX_TIERS` rows; the rows of before stay
   */
  setTiers(tiers: Tiers): void {
    if (!this.tiers.replace(tiers)) return;
    this.slots.tiersChanged();
    this.waiting.tiersChanged();
    this.planned.tiersChanged();
    for (const { orderId } of this.waiting.all()) this.planned.orderChanged(orderId);
    for (const orderId of this.later.ids()) this.planned.orderChanged(orderId);
  }

  /** A tier of the rows that were set last. */
  tier(id: TierId): Tier | undefined {
    return this.tiers.get(id);
  }

  // --- Drivers ---------------------------------------------------------------------------------------------

  /**
   * Inserts a driver, or replaces all that is known of one by the database's row. A position newer than the
   * row's stays, since positions are written behind.
   */
  putDriver(driver: FleetDriver): void {
    this.drivers.put(driver);
  }

  /** Does the same for many, such as all at start: several times faster than one by one. */
  putDrivers(drivers: readonly FleetDriver[]): void {
    this.drivers.putAll(drivers);
  }

  /** False for an unknown driver. */
  removeDriver(driverId: string): boolean {
    return this.drivers.remove(driverId);
  }

  /**
   * Takes a position. False, without effect, for an unknown driver or if a newer position is known, but for one that
   * is of a clock which was set back since, by `nowMs`.
   */
  moveDriver(driverId: string, point: Point, atMs: number, nowMs?: number): boolean {
    return this.drivers.move(driverId, point, atMs, nowMs);
  }

  driver(driverId: string): FleetDriver | undefined {
    return this.drivers.get(driverId);
  }

  /** The orders that a driver holds; none for an unknown driver. */
  carriedBy(driverId: string): readonly CarriedOrder[] {
    return this.drivers.carriedBy(driverId);
  }

  /** Notes what a driver did with an order that they hold. */
  setStep(driverId: string, orderId: string, step: CarriedOrder['step']): void {
    this.drivers.setStep(driverId, orderId, step);
  }

  /** Whether a driver who carries something may carry more. */
  hasRoomBeside(driverId: string): boolean {
    const slot = this.slots.slots.get(driverId);
    return slot !== undefined && this.pools.storeOf(slot) !== undefined;
  }

  driverIds(): Iterable<string> {
    return this.drivers.allIds();
  }

  /** The driver who holds an order, claimed or assigned. */
  holderOf(orderId: string): string | undefined {
    return this.drivers.holderOf(orderId);
  }

  driverCount(): number {
    return this.drivers.counts().all;
  }

  onDutyCount(): number {
    return this.drivers.counts().onDuty;
  }

  /** The number of drivers on duty who carry nothing, wherever they are and however old their position. */
  freeCount(): number {
    return this.drivers.counts().free;
  }

  // --- Claiming --------------------------------------------------------------------------------------------

  /**
   * The nearest available driver, to whom {@link claimNearest} would give the order of a store that is not held. Of a
   * driver who is free and one who takes it along the nearer one is chosen.
   */
  nearest(query: DriverQuery & Partial<NewClaim>): FoundDriver | undefined {
    const order = { orderId: '', ...query };
    const found = this.nearestOfBoth(query, poolOrderOf(order));
    return found && this.gate.allows(found.driverId, query, claimedOf(order)) ? found : undefined;
  }

  /**
   * Gives the order to the nearest available driver, in their first free slot; nobody gets an order of a store that is
   * held.
   */
  claimNearest(query: DriverQuery & NewClaim): ClaimedDriver | undefined {
    const { orderId, retailerId } = query;
    if (retailerId !== undefined && this.holdOf(retailerId) !== null) return undefined;
    const found = this.nearest(query);
    if (!found) return undefined;
    this.drivers.claim(found.driverId, claimedOf(query));
    if (retailerId !== undefined) this.takeCredit(retailerId);
    return { ...found, slot: this.slotOf(orderId) };
  }

  /** The distance in meters of a driver who was found here from a pickup, as the pickup's store may know it. */
  shownMeters({ driverId, distanceMeters }: FoundDriver, pickup: Point): number {
    const position = this.drivers.get(driverId)?.position;
    // Who was found has a position.
    return position ? shownMeters(position, pickup) : distanceMeters;
  }

  /** Gives a driver the order. False for an unknown driver, or one without room. */
  claim(driverId: string, order: string | ClaimedOrder): boolean {
    return this.drivers.claim(driverId, typeof order === 'string' ? claimedOf({ orderId: order }) : order);
  }

  /**
   * Takes an order that another process gave a driver. False, without effect, where memory knows the driver, the
   * slot or the order otherwise.
   */
  carry(driverId: string, order: CarriedOrder): boolean {
    if (this.isWaiting(order.orderId) || this.isLater(order.orderId)) return false;
    return this.drivers.carry(driverId, order);
  }

  /** The slot in which a driver holds an order; 0 for an order that nobody holds. */
  slotOf(orderId: string): number {
    const slot = this.slots.holderOf(orderId);
    const order = slot === undefined ? undefined : this.slots.carriedOf(slot).find((each) => each.orderId === orderId);
    return order?.slot ?? 0;
  }

  /** The nearer of a free driver and one who takes the order along; at the same distance the latter. */
  private nearestOfBoth(query: DriverQuery, order: PoolOrder | undefined): FoundDriver | undefined {
    const free = this.search.nearest(query);
    return (order && this.pools.nearest(order, free?.distanceMeters ?? query.radiusMeters, query.nowMs)) ?? free;
  }

  /** Takes an order from a driver, who is free since now without others. False for one who does not have it. */
  release(driverId: string, nowMs: number, orderId: string): boolean {
    return this.drivers.release(driverId, orderId, nowMs);
  }

  /**
   * Takes the order from a driver whom the database refused for it: what is known here of the driver is
   * wrong. The driver gets no order until `putDriver`, `claim` or `release` brings something new,
   * or until a position `SET_ASIDE_MS` later. False for a driver without that order.
   */
  setAside(driverId: string, orderId: string, nowMs: number): boolean {
    return this.drivers.setAside(driverId, orderId, nowMs);
  }

  // --- Waiting orders --------------------------------------------------------------------------------------

  /**
   * Inserts a waiting order or replaces it. One with `dueMs` waits for its time: it gets no driver, outranks
   * nobody and counts in no share until {@link wake}. The caller checks `waitingCount` first.
   */
  wait(order: WaitingOrder): void {
    const { dueMs, orderId } = order;
    if (dueMs === undefined) {
      this.later.delete(orderId);
      this.waiting.put(order, this.assigning.has(orderId));
    } else {
      this.waiting.delete(orderId);
      this.later.put({ ...order, dueMs });
    }
    this.planned.orderChanged(orderId);
    if (dueMs !== undefined && this.later.nextDueMs === dueMs) this.onNextDue();
  }

  /** Removes an order that was assigned or cancelled, or expired. False for one that does not wait. */
  unwait(orderId: string): boolean {
    const waited = this.later.delete(orderId) || this.waiting.delete(orderId);
    if (waited) this.planned.orderChanged(orderId);
    return waited;
  }

  /** The number of orders that wait for their time. {@link waitingCount} is that of those that wait for a driver. */
  laterCount(): number {
    return this.later.size;
  }

  laterCountOf(retailerId: string): number {
    return this.later.countOf(retailerId);
  }

  isLater(orderId: string): boolean {
    return this.later.get(orderId) !== undefined;
  }

  laterIds(): Iterable<string> {
    return this.later.ids();
  }

  /** When the next of these orders is due; undefined without one. */
  nextDueMs(): number | undefined {
    return this.later.nextDueMs;
  }

  /** Has `listener` called when {@link wait} has made that earlier. */
  whenNextDueChanges(listener: () => void): void {
    this.onNextDue = listener;
  }

  /**
   * Has the orders that are due by now wait for a driver, up to `most` of them, and returns their ids. They
   * count as waiting since they were due, each with the fair start that an order of now has.
   */
  wake(nowMs: number, most = Number.POSITIVE_INFINITY): string[] {
    const woken: string[] = [];
    while (woken.length < most) {
      const order = this.later.takeDue(nowMs);
      if (!order) break;
      this.beginWait(order, order.dueMs, nowMs);
      woken.push(order.orderId);
    }
    return woken;
  }

  private wakeOrder(order: LaterOrder, nowMs: number): void {
    this.later.delete(order.orderId);
    this.beginWait(order, Math.min(nowMs, order.dueMs), nowMs);
  }

  private beginWait({ orderId, ...order }: LaterOrder, sinceMs: number, nowMs: number): void {
    const fairStartMs = order.fairStartMs ?? this.waiting.fairStart(order.retailerId, nowMs);
    this.waiting.put({ ...order, orderId, sinceMs, fairStartMs, dueMs: undefined }, this.assigning.has(orderId));
    this.planned.orderChanged(orderId);
  }

  waitingCount(): number {
    return this.waiting.size;
  }

  waitingCountOf(retailerId: string): number {
    return this.waiting.countOf(retailerId);
  }

  isWaiting(orderId: string): boolean {
    return this.waiting.has(orderId);
  }

  waitingOrder(orderId: string): WaitingOrder | undefined {
    return this.waiting.get(orderId);
  }

  /** All waiting orders in the order of arrival. Orders may come and go during the iteration. */
  waitingOrders(): IterableIterator<WaitingOrder> {
    return this.waiting.all();
  }

  /**
   * Takes the fair start of a store's order that begins to wait now: since when it counts as waiting, in
   * whole milliseconds; undefined if it does so at once. Each call takes a share. {@link wait} with that
   * start must follow, or {@link forgetShares} if the order does not come to wait.
   */
  fairStart(retailerId: string, nowMs: number): number | undefined {
    return this.waiting.fairStart(retailerId, nowMs);
  }

  /** Forgets the shares that a store has taken, if none of its orders waits. */
  forgetShares(retailerId: string): void {
    this.waiting.forgetShares(retailerId);
  }

  /**
   * The waiting order for an available driver: the one of least cost (`cost.ts`) among those the driver is
   * available for; then the nearest, then the smallest id.
   */
  bestWaitingFor(driverId: string, nowMs: number): FoundOrder | undefined {
    if (this.waiting.size === 0) return undefined;
    const place = this.drivers.placeOfAvailable(driverId, nowMs);
    return place ? this.waiting.leastCost({ driverId, ...place }, nowMs) : this.bestToTakeAlong(driverId, nowMs);
  }

  /** The waiting order of the store that a driver goes to anyway which makes their route least longer. */
  private bestToTakeAlong(driverId: string, nowMs: number): FoundOrder | undefined {
    const slot = this.slots.slots.get(driverId);
    const retailerId = slot === undefined ? undefined : this.pools.storeOf(slot);
    if (slot === undefined || retailerId === undefined) return undefined;
    let best: (FoundOrder & { readonly addedMinutes: number }) | undefined;
    // A longer route takes longer to plan.
    let left = Math.ceil(MAX_POOL_ORDERS / this.slots.carriedOf(slot).length);
    for (const order of this.waiting.firstOfRetailer(retailerId, MAX_POOL_LOOKS)) {
      const pooled = this.assigning.has(order.orderId) ? undefined : this.poolOrder(order, nowMs);
      if (!pooled) continue;
      if (left-- === 0) break;
      const found = this.pools.weigh(slot, pooled, nowMs);
      if (found && (!best || found.addedMinutes < best.addedMinutes)) best = { ...found, orderId: order.orderId };
    }
    return best && { orderId: best.orderId, distanceMeters: best.distanceMeters };
  }

  /** A waiting order for the pool; undefined for one that is held, or of which too little is known. */
  private poolOrder(order: WaitingOrder, nowMs: number): PoolOrder | undefined {
    const tier = this.tiers.get(order.tierId);
    if (!tier || !this.waiting.isFree(order)) return undefined;
    return poolOrderOf({ ...order, ...queryFor(order, tier, nowMs) });
  }

  /** The nearest driver available for a waiting order, within the radius that it has by now. */
  bestDriverFor(orderId: string, nowMs: number, alsoExclude?: ReadonlySet<string>): FoundDriver | undefined {
    const order = this.waiting.get(orderId);
    const tier = order && this.tiers.get(order.tierId);
    if (!tier || this.assigning.has(orderId) || !this.waiting.isFree(order)) return undefined;
    const query = queryFor(order, tier, nowMs);
    const { exclude } = query;
    const both = exclude && alsoExclude ? new Set([...exclude, ...alsoExclude]) : (alsoExclude ?? exclude);
    const wanted = { ...query, exclude: both };
    return this.nearestOfBoth(wanted, poolOrderOf({ ...order, ...wanted }));
  }

  /** Why an order waits; undefined for one that does not. Costs no search. */
  whyWaiting(orderId: string): WaitReason | HoldReason | undefined {
    const later = this.later.get(orderId);
    if (later) return this.waiting.holdOf(later) ?? 'not_yet';
    const order = this.waiting.get(orderId);
    return order && (this.waiting.holdOf(order) ?? waitReason(this.drivers, order));
  }

  /** Why an order that nobody can take now would wait. */
  whyNobody(order: SeekingOrder): WaitReason {
    return waitReason(this.drivers, order);
  }

  // --- Held stores -----------------------------------------------------------------------------------------

  /**
   * Holds a store, or lets it go: its waiting orders get no driver while there is a reason, and go on
   * waiting. Without a reason so many of its orders get one as it has credit; the last one holds it with
   * `payment_required` until this is called again. Goes through the store's waiting orders.
   */
  setHold({ retailerId, reason, credit }: StoreHold): void {
    if (reason === null) this.credits.set(retailerId, credit);
    else this.credits.delete(retailerId);
    if (this.waiting.holdOfRetailer(retailerId) !== reason) this.changeHold(retailerId, reason);
  }

  /** Lets a store go that has nothing to be held for. */
  endHold(retailerId: string): void {
    this.credits.delete(retailerId);
    if (this.holdOf(retailerId) !== null) this.changeHold(retailerId, null);
  }

  private changeHold(retailerId: string, reason: HoldReason | null): void {
    this.waiting.setHold(retailerId, reason);
    for (const { orderId } of this.waiting.ofRetailer(retailerId)) this.planned.orderChanged(orderId);
    for (const orderId of this.later.idsOf(retailerId)) this.planned.orderChanged(orderId);
  }

  /** Why a store is held; null for one that is not. */
  holdOf(retailerId: string): HoldReason | null {
    return this.waiting.holdOfRetailer(retailerId);
  }

  /** Whether a store is held, or may be soon. */
  isWatched(retailerId: string): boolean {
    return this.credits.has(retailerId) || this.holdOf(retailerId) !== null;
  }

  /** The stores that are held or may be soon. */
  watchedRetailers(): string[] {
    return [...this.credits.keys(), ...this.waiting.heldRetailers()];
  }

  /** The waiting orders of a store, in the order of arrival. */
  waitingOrdersOf(retailerId: string): WaitingOrder[] {
    return this.waiting.ofRetailer(retailerId);
  }

  /** The number of waiting orders whose store is held for this reason. */
  heldCount(reason: HoldReason): number {
    return this.waiting.heldCount(reason);
  }

  /** Begins to note the stores of `noteAssigned`, before credits are read. */
  beginCreditRead(): void {
    this.assignedDuringRead = new Set();
  }

  /** An order of the store was given a driver in the tables: what is read of its credit may be older. */
  noteAssigned(retailerId: string): void {
    this.assignedDuringRead?.add(retailerId);
  }

  /** The stores that were noted since the read began. */
  endCreditRead(): ReadonlySet<string> {
    const assigned = this.assignedDuringRead ?? new Set();
    this.assignedDuringRead = null;
    return assigned;
  }

  private takeCredit(retailerId: string): void {
    const left = this.credits.get(retailerId);
    if (left === undefined) return;
    if (left > 1) this.credits.set(retailerId, left - 1);
    else this.setHold({ retailerId, reason: 'payment_required', credit: 0 });
  }

  // --- All at once -----------------------------------------------------------------------------------------

  /** Whether a driver may be given an order now, wherever one waits. */
  isAvailable(driverId: string, nowMs: number): boolean {
    return this.drivers.placeOfAvailable(driverId, nowMs) !== undefined;
  }

  /** The drivers who may be given an order now, in any order. Reads all drivers. */
  availableDrivers(nowMs: number): string[] {
    return this.drivers.availableIds(nowMs);
  }

  /**
   * The waiting orders that may go to whoever is free, those with the greatest claim first; null for more than
   * `most`. Of what the planner gives it reads all.
   */
  waitingByClaim(most: number, nowMs: number): string[] | null {
    const found: string[] = [];
    for (const order of this.waiting.all()) {
      if (!this.tiers.get(order.tierId) || !this.waiting.isFree(order)) continue;
      if (found.length === most) return null;
      found.push(order.orderId);
    }
    return this.sortByClaim(found, nowMs);
  }

  /** These waiting orders, those with the greatest claim first, and of equal claims the one that counts longer. */
  sortByClaim(orderIds: readonly string[], nowMs: number): string[] {
    const claims = orderIds.flatMap((orderId) => {
      const order = this.waiting.get(orderId);
      const tier = order && this.tiers.get(order.tierId);
      if (!tier) return [];
      const fromMs = countsFrom(order);
      return [{ orderId, fromMs, claim: claimOf(tier, nowMs - fromMs) }];
    });
    return claims.sort((a, b) => b.claim - a.claim || a.fromMs - b.fromMs).map(({ orderId }) => orderId);
  }

  // --- Assigning -------------------------------------------------------------------------------------------

  /**
   * Marks a waiting order and a driver for each other. False, without effect, if the order does not wait, is
   * held or is being given, or if the driver may not be given it now ({@link Gate}). An order of the planner that
   * waits for its time is woken, as its driver has to leave already.
   */
  beginAssign(orderId: string, driverId: string, nowMs: number): boolean {
    const later = this.later.get(orderId);
    if (later && !this.waiting.isPlanned(later)) return false;
    const order = this.waiting.get(orderId) ?? later;
    const tier = order && this.tiers.get(order.tierId);
    if (!tier || this.waiting.holdOf(order) !== null || this.assigning.has(orderId)) return false;
    const claimed = claimedOf(order);
    if (!this.gate.allows(driverId, queryFor(order, tier, nowMs), claimed)) return false;
    if (later) this.wakeOrder(later, nowMs);
    this.drivers.claim(driverId, claimed);
    this.waiting.hide(orderId);
    this.assigning.set(orderId, driverId);
    this.planned.orderChanged(orderId);
    if (!order.isCharged) this.takeCredit(order.retailerId);
    return true;
  }

  /**
   * Ends what {@link beginAssign} began. `assigned`: the driver holds the order, which no longer waits.
   * `driver_lost`: the order waits as before, and the driver is set aside. `held`: the order waits as before,
   * and the driver is as free as before. `order_gone`: the order no longer waits, and the driver is as free
   * as before. False if nothing was begun.
   */
  endAssign(orderId: string, outcome: AssignOutcome, nowMs: number): boolean {
    const driverId = this.assigning.get(orderId);
    if (driverId === undefined) return false;
    this.assigning.delete(orderId);
    this.planned.orderChanged(orderId);
    if (outcome === 'driver_lost' || outcome === 'held') {
      if (outcome === 'held') this.drivers.unclaim(driverId, orderId);
      else this.drivers.setAside(driverId, orderId, nowMs);
      this.waiting.show(orderId);
      return true;
    }
    const order = this.waiting.get(orderId);
    this.waiting.delete(orderId);
    if (outcome === 'assigned') this.drivers.assign(driverId, claimedOf({ ...order, orderId }));
    else this.drivers.unclaim(driverId, orderId);
    return true;
  }

  // --- Rejected candidates ---------------------------------------------------------------------------------

  /** The rejected candidates of a decision. The caller asks in the moment of the decision. */
  rejectedCandidates(decision: Decision): RejectedCandidate[] {
    return rejectedCandidates(this.drivers, this.search, decision);
  }

  /** The same for a waiting order whose assignment is in flight; empty for an order that does not wait. */
  rejectedCandidatesFor(
    orderId: string,
    chosen: FoundDriver,
    nowMs: number,
    lost?: ReadonlySet<string>,
  ): RejectedCandidate[] {
    const order = this.waiting.get(orderId);
    const tier = order && this.tiers.get(order.tierId);
    return tier ? this.rejectedCandidates({ ...queryFor(order, tier, nowMs), chosen, lost }) : [];
  }
}

/**
 * The last position of an order's driver; null where there is no driver, or none of their positions is known.
 */
export function positionOf(matcher: Pick<Matcher, 'driver'>, driverId: string | null): KnownPosition | null {
  return driverId === null ? null : (matcher.driver(driverId)?.position ?? null);
}
