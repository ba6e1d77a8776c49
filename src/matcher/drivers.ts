import type { FleetDriver } from '../domain/driver.ts';
import type { CarriedOrder } from '../domain/route.ts';
import type { TierId } from '../domain/tier.ts';
import { carries, type Size, type Vehicle } from '../domain/vehicle.ts';
import type { Point } from '../geo/point.ts';
import { below, MAX_CLOCK_LEAD_MS, POSITION_FRESH_MS, QUERY_DEADLINE_MS } from '../limits.ts';
import { type DriverCounts, type DriverSlots, UNPLACED } from './driver-slots.ts';
import type { TierTable } from './tier-table.ts';

/**
 * Time for which a driver whom the database refused is set aside, unless the row is read again sooner. Above
 * QUERY_DEADLINE_MS, for that read, and short against a driver's wait for work.
 */
export const SET_ASIDE_MS = 10_000;

below({ QUERY_DEADLINE_MS }, { SET_ASIDE_MS });

/** What is known of an order that a driver gets; of an unknown one the route is not planned. */
export type ClaimedOrder = Omit<CarriedOrder, 'slot' | 'step'>;

/** Where a driver stands who may be given an order now, with the bits of their tiers, and what they drive. */
export type AvailablePlace = {
  readonly lat: number;
  readonly lng: number;
  readonly tiers: number;
  readonly vehicle: Vehicle;
  /** When they go home; Infinity for one who has not said so. */
  readonly untilMs: number;
};

/** How often what a driver does has changed, and when their last position was taken. */
export type DriverVersion = {
  /** -1 for an unknown driver. */
  readonly changes: number;
  /** Milliseconds since 1970; -Infinity for one without a position. */
  readonly heardMs: number;
};
const UNKNOWN_DRIVER: DriverVersion = { changes: -1, heardMs: UNPLACED };

/** The drivers by id: what happens to them, and what they do. */
export class Drivers {
  private readonly all: DriverSlots;
  private readonly tiers: TierTable;

  constructor(all: DriverSlots, tiers: TierTable) {
    this.all = all;
    this.tiers = tiers;
  }

  /** Inserts a driver, or replaces all that is known of one except a newer position. */
  put(driver: FleetDriver): void {
    const slot = this.slotOf(driver.id) ?? this.all.add(driver.id);
    if (this.all.write(slot, driver)) this.all.place(slot);
  }

  /** Does the same for many, faster than one by one: room for them, and new cells, are made at once. */
  putAll(drivers: readonly FleetDriver[]): void {
    this.all.reserve(drivers.length);
    const placed: number[] = [];
    for (const driver of drivers) {
      const slot = this.slotOf(driver.id) ?? this.all.add(driver.id);
      if (this.all.write(slot, driver)) placed.push(slot);
    }
    this.all.placeAll(placed);
  }

  remove(id: string): boolean {
    const slot = this.slotOf(id);
    if (slot === undefined) return false;
    this.all.remove(slot);
    return true;
  }

  /**
   * @param nowMs time by which a known position that lies ahead is of a clock that was set back since
   * @returns false for an older position than the known one
   */
  move(id: string, point: Point, atMs: number, nowMs = Number.POSITIVE_INFINITY): boolean {
    const { all } = this;
    const slot = this.slotOf(id);
    if (slot === undefined) return false;
    const knownMs = all.index.members.stamp(slot);
    if (atMs < knownMs && knownMs <= nowMs + MAX_CLOCK_LEAD_MS) return false;
    all.index.locate(slot, point.lat, point.lng, atMs);
    // Positions are by far the most frequent change, and there is hardly ever a driver set aside.
    if (all.setAsideUntil.size > 0 && atMs >= (all.setAsideUntil.get(slot) ?? Number.POSITIVE_INFINITY)) {
      all.count(slot, -1);
      all.setAsideUntil.delete(slot);
      all.reindex(slot);
    } else if (!all.index.has(slot)) all.place(slot);
    return true;
  }

  // --- Orders ----------------------------------------------------------------------------------------------

