import { Groups } from '../domain/groups.ts';
import { bestRoute, type CarriedOrder, type Route, type Start } from '../domain/route.ts';
import type { TierId } from '../domain/tier.ts';
import { carries, type Size } from '../domain/vehicle.ts';
import { distanceMeters, type Point } from '../geo/point.ts';
import { POSITION_FRESH_MS, SAME_PLACE_METERS } from '../limits.ts';
import type { DriverSlots } from './driver-slots.ts';
import type { TierTable } from './tier-table.ts';

/** Distance from the store in meters up to which a driver with parcels on board still takes more there. */
const AT_STORE_METERS = 150;
/** Most drivers on their way to a store, the nearest ones, whose routes are planned for one more order there. */
const MAX_POOL_DRIVERS = 8;
/**
 * Parcels of such drivers after which no further one's routes are planned for the order: as many as those of
 * MAX_POOL_DRIVERS with four each. A route of 4 takes 0.1 ms to plan, one of 20 some 10 ms.
 */
const MAX_POOL_PARCELS = 32;

/** An order that a driver may fetch together with what they fetch anyway. Times are milliseconds since 1970. */
export type PoolOrder = {
  readonly orderId: string;
  readonly retailerId: string;
  readonly tierId: TierId;
  readonly size: Size;
  readonly pickup: Point;
  readonly dropoff: Point;
  readonly radiusMeters: number;
  readonly readyAtMs: number;
  readonly deliverAfterMs?: number | undefined;
  readonly deliverByMs: number;
  readonly exclude?: ReadonlySet<string> | undefined;
};

export type PoolDriver = {
  readonly driverId: string;
  readonly distanceMeters: number;
  /** What the order adds to the driver's route, in minutes. */
  readonly addedMinutes: number;
};

/**
 * The drivers who carry orders of one store and have room for more of it, by store.
 *
 * Such a driver is available for another order of the store, at the same pickup, as long as nothing was
 * fetched or they still stand there, and no order of the route comes later than promised by it. A door that
 * nobody knows pools with nothing.
 */
export class Pools {
  private readonly drivers: DriverSlots;
  private readonly tiers: TierTable;
  private readonly byRetailer = new Groups<string, number>();
  private readonly retailerOf = new Map<number, string>();
  private before: { readonly carried: readonly CarriedOrder[]; readonly atMs: number; readonly route: Route } | null =
    null;

  constructor(drivers: DriverSlots, tiers: TierTable) {
    this.drivers = drivers;
    this.tiers = tiers;
  }

  /** Follows a change of a driver. */
  changed(slot: number): void {
    const retailerId = this.storeOf(slot);
    const before = this.retailerOf.get(slot);
    if (before === retailerId) return;
    if (before !== undefined) this.byRetailer.delete(before, slot);
    if (retailerId === undefined) this.retailerOf.delete(slot);
    else {
      this.retailerOf.set(slot, retailerId);
      this.byRetailer.add(retailerId, slot);
    }
  }

  /** The store whose orders a driver with room carries, and no other's. */
  storeOf(slot: number): string | undefined {
    const { drivers } = this;
    if ((drivers.capacity[slot] as number) <= 1 || !drivers.hasRoom(slot)) return undefined;
    const carried = drivers.carriedOf(slot);
    const [first] = carried;
    return first && carried.every(({ retailerId }) => retailerId === first.retailerId) ? first.retailerId : undefined;
  }

  /**
   * The nearest driver who may take the order along, then the one with the smaller id. Routes are planned for
   * the nearest MAX_POOL_DRIVERS alone, and for fewer who carry many.
   *
   * @param withinMeters a driver farther from the pickup is not wanted
   */
  nearest(order: PoolOrder, withinMeters: number, nowMs: number): PoolDriver | undefined {
    const near: { readonly slot: number; readonly meters: number }[] = [];
    for (const slot of this.byRetailer.of(order.retailerId)) {
      const meters = this.metersOf(slot, order, nowMs);
      if (meters !== undefined && meters <= withinMeters) near.push({ slot, meters });
    }
    near.sort((a, b) => a.meters - b.meters || (this.idOf(a.slot) < this.idOf(b.slot) ? -1 : 1));
    let parcels = 0;
    for (const { slot } of near.slice(0, MAX_POOL_DRIVERS)) {
      if (parcels > MAX_POOL_PARCELS) return undefined;
      const found = this.weigh(slot, order, nowMs);
      if (found) return found;
      parcels += this.drivers.carriedOf(slot).length;
    }
    return undefined;
  }

  /** What it takes a driver to take the order along; undefined where they may not. */
  weigh(slot: number, order: PoolOrder, nowMs: number): PoolDriver | undefined {
    const { drivers } = this;
    const meters = this.metersOf(slot, order, nowMs);
    if (meters === undefined) return undefined;
    const carried = drivers.carriedOf(slot);
    const { members } = drivers.index;
    const at = { lat: members.lat(slot), lng: members.lng(slot) };
    const start = { from: at, atMs: nowMs, vehicle: drivers.vehicleOf(slot) };
    const before = this.routeBefore(carried, start);
    const after = bestRoute(start, [...carried, { ...order, slot: -1, step: 'to_fetch' }]);
    // A route that is late already may not get later.
    if (after.lateMinutes > before.lateMinutes || endMs(after) > (drivers.until[slot] as number)) return undefined;
    return { driverId: this.idOf(slot), distanceMeters: meters, addedMinutes: after.minutes - before.minutes };
  }

  /** A driver's distance from the pickup; undefined where they cannot take the order along, whatever the route. */
  private metersOf(slot: number, order: PoolOrder, nowMs: number): number | undefined {
    const { drivers } = this;
    const { members } = drivers.index;
    if (this.storeOf(slot) !== order.retailerId || members.stamp(slot) < nowMs - POSITION_FRESH_MS) return undefined;
    if ((drivers.tierBits(slot) & this.tiers.bit(order.tierId)) === 0) return undefined;
    if (order.exclude?.has(this.idOf(slot)) || !carries(drivers.vehicleOf(slot), order.size)) return undefined;
    const meters = distanceMeters({ lat: members.lat(slot), lng: members.lng(slot) }, order.pickup);
    if (meters > order.radiusMeters) return undefined;
    return drivers.carriedOf(slot).every((other) => goesAlong(other, order.pickup, meters)) ? meters : undefined;
  }

  private idOf(slot: number): string {
    return this.drivers.ids[slot] as string;
  }

  /** A driver's route as it is, which is asked for again with each further order that is tried. */
  private routeBefore(carried: readonly CarriedOrder[], start: Start): Route {
    const known = this.before;
    if (known?.carried === carried && known.atMs === start.atMs) return known.route;
    const route = bestRoute(start, carried);
    this.before = { carried, atMs: start.atMs, route };
    return route;
  }
}

/** Whether a driver with this order at this distance from the pickup may still take more there. */
function goesAlong(other: CarriedOrder, pickup: Point, meters: number): boolean {
  if (other.dropoff === null || other.step === 'returning') return false;
  if (other.step === 'on_board' && meters > AT_STORE_METERS) return false;
  return distanceMeters(other.pickup, pickup) <= SAME_PLACE_METERS;
}

const endMs = ({ stops }: Route): number => stops.at(-1)?.arriveMs ?? 0;
