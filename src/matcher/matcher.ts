import type { FleetDriver } from '../domain/driver.ts';
import type { RejectedCandidate } from '../domain/rejected-candidate.ts';
import type { Tiers } from '../domain/tier.ts';
import type { Point } from '../geo/point.ts';
import { MAX_BATCH } from '../limits.ts';
import { type DriverQuery, Drivers, type FoundDriver } from './drivers.ts';
import { type Match, matchDrivers, matchOrders, queryFor } from './gather.ts';
import { type Decision, rejectedCandidates } from './rejected-candidates.ts';
import { type FoundOrder, type WaitingOrder, WaitingOrders } from './waiting.ts';

export type { Decision, DriverQuery, FoundDriver, FoundOrder, Match, WaitingOrder };

/** What became of an assignment that was begun: the row took it, or refused the driver, or the order waits no more. */
export type AssignOutcome = 'assigned' | 'driver_lost' | 'order_gone';

export type WaitReason = 'no_driver_on_duty' | 'none_qualified' | 'all_drivers_busy' | 'none_in_radius';

/**
 * Who is free and who waits, in memory: a view of the tables that answers in microseconds. Synchronous, without clock
 * or I/O: what is asked and what is marked can't be torn apart by another request. Points must be valid (`isPoint`);
 * times are milliseconds since 1970 by the database's clock and are handed in.
 *
 * A driver is available for an order when he is on duty, carries nothing, reported his position within
 * `POSITION_FRESH_MS`, serves the order's tier and is within its radius. "Nearest" is by `distanceMeters`, exactly; of
 * drivers at the same distance the one who has been free longest counts as nearer, then the one with the smaller id.
 *
 * A new order claims its driver before its row is written: {@link claimNearest}, then the write, then nothing where it
 * went through (calling {@link claim} again is harmless and undoes what a reading in between undid), {@link release}
 * where nothing was written, {@link setAside} where the row refused the driver.
 *
 * A waiting order is assigned in two steps: {@link beginAssign} marks order and driver, so neither is picked again while
 * the write is in flight, and {@link endAssign} must follow in every case. Between the two the order still counts as
 * waiting, and everything else may happen to both: the order may be taken out (`unwait`) or put again, the driver
 * removed, replaced or sent off duty.
 */
export class Matcher {
  private readonly drivers = new Drivers();
  private readonly waiting = new WaitingOrders();
  /** The orders whose assignment is in flight, each with its driver. */
  private readonly assigning = new Map<string, string>();
  private tiers: Tiers;

  constructor(tiers: Tiers) {
    this.tiers = tiers;
  }

  setTiers(tiers: Tiers): void {
    this.tiers = tiers;
  }

  // --- Drivers ----------------------------------------------------------------------------------------------------

  /**
   * Inserts a driver or replaces all that is known of him by what the database says. Only a position stays that is
   * newer than the given one, since positions are written behind.
   */
  putDriver(driver: FleetDriver): void {
    this.drivers.put(driver);
  }

  /** The same for many, such as all at start: several times faster than one by one. */
  putDrivers(drivers: readonly FleetDriver[]): void {
    this.drivers.putAll(drivers);
  }

  /** False where the driver is unknown. */
  removeDriver(driverId: string): boolean {
    return this.drivers.remove(driverId);
  }

  /** Takes a position report. False where the driver is unknown or a newer position is known; nothing changes then. */
  moveDriver(driverId: string, point: Point, atMs: number): boolean {
    return this.drivers.move(driverId, point, atMs);
  }

  /** Sends a driver on or off duty; an order he carries stays his. Coming on duty he is free since now. */
  setDuty(driverId: string, onDuty: boolean, nowMs: number): boolean {
    return this.drivers.setDuty(driverId, onDuty, nowMs);
  }

  driver(driverId: string): FleetDriver | undefined {
    return this.drivers.get(driverId);
  }

