import { radiusAfter, type Tier } from '../domain/tier.ts';
import { distanceMeters } from '../geo/point.ts';
import { atMost, MAX_BATCH } from '../limits.ts';
import { matchAtLeastCost } from './batch.ts';
import { claimOf, minutesOf, urgencyOf } from './cost.ts';
import type { DriverQuery, DriverSearch } from './driver-search.ts';
import type { Drivers } from './drivers.ts';
import type { TierTable } from './tier-table.ts';
import { canDo } from './trip.ts';
import type { WaitingOrders } from './waiting.ts';
import { countsFrom, type WaitingOrder } from './waiting-order.ts';

/** Nearest drivers considered for each order of a batch; exact up to 8 orders. At most MAX_BATCH. */
export const BATCH_CANDIDATES = 8;

atMost({ BATCH_CANDIDATES }, { MAX_BATCH });

/** A waiting order and the driver it should go to. */
export type Match = { readonly orderId: string; readonly driverId: string; readonly distanceMeters: number };

/** What batches are gathered from. */
export type Sources = {
  readonly drivers: Drivers;
  readonly search: DriverSearch;
  readonly waiting: WaitingOrders;
  readonly tiers: TierTable;
};

/** The search for drivers for a waiting order: within the radius it has by now, without those it excludes. */
export function queryFor(order: WaitingOrder, tier: Tier, nowMs: number): DriverQuery {
  const { tierId, point, sinceMs, excludedDriverIds, size, dropoff } = order;
  const radiusMeters = radiusAfter(tier, nowMs - sinceMs);
  return { tierId, point, radiusMeters, nowMs, exclude: excludedDriverIds, size, dropoff };
}

/**
 * Matches waiting orders (at most `MAX_BATCH`), whose tiers are in the table, with the drivers nearest to
 * each. Up to `BATCH_CANDIDATES` orders the result is the best there is: no order of n needs a driver beyond
 * its n nearest.
 */
export function matchOrders(orders: readonly WaitingOrder[], sources: Sources, nowMs: number): Match[] {
  const nearest = orders.map((order) => {
    const query = queryFor(order, sources.tiers.get(order.tierId) as Tier, nowMs);
    return sources.search.nearestFew(query, BATCH_CANDIDATES).map(({ driverId }) => driverId);
  });
  return match(orders, inTurn(nearest), sources, nowMs);
}

/**
 * Matches available drivers (at most `MAX_BATCH`) with the waiting orders in their reach that cost least. Up
 * to 8 drivers, or if at most `MAX_BATCH` orders are in their reach, the result is the best there is: no
 * driver of n needs an order beyond the n that cost that driver least.
 */
export function matchDrivers(driverIds: readonly string[], sources: Sources, nowMs: number): Match[] {
  const { drivers, waiting } = sources;
  const found = new Set<string>();
  let seekers = driverIds.flatMap((driverId) => {
    const place = drivers.placeOfAvailable(driverId, nowMs);
    return place ? [{ driverId, ...place }] : [];
  });
  const available = seekers.map(({ driverId }) => driverId);
  // Every round finds for each driver the order of least cost that no driver has found yet.
  while (seekers.length > 0 && found.size < MAX_BATCH) {
    seekers = seekers.filter((seeker) => {
      if (found.size === MAX_BATCH) return false;
      const order = waiting.leastCost(seeker, nowMs, found);
      if (order) found.add(order.orderId);
      return order !== undefined;
    });
  }
  const orders = [...found].map((orderId) => waiting.get(orderId) as WaitingOrder);
  return match(orders, available, sources, nowMs);
}

/** The first of every list, then the second of every list, and so on: each id once, at most `MAX_BATCH`. */
function inTurn(lists: readonly (readonly string[])[]): string[] {
  const taken = new Set<string>();
  for (let rank = 0; rank < BATCH_CANDIDATES; rank++) {
    for (const list of lists) {
      const id = list[rank];
      if (id !== undefined) taken.add(id);
      if (taken.size === MAX_BATCH) return [...taken];
    }
  }
  return [...taken];
}

function match(
  orders: readonly WaitingOrder[],
  driverIds: readonly string[],
  { drivers, tiers }: Sources,
  nowMs: number,
): Match[] {
  if (driverIds.length === 0) return [];
  const places = driverIds.map((driverId) => ({ driverId, place: drivers.placeOfAvailable(driverId, nowMs) }));
  const claims = orders.map((order) => claimOf(tiers.get(order.tierId) as Tier, nowMs - countsFrom(order)));
  const meters = orders.map((order) => {
    const { radiusMeters, exclude, point } = queryFor(order, tiers.get(order.tierId) as Tier, nowMs);
    const bit = tiers.bit(order.tierId);
    return places.map(({ driverId, place }) => {
      if (!place || (place.tiers & bit) === 0 || exclude?.has(driverId)) return Number.POSITIVE_INFINITY;
      const distance = distanceMeters(point, place);
      if (distance > radiusMeters) return Number.POSITIVE_INFINITY;
      return canDo(place, { ...order, pickup: point }, distance, nowMs) ? distance : Number.POSITIVE_INFINITY;
    });
  });
  const costs = meters.map((row, order) => row.map((distance) => minutesOf(claims[order] as number, distance)));
  return matchAtLeastCost(claims.map(urgencyOf), costs).map(({ order, driver }) => ({
    orderId: (orders[order] as WaitingOrder).orderId,
    driverId: driverIds[driver] as string,
    distanceMeters: meters[order]?.[driver] as number,
  }));
}