  /** Gives a driver an order, in their first free slot. False for an unknown driver, or one without room. */
  claim(id: string, order: ClaimedOrder): boolean {
    const slot = this.slotOf(id);
    if (slot === undefined) return false;
    if (this.all.carries(slot, order.orderId)) return true;
    if (this.all.carriedOf(slot).length >= (this.all.capacity[slot] as number)) return false;
    this.give(slot, order);
    return true;
  }

  /**
   * Gives a driver an order, since the database has it so. Where memory knows of no room, the orders given
   * first are gone in the database.
   */
  assign(id: string, order: ClaimedOrder): void {
    const { all } = this;
    const slot = this.slotOf(id);
    if (slot === undefined || all.carries(slot, order.orderId)) return;
    const carried = all.carriedOf(slot);
    const surplus = Math.max(0, carried.length + 1 - (all.capacity[slot] as number));
    all.count(slot, -1);
    for (const { orderId } of carried.slice(0, surplus)) all.take(slot, orderId);
    all.count(slot, 1);
    this.give(slot, order);
  }

  /**
   * Writes an order that the database gave a driver, in its slot there. False, without effect, for an unknown
   * driver, one whose slot has another order in memory, and an order that somebody else holds.
   */
  carry(id: string, order: CarriedOrder): boolean {
    const { all } = this;
    const slot = this.slotOf(id);
    const holder = all.holderOf(order.orderId);
    if (slot === undefined || (holder !== undefined && holder !== slot)) return false;
    if (holder === slot) return true;
    if (all.carriedOf(slot).some((other) => other.slot === order.slot)) return false;
    all.count(slot, -1);
    all.setAsideUntil.delete(slot);
    all.give(slot, order);
    all.reindex(slot);
    return true;
  }

  /**
   * Takes the given order from a driver, and ends that they are set aside. One who then carries nothing is free
   * since `nowMs`. False for one who has no such order, unless they carry nothing and are set aside.
   */
  release(id: string, orderId: string, nowMs: number): boolean {
    const { all } = this;
    const slot = this.slotOf(id);
    if (slot === undefined) return false;
    const isEmpty = all.carriedOf(slot).length === 0;
    if (isEmpty ? !all.setAsideUntil.has(slot) : !all.carries(slot, orderId)) return false;
    all.count(slot, -1);
    all.setAsideUntil.delete(slot);
    all.take(slot, orderId);
    if (all.carriedOf(slot).length === 0) all.freeSince[slot] = nowMs;
    all.reindex(slot);
    return true;
  }

  /** Undoes a claim; a driver who then carries nothing is free since when they were before. */
  unclaim(id: string, orderId: string): void {
    const { all } = this;
    const slot = this.slotOf(id);
    if (slot === undefined || !all.carries(slot, orderId)) return;
    all.count(slot, -1);
    all.take(slot, orderId);
    all.reindex(slot);
  }

  /** Takes the order from a driver whom the database refused, and gives the driver no other for a while. */
  setAside(id: string, orderId: string, nowMs: number): boolean {
    const { all } = this;
    const slot = this.slotOf(id);
    if (slot === undefined || !all.carries(slot, orderId)) return false;
    all.count(slot, -1);
    all.take(slot, orderId);
    all.setAsideUntil.set(slot, nowMs + SET_ASIDE_MS);
    all.reindex(slot);
    return true;
  }

  setStep(id: string, orderId: string, step: CarriedOrder['step']): void {
    const { all } = this;
    const slot = this.slotOf(id);
    const order = slot === undefined ? undefined : all.carriedOf(slot).find((each) => each.orderId === orderId);
    if (slot === undefined || !order) return;
    all.count(slot, -1);
    all.give(slot, { ...order, step });
    all.reindex(slot);
  }

  private give(slot: number, order: ClaimedOrder): void {
    const { all } = this;
    all.count(slot, -1);
    all.setAsideUntil.delete(slot);
    all.give(slot, { ...order, slot: all.freeSlotOf(slot), step: 'to_fetch' });
    all.reindex(slot);
  }

  // --- Answers ---------------------------------------------------------------------------------------------

