import { bestRoute, type CarriedOrder } from '../domain/route.ts';
import { carries, DEFAULT_SIZE } from '../domain/vehicle.ts';
import { distanceMeters, type Point } from '../geo/point.ts';
import { POSITION_FRESH_MS } from '../limits.ts';
import type { DriverQuery } from './driver-search.ts';
import type { DriverSlots } from './driver-slots.ts';
import type { ClaimedOrder } from './drivers.ts';
import type { TierTable } from './tier-table.ts';
import { canDoFrom } from './trip.ts';

/** Meters by which a driver may be beyond the radius when it is asked again: a search rounds otherwise. */
const REACH_ROUNDING_METERS = 0.01;

/**
 * The one place where it is judged whether a driver may be given an order, whoever chose them: the search for a
 * new order, the sweep, the planner. It reads what is known at that moment and is asked in the same turn in
 * which the driver is marked, so that what a choice rests on may be old without harm.
 */
export class Gate {
  readonly #drivers: DriverSlots;
  readonly #tiers: TierTable;

  constructor(drivers: DriverSlots, tiers: TierTable) {
    this.#drivers = drivers;
    this.#tiers = tiers;
  }

  allows(driverId: string, query: DriverQuery, order: ClaimedOrder): boolean {
    const drivers = this.#drivers;
    const slot = drivers.slots.get(driverId);
    // Who is off duty or set aside has no room.
    if (slot === undefined || !drivers.hasRoom(slot)) return false;
    if (drivers.index.members.stamp(slot) < query.nowMs - POSITION_FRESH_MS) return false;
    if ((drivers.tierBits(slot) & this.#tiers.bit(query.tierId)) === 0) return false;
    if (!carries(drivers.vehicleOf(slot), query.size ?? DEFAULT_SIZE) || query.exclude?.has(driverId)) return false;
    return this.#isInReach(slot, query) && this.#endsInShift(slot, query, order);
  }

  /** Whether the driver, or a stop that they still make, is within the radius. */
  #isInReach(slot: number, { point, radiusMeters }: DriverQuery): boolean {
    const within = radiusMeters + REACH_ROUNDING_METERS;
    if (distanceMeters(this.#placeOf(slot), point) <= within) return true;
    return this.#drivers
      .carriedOf(slot)
      .some((carried) => stopsOf(carried).some((stop) => distanceMeters(stop, point) <= within));
  }

  /** Whether the last door is reached before the driver goes home. */
  #endsInShift(slot: number, { size, nowMs }: DriverQuery, order: ClaimedOrder): boolean {
    const drivers = this.#drivers;
    const untilMs = drivers.until[slot] as number;
    if (untilMs === Number.POSITIVE_INFINITY) return true;
    const vehicle = drivers.vehicleOf(slot);
    const carried = drivers.carriedOf(slot);
    const from = this.#placeOf(slot);
    if (carried.length === 0) return canDoFrom({ ...from, vehicle, untilMs }, { ...order, size }, nowMs);
    const { stops } = bestRoute({ from, atMs: nowMs, vehicle }, [...carried, { ...order, slot: -1, step: 'to_fetch' }]);
    return (stops.at(-1)?.arriveMs ?? 0) <= untilMs;
  }

  #placeOf(slot: number): Point {
    const { members } = this.#drivers.index;
    return { lat: members.lat(slot), lng: members.lng(slot) };
  }
}

/** Where a driver still stops for an order. */
export function stopsOf({ step, pickup, dropoff }: CarriedOrder): Point[] {
  if (step === 'returning') return [pickup];
  const doors = dropoff ? [dropoff] : [];
  return step === 'to_fetch' ? [pickup, ...doors] : doors;
}
