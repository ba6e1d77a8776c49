import { Groups } from '../domain/groups.ts';
import type { HoldReason } from '../domain/hold.ts';
import type { WaitingOrder } from '../domain/waiting-order.ts';
import { CellIndex } from '../spatial-index/cell-index.ts';
import { FairShares } from './fair-shares.ts';
import { type FoundOrder, OrderSearch, type Seeker } from './order-search.ts';
import type { TierTable } from './tier-table.ts';
import { countsFrom } from './waiting-order.ts';

/**
 * The waiting orders, in an index of their own by place, so that a search for a driver's order costs what the
 * cells around the driver cost, wherever the rest of the queue waits.
 */
export class WaitingOrders {
  private readonly tiers: TierTable;
  private readonly index = new CellIndex();
  private readonly search: OrderSearch;
  private readonly shares = new FairShares();
  private readonly numbers = new Map<string, number>();
  private readonly orders: (WaitingOrder | undefined)[] = [];
  private readonly freeNumbers: number[] = [];
  private readonly byRetailer = new Groups<string, number>();
  private readonly holds = new Map<string, HoldReason>();
  /** Orders that are not found whatever their store's hold. */
  private readonly hidden = new Set<number>();
  /** Whether a planner gives the orders of the tiers that are planned. */
  private readonly plans: boolean;
  /** Orders that the planner left to whoever is free, as it has no room for them. */
  private readonly left = new Set<number>();

  constructor(tiers: TierTable, plans = false) {
    this.tiers = tiers;
    this.plans = plans;
    this.search = new OrderSearch(this.index, tiers, this.orders);
  }

  /** Indexes every order by the tier table of now, after a change of its tiers. */
  tiersChanged(): void {
    for (const number of this.numbers.values()) {
      if (this.index.has(number)) this.place(number);
      this.showOrHide(number);
    }
  }

  /**
   * Whether the planner gives the order to a driver: it is not found for a driver who is free. What the planner
   * cannot plan, as nobody knows the door, it does not give.
   */
  isPlanned({ orderId, tierId, dropoff }: WaitingOrder): boolean {
    if (!this.plans || !dropoff || this.tiers.get(tierId)?.dispatchMode !== 'planned') return false;
    const number = this.numbers.get(orderId);
    return number === undefined || !this.left.has(number);
  }

  /** Whether an order is found for a driver who is free: its store is not held, and it is not the planner's. */
  isFree(order: WaitingOrder): boolean {
    return this.holdOf(order) === null && !this.isPlanned(order);
  }

  /** Leaves an order of the planner to whoever is free, until it is put again. */
  leave(orderId: string): void {
    this.mark(orderId, (number) => this.left.add(number));
  }

  /** Gives an order that was left back to the planner. */
  takeBack(orderId: string): void {
    this.mark(orderId, (number) => this.left.delete(number));
  }

  /** The orders that were left, the first one first. */
  leftIds(): string[] {
    return Array.from(this.left, (number) => (this.orders[number] as WaitingOrder).orderId);
  }

  get size(): number {
    return this.numbers.size;
  }

  countOf(retailerId: string): number {
    return this.byRetailer.of(retailerId).size;
  }

  /** The waiting orders of a store, in the order of arrival. */
  ofRetailer(retailerId: string): WaitingOrder[] {
    return Array.from(this.byRetailer.of(retailerId), (number) => this.orders[number] as WaitingOrder);
  }

  /** The first `limit` of them. */
  *firstOfRetailer(retailerId: string, limit: number): Iterable<WaitingOrder> {
    let left = limit;
    for (const number of this.byRetailer.of(retailerId)) {
      if (left-- === 0) return;
      yield this.orders[number] as WaitingOrder;
    }
  }

  /** Holds the waiting orders of a store, which are counted and not found for any driver, or lets them go. */
  setHold(retailerId: string, reason: HoldReason | null): void {
    if (reason === null) this.holds.delete(retailerId);
    else this.holds.set(retailerId, reason);
    for (const number of this.byRetailer.of(retailerId)) this.showOrHide(number);
  }

  holdOfRetailer(retailerId: string): HoldReason | null {
    return this.holds.get(retailerId) ?? null;
  }

