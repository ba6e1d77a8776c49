import type { HoldReason } from '../domain/hold.ts';
import { radiusAfter, type Tier, type TierId } from '../domain/tier.ts';
import { chordOfMeters, metersOfChordSquared, type Point, writeVector } from '../geo/point.ts';
import { BLOCK, CELL_OLDEST, CELL_STRIDE, COUNT, LINK_STRIDE } from '../spatial-index/cell.ts';
import { CellIndex } from '../spatial-index/cell-index.ts';
import { CellSearch, CHORD_ERROR } from '../spatial-index/cell-search.ts';
import { MEMBER_STAMP, MEMBER_STRIDE, MEMBER_TAG, memberOf } from '../spatial-index/member-pool.ts';
import type { TierTable } from './tier-table.ts';

/** An order that waits for a driver at its pickup's point, since a time in milliseconds since 1970. */
export type WaitingOrder = {
  readonly orderId: string;
  readonly retailerId: string;
  readonly tierId: TierId;
  readonly point: Point;
  readonly sinceMs: number;
  /** Drivers who must not get this order, such as one who released it. */
  readonly excludedDriverIds?: ReadonlySet<string> | undefined;
  /** Whether its fee was charged, or is being charged: then it never waits for a payment. */
  readonly isCharged?: boolean | undefined;
};

export type FoundOrder = { readonly orderId: string; readonly distanceMeters: number };

/** A driver to find an order for. `tiers` are the bits of the driver's tiers. */
type Seeker = { readonly driverId: string; readonly lat: number; readonly lng: number; readonly tiers: number };

type Best = {
  order: WaitingOrder | undefined;
  claim: number;
  distanceMeters: number;
  readonly skip: ReadonlySet<string> | undefined;
};

/**
 * The waiting orders, in an index of their own under the time since when they wait.
 *
 * A search for a driver's order goes by place, not by age. It walks the cells within the tier's greatest
 * radius and reads those whose oldest order could have a stronger claim than the best so far and a radius
 * that reaches the driver: in whatever order the cells come, about as many as the logarithm of all. So the
 * cost is that of the cells around the driver, wherever the rest of the queue waits.
 */
export class WaitingOrders {
  private readonly tiers: TierTable;
  private readonly index = new CellIndex();
  private readonly search = new CellSearch(this.index);
  private readonly numbers = new Map<string, number>();
  private readonly orders: (WaitingOrder | undefined)[] = [];
  private readonly freeNumbers: number[] = [];
  private readonly byRetailer = new Map<string, Set<number>>();
  private readonly holds = new Map<string, HoldReason>();
  /** Orders that are not found whatever their store's hold. */
  private readonly hidden = new Set<number>();
  private readonly vector = new Float64Array(3);
  private rounds: Iterator<number> | undefined;

  constructor(tiers: TierTable) {
    this.tiers = tiers;
  }

  /** Indexes every order by the tier table of now, after a tier came into it or left it. */
  tiersChanged(): void {
    for (const number of this.numbers.values()) if (this.index.has(number)) this.place(number);
  }

  get size(): number {
    return this.numbers.size;
  }

  countOf(retailerId: string): number {
    return this.byRetailer.get(retailerId)?.size ?? 0;
  }

  /** The waiting orders of a store, in the order of arrival. */
  ofRetailer(retailerId: string): WaitingOrder[] {
    return Array.from(this.byRetailer.get(retailerId) ?? [], (number) => this.orders[number] as WaitingOrder);
  }