  /** The order that a driver holds; null for none, and for an unknown driver. */
  orderOf(driverId: string): string | null {
    return this.drivers.orderOf(driverId);
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

  /** Drivers on duty who carry nothing, wherever they are and however old their position. */
  freeCount(): number {
    return this.drivers.counts().free;
  }

  // --- Claiming ---------------------------------------------------------------------------------------------------

  /** The nearest available driver. */
  nearest(query: DriverQuery): FoundDriver | undefined {
    return this.drivers.nearest(query);
  }

  /** The nearest available driver, who now holds the order. */
  claimNearest(query: DriverQuery & { readonly orderId: string }): FoundDriver | undefined {
    const found = this.drivers.nearest(query);
    if (found) this.drivers.claim(found.driverId, query.orderId);
    return found;
  }

  /** Gives this driver the order. False where he is unknown or holds another; true where he holds this one already. */
  claim(driverId: string, orderId: string): boolean {
    return this.drivers.claim(driverId, orderId);
  }

  /** Makes a driver free since now. False where he is unknown, or does not hold the given order, or any. */
  release(driverId: string, nowMs: number, orderId?: string): boolean {
    return this.drivers.release(driverId, orderId, nowMs);
  }

  /**
   * Takes the order from a driver whom the database refused for it: what is known of him here is wrong. He is passed
   * over until `putDriver`, `setDuty`, `claim` or `release` says something new of him, or until he reports a position
   * `SET_ASIDE_MS` later. False where he does not hold that order.
   */
  setAside(driverId: string, orderId: string, nowMs: number): boolean {
    return this.drivers.setAside(driverId, orderId, nowMs);
  }

  // --- Waiting orders ---------------------------------------------------------------------------------------------

  /** Inserts a waiting order or replaces it. Asking `waitingCount` first, and refusing, is the caller's part. */
  wait(order: WaitingOrder): void {
    this.waiting.put(order, this.assigning.has(order.orderId));
  }

  /** Takes an order out of the waiting ones: it was assigned, cancelled or expired. False where it did not wait. */
  unwait(orderId: string): boolean {
    return this.waiting.delete(orderId);
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

  /** All waiting orders, the first to come first. Orders may come and go while it runs. */
  waitingOrders(): IterableIterator<WaitingOrder> {
    return this.waiting.all();
  }

  /** The next up to `limit` waiting orders in turn, fewer at the end of a round; for going through all bit by bit. */
  nextWaiting(limit: number): WaitingOrder[] {
    return this.waiting.next(limit);
  }

  /**
   * The waiting order that this driver should be given: the strongest claim (time waited × the tier's weight) among
   * those he is available for; then the nearest, then the smallest id. Undefined where he is not available himself.
   */
  bestWaitingFor(driverId: string, nowMs: number): FoundOrder | undefined {
    if (this.waiting.size === 0) return undefined;
    const place = this.drivers.placeOfAvailable(driverId, nowMs);
    return place && this.waiting.strongestClaim({ driverId, ...place }, this.tiers, nowMs);
  }

  /** The nearest driver available for a waiting order within the radius it has by now, without those it excludes. */
  bestDriverFor(orderId: string, nowMs: number, alsoExclude?: ReadonlySet<string>): FoundDriver | undefined {
    const order = this.waiting.get(orderId);
    const tier = order && this.tiers.get(order.tierId);
    if (!tier || this.assigning.has(orderId)) return undefined;
    const query = queryFor(order, tier, nowMs);
    const { exclude } = query;
    const both = exclude && alsoExclude ? new Set([...exclude, ...alsoExclude]) : (alsoExclude ?? exclude);
    return this.drivers.nearest({ ...query, exclude: both });
  }

  // --- Several at once --------------------------------------------------------------------------------------------

  /** Whether a driver could be given an order now, wherever one waits. */
  isAvailable(driverId: string, nowMs: number): boolean {
    return this.drivers.placeOfAvailable(driverId, nowMs) !== undefined;
  }

  /** Drivers who could be given an order now, in no order. Reads all drivers through. */
  availableDrivers(nowMs: number): string[] {
    return this.drivers.availableIds(nowMs);
  }

  /** Which of the first `MAX_BATCH` of these waiting orders go to whom, at least cost (`batch.ts`). Marks nothing. */
  matchOrders(orderIds: readonly string[], nowMs: number): Match[] {
    const orders = orderIds
      .slice(0, MAX_BATCH)
      .flatMap((orderId) => this.waiting.get(orderId) ?? [])
      .filter((order) => !this.assigning.has(order.orderId) && this.tiers.has(order.tierId));
    return matchOrders(orders, this.drivers, this.tiers, nowMs);
  }

  /** Which waiting orders the first `MAX_BATCH` of these drivers should get, at least cost. Marks nothing. */
  matchDrivers(driverIds: readonly string[], nowMs: number): Match[] {
    return matchDrivers(driverIds.slice(0, MAX_BATCH), this.waiting, this.drivers, this.tiers, nowMs);
  }

  // --- Why him and not another ------------------------------------------------------------------------------------

  /** Who was considered for an order and passed over, and why. To be asked in the moment of the decision. */
  rejectedCandidates(decision: Decision): RejectedCandidate[] {
    return rejectedCandidates(this.drivers, decision);
  }

  /** The same for a waiting order that is being assigned; empty where it does not wait. */
  rejectedCandidatesFor(
    orderId: string,
    chosen: FoundDriver,
    nowMs: number,
    lost?: ReadonlySet<string>,
  ): RejectedCandidate[] {
    const order = this.waiting.get(orderId);
    const tier = order && this.tiers.get(order.tierId);
    return tier ? rejectedCandidates(this.drivers, { ...queryFor(order, tier, nowMs), chosen, lost }) : [];
  }

  // --- Assigning --------------------------------------------------------------------------------------------------

  /** Marks a waiting order and a free driver for each other. False, and nothing marked, where one of them is not. */
  beginAssign(orderId: string, driverId: string): boolean {
    if (!this.waiting.has(orderId) || this.assigning.has(orderId) || !this.drivers.isFree(driverId)) return false;
    this.drivers.claim(driverId, orderId);
    this.waiting.hide(orderId);
    this.assigning.set(orderId, driverId);
    return true;
  }

  /**
   * Ends what {@link beginAssign} began. `assigned`: the driver holds the order, which waits no more. `driver_lost`: the
   * order waits as before and the driver is set aside. `order_gone`: the order waits no more and the driver is as free
   * as before. False where nothing was begun.
   */
  endAssign(orderId: string, outcome: AssignOutcome, nowMs: number): boolean {
    const driverId = this.assigning.get(orderId);
    if (driverId === undefined) return false;
    this.assigning.delete(orderId);
    if (outcome === 'driver_lost') {
      this.drivers.setAside(driverId, orderId, nowMs);
      this.waiting.show(orderId);
      return true;
    }
    this.waiting.delete(orderId);
    if (outcome === 'assigned') this.drivers.assign(driverId, orderId);
    else this.drivers.unclaim(driverId, orderId);
    return true;
  }

  /**
   * Why an order waits, the first that holds of: nobody is on duty at all; none of those on duty serves the tier; all
   * of those carry an order; the free ones are beyond the radius or have been silent for too long. Drivers whom the
   * order excludes do not count, except as on duty. Undefined where the order does not wait. Costs no search.
   */
  whyWaiting(orderId: string): WaitReason | undefined {
    const order = this.waiting.get(orderId);
    if (!order) return undefined;
    let { onDuty, free } = this.drivers.counts(order.tierId);
    for (const driverId of order.excludedDriverIds ?? []) {
      if (!this.drivers.serves(driverId, order.tierId)) continue;
      if (this.drivers.get(driverId)?.onDuty) onDuty--;
      if (this.drivers.isFree(driverId)) free--;
    }
    if (this.drivers.counts().onDuty === 0) return 'no_driver_on_duty';
    if (onDuty === 0) return 'none_qualified';
    return free === 0 ? 'all_drivers_busy' : 'none_in_radius';
  }
}