  get(id: string): FleetDriver | undefined {
    const { all } = this;
    const slot = this.slotOf(id);
    if (slot === undefined) return undefined;
    const { members } = all.index;
    const atMs = members.stamp(slot);
    return {
      id,
      tierIds: all.tierIds(slot),
      onDuty: all.duty[slot] === 1,
      position: atMs === UNPLACED ? null : { lat: members.lat(slot), lng: members.lng(slot), atMs },
      freeSinceMs: all.freeSince[slot] as number,
      carried: all.carriedOf(slot),
      capacity: all.capacity[slot] as number,
      vehicle: all.vehicleOf(slot),
      onDutyUntilMs: Number.isFinite(all.until[slot]) ? (all.until[slot] as number) : null,
    };
  }

  allIds(): Iterable<string> {
    return this.all.slots.keys();
  }

  counts(tierId?: TierId, size?: Size): DriverCounts {
    return this.all.counts(tierId, size);
  }

  /** The orders that a driver holds; none for an unknown driver. */
  carriedBy(id: string): readonly CarriedOrder[] {
    const slot = this.slotOf(id);
    return slot === undefined ? [] : this.all.carriedOf(slot);
  }

  /** The driver who holds an order. */
  holderOf(orderId: string): string | undefined {
    const slot = this.all.holderOf(orderId);
    return slot === undefined ? undefined : this.all.ids[slot];
  }

  /** Whether a driver serves the tier, in a vehicle for the size. */
  serves(id: string, tierId: TierId, size: Size): boolean {
    const slot = this.slotOf(id);
    if (slot === undefined || !carries(this.all.vehicleOf(slot), size)) return false;
    return (this.all.tierBits(slot) & this.tiers.bit(tierId)) !== 0;
  }

  /** Whether a driver is on duty, carries nothing and is not set aside. */
  isFree(id: string): boolean {
    const slot = this.slotOf(id);
    return slot !== undefined && this.all.isFree(slot);
  }

  isSetAside(id: string): boolean {
    const slot = this.slotOf(id);
    return slot !== undefined && this.all.setAsideUntil.has(slot);
  }

  /** The place of a driver who carries nothing and may be given an order now. */
  placeOfAvailable(id: string, nowMs: number): AvailablePlace | undefined {
    const { all } = this;
    const slot = this.slotOf(id);
    if (slot === undefined || !all.isFree(slot)) return undefined;
    const { members } = all.index;
    if (members.stamp(slot) < nowMs - POSITION_FRESH_MS) return undefined;
    const at = { lat: members.lat(slot), lng: members.lng(slot), tiers: all.tierBits(slot) };
    return { ...at, vehicle: all.vehicleOf(slot), untilMs: all.until[slot] as number };
  }

  /** By what one sees later whether a driver has changed or moved. */
  versionOf(id: string): DriverVersion {
    const slot = this.slotOf(id);
    if (slot === undefined) return UNKNOWN_DRIVER;
    return { changes: this.all.changes[slot] as number, heardMs: this.all.index.members.stamp(slot) };
  }

  /** Where the driver is; undefined for one without a position. */
  placeOf(id: string): Point | undefined {
    const slot = this.slotOf(id);
    const { members } = this.all.index;
    if (slot === undefined || members.stamp(slot) === UNPLACED) return undefined;
    return { lat: members.lat(slot), lng: members.lng(slot) };
  }

  /** The drivers on duty who were heard from lately. */
  *onDutyIds(nowMs: number): Iterable<string> {
    const { slots, duty, index } = this.all;
    const oldest = nowMs - POSITION_FRESH_MS;
    for (const [id, slot] of slots) if (duty[slot] === 1 && index.members.stamp(slot) >= oldest) yield id;
  }

  /** The drivers who may be given an order now, anywhere. */
  availableIds(nowMs: number): string[] {
    const { all } = this;
    const oldest = nowMs - POSITION_FRESH_MS;
    const ids: string[] = [];
    for (const [id, slot] of all.slots) {
      if (all.isFree(slot) && all.index.members.stamp(slot) >= oldest) ids.push(id);
    }
    return ids;
  }

  private slotOf(id: string): number | undefined {
    return this.all.slots.get(id);
  }
}
