import type { FleetDriver } from '../domain/driver.ts';
import type { TierId } from '../domain/tier.ts';
import type { Point } from '../geo/point.ts';
import { POSITION_FRESH_MS, SET_ASIDE_MS } from '../limits.ts';
import { type DriverCounts, type DriverSlots, UNPLACED } from './driver-slots.ts';
import type { TierTable } from './tier-table.ts';

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

  move(id: string, point: Point, atMs: number): boolean {
    const { all } = this;
    const slot = this.slotOf(id);
    if (slot === undefined) return false;
    if (atMs < all.index.members.stamp(slot)) return false;
    all.index.locate(slot, point.lat, point.lng, atMs);
    // Positions are by far the most frequent change, and there is hardly ever a driver set aside.
    if (all.setAsideUntil.size > 0 && atMs >= (all.setAsideUntil.get(slot) ?? Number.POSITIVE_INFINITY)) {
      all.count(slot, -1);
      all.setAsideUntil.delete(slot);
      all.reindex(slot);
    } else if (!all.index.has(slot)) all.place(slot);
    return true;
  }

  setDuty(id: string, onDuty: boolean, nowMs: number): boolean {
    const { all } = this;
    const slot = this.slotOf(id);
    if (slot === undefined) return false;
    all.count(slot, -1);
    if (onDuty && all.duty[slot] === 0) all.freeSince[slot] = nowMs;
    all.duty[slot] = onDuty ? 1 : 0;
    all.setAsideUntil.delete(slot);
    all.reindex(slot);
    return true;
  }

  // --- Orders ----------------------------------------------------------------------------------------------

  /** Gives a driver an order. False for an unknown driver, or one with another order. */
  claim(id: string, orderId: string): boolean {
    const slot = this.slotOf(id);
    if (slot === undefined) return false;
    const held = this.all.orderIds[slot] as string | null;
    if (held === null) this.giveOrder(slot, orderId);
    return held === null || held === orderId;
  }

  /** Gives a driver an order in place of any other, since the database has it so. */
  assign(id: string, orderId: string): void {
    const slot = this.slotOf(id);
    if (slot !== undefined) this.giveOrder(slot, orderId);
  }

  /** Frees a driver since `nowMs` who is set aside, or holds the given order, or any if none is given. */
  release(id: string, orderId: string | undefined, nowMs: number): boolean {
    const { all } = this;
    const slot = this.slotOf(id);
    if (slot === undefined) return false;
    const held = all.orderIds[slot] as string | null;
    if (held === null ? !all.setAsideUntil.has(slot) : orderId !== undefined && held !== orderId) return false;
    all.count(slot, -1);
    all.setAsideUntil.delete(slot);
    all.setOrder(slot, null);
    all.freeSince[slot] = nowMs;
    all.reindex(slot);
    return true;
  }

  /** Undoes a claim; the driver is free since when they were before. */
  unclaim(id: string, orderId: string): void {
    const { all } = this;
    const slot = this.slotOf(id);
    if (slot === undefined || all.orderIds[slot] !== orderId) return;
    all.count(slot, -1);
    all.setOrder(slot, null);
    all.reindex(slot);
  }

  /** Takes the order from a driver whom the database refused, and gives the driver no other for a while. */
  setAside(id: string, orderId: string, nowMs: number): boolean {
    const { all } = this;
    const slot = this.slotOf(id);
    if (slot === undefined || all.orderIds[slot] !== orderId) return false;
    all.count(slot, -1);
    all.setOrder(slot, null);
    all.setAsideUntil.set(slot, nowMs + SET_ASIDE_MS);
    all.reindex(slot);
    return true;
  }

  private giveOrder(slot: number, orderId: string): void {
    this.all.count(slot, -1);
    this.all.setAsideUntil.delete(slot);
    this.all.setOrder(slot, orderId);
    this.all.reindex(slot);
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
      orderId: all.orderIds[slot] ?? null,
    };
  }

  allIds(): Iterable<string> {
    return this.all.slots.keys();
  }

  counts(tierId?: TierId): DriverCounts {
    return this.all.counts(tierId);
  }

  orderOf(id: string): string | null {
    const slot = this.slotOf(id);
    return slot === undefined ? null : (this.all.orderIds[slot] as string | null);
  }

  /** The driver who holds an order. */
  holderOf(orderId: string): string | undefined {
    const slot = this.all.holderOf(orderId);
    return slot === undefined ? undefined : this.all.ids[slot];
  }

  serves(id: string, tierId: TierId): boolean {
    const slot = this.slotOf(id);
    return slot !== undefined && (this.all.tierBits(slot) & this.tiers.bit(tierId)) !== 0;
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

  /** The place of a driver who may be given an order now, with the bits of the driver's tiers. */
  placeOfAvailable(id: string, nowMs: number): { lat: number; lng: number; tiers: number } | undefined {
    const slot = this.slotOf(id);
    if (slot === undefined || !this.all.isFree(slot)) return undefined;
    const { members } = this.all.index;
    if (members.stamp(slot) < nowMs - POSITION_FRESH_MS) return undefined;
    return { lat: members.lat(slot), lng: members.lng(slot), tiers: this.all.tierBits(slot) };
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