  /** Holds the waiting orders of a store, which are counted and not found for any driver, or lets them go. */
  setHold(retailerId: string, reason: HoldReason | null): void {
    if (reason === null) this.holds.delete(retailerId);
    else this.holds.set(retailerId, reason);
    for (const number of this.byRetailer.get(retailerId) ?? []) this.showOrHide(number);
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

  /** The next up to `limit` orders in turn; the call after the last order begins again. */
  next(limit: number): WaitingOrder[] {
    this.rounds ??= this.numbers.values();
    const taken: WaitingOrder[] = [];
    while (taken.length < limit) {
      const step = this.rounds.next();
      if (step.done) {
        this.rounds = undefined;
        break;
      }
      taken.push(this.orders[step.value] as WaitingOrder);
    }
    return taken;
  }

  /** Inserts an order, or replaces it; a hidden one is not found for any driver. */
  put(order: WaitingOrder, hidden: boolean): void {
    const known = this.numbers.get(order.orderId);
    const number = known ?? this.freeNumbers.pop() ?? this.orders.length;
    if (known !== undefined) this.forget(known);
    this.numbers.set(order.orderId, number);
    this.orders[number] = order;
    const siblings = this.byRetailer.get(order.retailerId);
    if (siblings) siblings.add(number);
    else this.byRetailer.set(order.retailerId, new Set([number]));
    this.index.locate(number, order.point.lat, order.point.lng, order.sinceMs);
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
    const number = this.numbers.get(orderId);
    if (number === undefined) return;
    this.hidden.add(number);
    this.showOrHide(number);
  }

  show(orderId: string): void {
    const number = this.numbers.get(orderId);
    if (number === undefined) return;
    this.hidden.delete(number);
    this.showOrHide(number);
  }

  /**
   * The order with the strongest claim (time waited × the tier's weight) among those of the driver's tiers
   * whose radius reaches the driver and that do not exclude the driver; then the nearest, then the smallest
   * id. Leaves out `skip`.
   */
  strongestClaim(seeker: Seeker, nowMs: number, skip?: ReadonlySet<string>): FoundOrder | undefined {
    if (this.numbers.size === 0) return undefined;
    const best: Best = { order: undefined, claim: -1, distanceMeters: 0, skip };
    writeVector(seeker.lat, seeker.lng, this.vector, 0);
    for (const tier of this.tiers.all()) {
      const number = this.tiers.number(tier.id) as number;
      if ((seeker.tiers & (1 << number)) !== 0) this.searchTier(tier, number, seeker, nowMs, best);
    }
    return best.order && { orderId: best.order.orderId, distanceMeters: best.distanceMeters };
  }

  private searchTier(tier: Tier, number: number, seeker: Seeker, nowMs: number, best: Best): void {
    const reach = chordOfMeters(tier.maxRadiusMeters);
    this.search.within(number, seeker.lat, seeker.lng, reach, (cell, bound) => {
      const longest = nowMs - (this.index.cells.figures[cell * CELL_STRIDE + CELL_OLDEST] as number);
      if (claimOf(tier, longest) < best.claim) return;
      if (bound > chordOfMeters(radiusAfter(tier, longest)) + CHORD_ERROR) return;
      this.searchCell(cell, tier, number, seeker, nowMs, best);
    });
  }

  /** Reads a cell, and corrects its oldest stamp, which may be that of an order that left. */
  private searchCell(cell: number, tier: Tier, number: number, seeker: Seeker, nowMs: number, best: Best): void {
    const { links } = this.index.cells;
    const members = this.index.members.pool.data;
    const start = links[cell * LINK_STRIDE + BLOCK] as number;
    const end = start + (links[cell * LINK_STRIDE + COUNT] as number) * MEMBER_STRIDE;
    const bit = 1 << number;
    let oldest = Number.POSITIVE_INFINITY;
    for (let i = start; i < end; i += MEMBER_STRIDE) {
      const sinceMs = members[i + MEMBER_STAMP] as number;
      if (sinceMs < oldest) oldest = sinceMs;
      const waitedMs = nowMs - sinceMs;
      const tag = members[i + MEMBER_TAG] as number;
      if (claimOf(tier, waitedMs) < best.claim || (tag & bit) === 0) continue;
      const dx = (members[i] as number) - (this.vector[0] as number);
      const dy = (members[i + 1] as number) - (this.vector[1] as number);
      const dz = (members[i + 2] as number) - (this.vector[2] as number);
      const distanceMeters = metersOfChordSquared(dx * dx + dy * dy + dz * dz);
      if (distanceMeters > radiusAfter(tier, waitedMs)) continue;
      this.weigh(this.orders[memberOf(tag)] as WaitingOrder, claimOf(tier, waitedMs), distanceMeters, seeker, best);
    }
    this.index.cells.figures[cell * CELL_STRIDE + CELL_OLDEST] = oldest;
  }

  private weigh(order: WaitingOrder, claim: number, distanceMeters: number, seeker: Seeker, best: Best): void {
    if (best.order !== undefined && claim === best.claim) {
      if (distanceMeters > best.distanceMeters) return;
      if (distanceMeters === best.distanceMeters && order.orderId > best.order.orderId) return;
    }
    if (order.excludedDriverIds?.has(seeker.driverId) || best.skip?.has(order.orderId)) return;
    best.order = order;
    best.claim = claim;
    best.distanceMeters = distanceMeters;
  }

  private showOrHide(number: number): void {
    const isFound = !this.hidden.has(number) && this.holdOf(this.orders[number] as WaitingOrder) === null;
    if (!isFound) this.index.remove(number);
    else if (!this.index.has(number)) this.place(number);
  }

  /** Indexes an order under its tier, or under none while the table does not have it. */
  private place(number: number): void {
    this.index.put(number, this.tiers.bit((this.orders[number] as WaitingOrder).tierId));
  }

  private forget(number: number): void {
    const order = this.orders[number] as WaitingOrder;
    this.index.remove(number);
    this.hidden.delete(number);
    this.orders[number] = undefined;
    const siblings = this.byRetailer.get(order.retailerId);
    siblings?.delete(number);
    if (siblings?.size === 0) this.byRetailer.delete(order.retailerId);
  }
}

/** The strength of an order's claim on a free driver. A wait that has not begun counts as 0. */
export function claimOf(tier: Tier, waitedMs: number): number {
  return Math.max(0, waitedMs) * tier.weight;
}
