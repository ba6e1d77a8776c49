import { radiusAfter, type Tier } from '../domain/tier.ts';
import type { WaitingOrder } from '../domain/waiting-order.ts';
import { chordOfMeters, EARTH_RADIUS_METERS, metersOfChordSquared, writeVector } from '../geo/point.ts';
import { BLOCK, CELL_EARLIEST, CELL_OLDEST, CELL_STRIDE, COUNT, LINK_STRIDE } from '../spatial-index/cell.ts';
import type { CellIndex } from '../spatial-index/cell-index.ts';
import { CellSearch, CHORD_ERROR } from '../spatial-index/cell-search.ts';
import { MEMBER_STAMP, MEMBER_STRIDE, MEMBER_TAG, memberOf } from '../spatial-index/member-pool.ts';
import { claimOf, costOf } from './cost.ts';
import type { AvailablePlace } from './drivers.ts';
import type { TierTable } from './tier-table.ts';
import { canDo } from './trip.ts';

export type FoundOrder = { readonly orderId: string; readonly distanceMeters: number };

/** A driver to find an order for. */
export type Seeker = AvailablePlace & { readonly driverId: string };

/** Meters of a chord of 1, a billionth too few for rounding: a chord is shorter than its arc. */
const CHORD_METERS = EARTH_RADIUS_METERS * (1 - 1e-9);

type Best = {
  order: WaitingOrder | undefined;
  cost: number;
  distanceMeters: number;
};

/**
 * Searches the waiting orders for the one of least cost to a driver (`cost.ts`).
 *
 * A member's stamp is since when the order counts as waiting, and its begin since when it waits. The search
 * walks the cells within the tier's greatest radius, the nearest first, and reads those that may have a
 * cheaper order than the best so far: at the cell's nearest edge, with the claim of its oldest order, and
 * within the radius of the one that waits longest. No order of a cell costs less, so the answer is exact.
 */
export class OrderSearch {
  private readonly index: CellIndex;
  private readonly tiers: TierTable;
  private readonly orders: readonly (WaitingOrder | undefined)[];
  private readonly search: CellSearch;
  private readonly vector = new Float64Array(3);

  /** @param orders the orders of the index, by the number of their member */
  constructor(index: CellIndex, tiers: TierTable, orders: readonly (WaitingOrder | undefined)[]) {
    this.index = index;
    this.tiers = tiers;
    this.orders = orders;
    this.search = new CellSearch(index);
  }

  /**
   * The order of least cost among those of the driver's tiers whose radius reaches the driver and that do not
   * exclude the driver; then the nearest, then the one with the smallest id.
   */
  leastCost(seeker: Seeker, nowMs: number): FoundOrder | undefined {
    const best: Best = { order: undefined, cost: Number.POSITIVE_INFINITY, distanceMeters: 0 };
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
      const { figures } = this.index.cells;
      const claim = claimOf(tier, nowMs - (figures[cell * CELL_STRIDE + CELL_OLDEST] as number));
      if (costOf(claim, Math.max(0, bound - CHORD_ERROR) * CHORD_METERS) > best.cost) return;
      const longestMs = nowMs - (figures[cell * CELL_STRIDE + CELL_EARLIEST] as number);
      if (bound > chordOfMeters(radiusAfter(tier, longestMs)) + CHORD_ERROR) return;
      if (this.searchCell(cell, tier, number, seeker, nowMs, best)) this.correctEarliest(cell);
    });
  }

  /**
   * Reads a cell, and corrects its oldest stamp, which may be that of an order that left. True if orders were
   * cheap enough, and the radius of none reached the driver.
   */
  private searchCell(cell: number, tier: Tier, number: number, seeker: Seeker, nowMs: number, best: Best): boolean {
    const { links, figures } = this.index.cells;
    const members = this.index.members.pool.data;
    const start = links[cell * LINK_STRIDE + BLOCK] as number;
    const end = start + (links[cell * LINK_STRIDE + COUNT] as number) * MEMBER_STRIDE;
    const bit = 1 << number;
    let oldest = Number.POSITIVE_INFINITY;
    let tooFar = 0;
    let inReach = 0;
    for (let i = start; i < end; i += MEMBER_STRIDE) {
      const fromMs = members[i + MEMBER_STAMP] as number;
      if (fromMs < oldest) oldest = fromMs;
      const tag = members[i + MEMBER_TAG] as number;
      if ((tag & bit) === 0) continue;
      const dx = (members[i] as number) - (this.vector[0] as number);
      const dy = (members[i + 1] as number) - (this.vector[1] as number);
      const dz = (members[i + 2] as number) - (this.vector[2] as number);
      const squared = dx * dx + dy * dy + dz * dz;
      const claim = claimOf(tier, nowMs - fromMs);
      if (costOf(claim, Math.sqrt(squared) * CHORD_METERS) > best.cost) continue;
      const order = this.orders[memberOf(tag)] as WaitingOrder;
      const distanceMeters = metersOfChordSquared(squared);
      if (distanceMeters > radiusAfter(tier, nowMs - order.sinceMs)) {
        tooFar++;
        continue;
      }
      inReach++;
      if (costOf(claim, distanceMeters) > best.cost) continue;
      if (!canDo(seeker, { ...order, pickup: order.point }, distanceMeters, nowMs)) continue;
      this.weigh(order, costOf(claim, distanceMeters), distanceMeters, seeker, best);
    }
    figures[cell * CELL_STRIDE + CELL_OLDEST] = oldest;
    return tooFar > 0 && inReach === 0;
  }

  private weigh(order: WaitingOrder, cost: number, distanceMeters: number, seeker: Seeker, best: Best): void {
    if (best.order !== undefined && cost === best.cost) {
      if (distanceMeters > best.distanceMeters) return;
      if (distanceMeters === best.distanceMeters && order.orderId > best.order.orderId) return;
    }
    if (order.excludedDriverIds?.has(seeker.driverId)) return;
    best.order = order;
    best.cost = cost;
    best.distanceMeters = distanceMeters;
  }

  /** Corrects a cell's earliest begin, which may be that of an order that left. */
  private correctEarliest(cell: number): void {
    const { members, cells } = this.index;
    const start = cells.links[cell * LINK_STRIDE + BLOCK] as number;
    const end = start + cells.count(cell) * MEMBER_STRIDE;
    let earliest = Number.POSITIVE_INFINITY;
    for (let i = start; i < end; i += MEMBER_STRIDE) {
      const begin = members.begin(memberOf(members.pool.data[i + MEMBER_TAG] as number));
      if (begin < earliest) earliest = begin;
    }
    cells.figures[cell * CELL_STRIDE + CELL_EARLIEST] = earliest;
  }
}