  /** Why the order is held; null for one that is not. */
  holdOf({ retailerId, isCharged }: WaitingOrder): HoldReason | null {
    const reason = this.holds.get(retailerId) ?? null;
    return reason === 'payment_required' && isCharged ? null : reason;
  }

  heldRetailers(): Iterable<string> {
    return this.holds.keys();
  }

  /** The number of waiting orders of stores that are held for this reason. */
  heldCount(reason: HoldReason): number {
    let count = 0;
    for (const [retailerId, why] of this.holds) if (why === reason) count += this.countOf(retailerId);
    return count;
  }

  has(orderId: string): boolean {
    return this.numbers.has(orderId);
  }

  get(orderId: string): WaitingOrder | undefined {
    const number = this.numbers.get(orderId);
    return number === undefined ? undefined : this.orders[number];
  }

  /** Every waiting order in the order of arrival. Orders may come and go during the iteration. */
  *all(): IterableIterator<WaitingOrder> {
    for (const number of this.numbers.values()) yield this.orders[number] as WaitingOrder;
  }

  /** Inserts an order, or replaces it; a hidden one is not found for any driver. */
  put(order: WaitingOrder, hidden: boolean): void {
    const known = this.numbers.get(order.orderId);
    const number = known ?? this.freeNumbers.pop() ?? this.orders.length;
    if (known !== undefined) this.forget(known, order.retailerId);
    this.numbers.set(order.orderId, number);
    this.orders[number] = order;
    this.byRetailer.add(order.retailerId, number);
    const fromMs = countsFrom(order);
    this.index.locate(number, order.point.lat, order.point.lng, fromMs, order.sinceMs);
    this.shares.taken(order.retailerId, fromMs);
    if (hidden) this.hidden.add(number);
    this.showOrHide(number);
  }

  delete(orderId: string): boolean {
    const number = this.numbers.get(orderId);
    if (number === undefined) return false;
    this.forget(number);
    this.numbers.delete(orderId);
    this.freeNumbers.push(number);
    return true;
  }

  /** Hides an order, which goes on waiting. */
  hide(orderId: string): void {
    this.mark(orderId, (number) => this.hidden.add(number));
  }

  show(orderId: string): void {
    this.mark(orderId, (number) => this.hidden.delete(number));
  }

  /** The order of least cost to a driver (`OrderSearch.leastCost`). */
  leastCost(seeker: Seeker, nowMs: number): FoundOrder | undefined {
    return this.numbers.size === 0 ? undefined : this.search.leastCost(seeker, nowMs);
  }

  /** Takes the fair start of an order that begins to wait now (`FairShares.next`). */
  fairStart(retailerId: string, nowMs: number): number | undefined {
    return this.shares.next(retailerId, nowMs);
  }

  /** Forgets the shares of a store that has no waiting orders. */
  forgetShares(retailerId: string): void {
    if (this.countOf(retailerId) === 0) this.shares.forget(retailerId);
  }

  /** Marks an order, and shows or hides it by that; does nothing for an unknown one. */
  private mark(orderId: string, change: (number: number) => void): void {
    const number = this.numbers.get(orderId);
    if (number === undefined) return;
    change(number);
    this.showOrHide(number);
  }

  private showOrHide(number: number): void {
    const order = this.orders[number] as WaitingOrder;
    const isFound = !this.hidden.has(number) && this.isFree(order);
    if (!isFound) this.index.remove(number);
    else if (!this.index.has(number)) this.place(number);
  }

  /** Indexes an order under its tier, or under none while the table does not have it. */
  private place(number: number): void {
    this.index.put(number, this.tiers.bit((this.orders[number] as WaitingOrder).tierId));
  }

  /** @param sharing the store that keeps its shares, as the order is about to come back */
  private forget(number: number, sharing?: string): void {
    const order = this.orders[number] as WaitingOrder;
    this.index.remove(number);
    this.hidden.delete(number);
    this.left.delete(number);
    this.orders[number] = undefined;
    this.byRetailer.delete(order.retailerId, number);
    if (order.retailerId !== sharing) this.forgetShares(order.retailerId);
  }
}
