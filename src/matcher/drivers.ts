import type { FleetDriver } from '../domain/driver.ts';
import type { TierId } from '../domain/tier.ts';
import { chordOfMeters, metersOfChordSquared, type Point } from '../geo/point.ts';
import { POSITION_FRESH_MS, SET_ASIDE_MS } from '../limits.ts';
import { EVERY } from '../spatial-index/cell.ts';
import { CellIndex } from '../spatial-index/cell-index.ts';
import { CellSearch, type FoundMember, NO_MEMBER } from '../spatial-index/cell-search.ts';
import { enlarged } from '../spatial-index/enlarged.ts';
import { TIER_COUNT, TIERS_OF_BITS, tierBits, tierNumber } from './tier-bits.ts';

/** Asks for the nearest driver. Distances in meters, times in milliseconds since 1970. */
export type DriverQuery = {
  readonly tierId: TierId;
  readonly point: Point;
  readonly radiusMeters: number;
  readonly nowMs: number;
  /** Drivers who are passed over. */
  readonly exclude?: ReadonlySet<string> | undefined;
};

export type FoundDriver = { readonly driverId: string; readonly distanceMeters: number };

/** How many drivers there are, by what they do; `free` are on duty and carry nothing. */
type DriverCounts = { readonly all: number; readonly onDuty: number; readonly free: number };

/**
 * The drivers in flat arrays by slot. All that have a place stand in one index, but only those on duty and free for
 * their tiers: the others are found by who asks why an order went past a driver. Drivers at home would crowd out those
 * on the road there. Nothing happens in the moment they turn stale, so a search that comes across one takes him out,
 * once; his next position puts him in again.
 *
 * Every change to a driver stands between `count(slot, -1)` and `settle(slot)`, which keep counts and index in step.
 */
export class Drivers {
  private readonly index = new CellIndex();
  private readonly search = new CellSearch(this.index);
  private readonly slots = new Map<string, number>();
  private readonly freeSlots: number[] = [];
  private readonly ids: string[] = [];
  private readonly orderIds: (string | null)[] = [];
  private readonly holders = new Map<string, number>();
  private tiers = new Uint8Array(64);
  private duty = new Uint8Array(64);
  private freeSince = new Float64Array(64);
  /** Until when the drivers whom the database refused are passed over. */
  private readonly setAsideUntil = new Map<number, number>();
  /** Drivers on duty, and free ones, by the set of tiers they serve. */
  private readonly dutyByTiers = new Array<number>(1 << TIER_COUNT).fill(0);
  private readonly freeByTiers = new Array<number>(1 << TIER_COUNT).fill(0);

  /** Inserts a driver or replaces what is known of him, except for a position newer than the given one. */
  put(driver: FleetDriver): void {
    const slot = this.slots.get(driver.id) ?? this.newSlot(driver.id);
    if (this.write(slot, driver)) this.place(slot);
  }

  /** The same for many, faster than one by one: room for them is made at once, and so are cells that are new. */
  putAll(drivers: readonly FleetDriver[]): void {
    this.reserve(drivers.length);
    const placed: number[] = [];
    for (const driver of drivers) {
      const slot = this.slots.get(driver.id) ?? this.newSlot(driver.id);
      if (this.write(slot, driver)) placed.push(slot);
    }
    this.index.putAll(placed, (slot) => this.tiersNow(slot));
  }

  remove(id: string): boolean {
    const slot = this.slots.get(id);
    if (slot === undefined) return false;
    this.count(slot, -1);
    this.duty[slot] = 0;
    this.setAsideUntil.delete(slot);
    this.setOrder(slot, null);
    this.settle(slot);
    this.index.remove(slot);
    this.slots.delete(id);
    this.ids[slot] = '';
    this.freeSlots.push(slot);
    return true;
  }

  move(id: string, point: Point, atMs: number): boolean {
    const slot = this.slots.get(id);
    if (slot === undefined) return false;
    if (atMs < this.index.stamp(slot)) return false;
    this.index.locate(slot, point.lat, point.lng, atMs);
    // A position is what comes most often by far, and hardly ever is anybody set aside.
    if (this.setAsideUntil.size > 0 && atMs >= (this.setAsideUntil.get(slot) ?? Number.POSITIVE_INFINITY)) {
      this.count(slot, -1);
      this.setAsideUntil.delete(slot);
      this.settle(slot);
    } else if (!this.index.has(slot)) this.place(slot);
    return true;
  }

  setDuty(id: string, onDuty: boolean, nowMs: number): boolean {
    const slot = this.slots.get(id);
    if (slot === undefined) return false;
    this.count(slot, -1);
    if (onDuty && this.duty[slot] === 0) this.freeSince[slot] = nowMs;
    this.duty[slot] = onDuty ? 1 : 0;
    this.setAsideUntil.delete(slot);
    this.settle(slot);
    return true;
  }

  get(id: string): FleetDriver | undefined {
    const slot = this.slots.get(id);
    if (slot === undefined) return undefined;
    const { index } = this;
    const atMs = index.stamp(slot);
    return {
      id,
      tierIds: TIERS_OF_BITS[this.tiers[slot] as number] ?? [],
      onDuty: this.duty[slot] === 1,
      position: atMs === UNPLACED ? null : { lat: index.lat(slot), lng: index.lng(slot), atMs },
      freeSinceMs: this.freeSince[slot] as number,
      orderId: this.orderIds[slot] ?? null,
    };
  }

  allIds(): Iterable<string> {
    return this.slots.keys();
  }

  orderOf(id: string): string | null {
    const slot = this.slots.get(id);
    return slot === undefined ? null : (this.orderIds[slot] as string | null);
  }

  /** The driver who holds an order. */
  holderOf(orderId: string): string | undefined {
    const slot = this.holders.get(orderId);
    return slot === undefined ? undefined : this.ids[slot];
  }

  /** Counts of all drivers, or of those that serve a tier. */
  counts(tierId?: TierId): DriverCounts {
    const bit = tierId === undefined ? undefined : 1 << tierNumber(tierId);
    const sum = (counts: readonly number[]) =>
      counts.reduce((total, count, bits) => (bit === undefined || (bits & bit) !== 0 ? total + count : total), 0);
    return { all: this.slots.size, onDuty: sum(this.dutyByTiers), free: sum(this.freeByTiers) };
  }

  serves(id: string, tierId: TierId): boolean {
    const slot = this.slots.get(id);
    return slot !== undefined && ((this.tiers[slot] as number) & (1 << tierNumber(tierId))) !== 0;
  }

  /** On duty, carrying nothing, not set aside. */
  isFree(id: string): boolean {
    const slot = this.slots.get(id);
    return slot !== undefined && this.slotIsFree(slot);
  }

  /** The place of a driver who could be given an order now, with the bits of his tiers. */
  placeOfAvailable(id: string, nowMs: number): { lat: number; lng: number; tiers: number } | undefined {
    const slot = this.slots.get(id);
    if (slot === undefined || !this.slotIsFree(slot)) return undefined;
    const { index } = this;
    if (index.stamp(slot) < nowMs - POSITION_FRESH_MS) return undefined;
    return { lat: index.lat(slot), lng: index.lng(slot), tiers: this.tiers[slot] as number };
  }

  nearest(query: DriverQuery): FoundDriver | undefined {
    const slot = this.nearestSlot(query);
    if (slot === NO_MEMBER) return undefined;
    // Meters only grow with the chord, so where the nearest is too far, everybody is.
    const distanceMeters = metersOfChordSquared(this.search.chordSquared);
    if (distanceMeters > query.radiusMeters) return undefined;
    return { driverId: this.ids[slot] as string, distanceMeters };
  }

  /** The up to `count` nearest drivers available for a query, nearest first. */
  nearestFew({ tierId, point, radiusMeters, nowMs, exclude }: DriverQuery, count: number): FoundDriver[] {
    const found = this.search.nearestFew(
      {
        tier: tierNumber(tierId),
        lat: point.lat,
        lng: point.lng,
        withinChord: chordOfMeters(radiusMeters),
        oldestStamp: nowMs - POSITION_FRESH_MS,
        accepts: exclude?.size ? (slot) => !exclude.has(this.ids[slot] as string) : undefined,
      },
      count,
    );
    return this.named(found).filter(({ distanceMeters }) => distanceMeters <= radiusMeters);
  }

  /** The up to `count` drivers nearest to a point whatever they do, without these; those off duty only where heard of. */
  nearestOfAll(
    point: Point,
    radiusMeters: number,
    count: number,
    nowMs: number,
    without: ReadonlySet<string>,
  ): FoundDriver[] {
    const heardSince = nowMs - POSITION_FRESH_MS;
    const stale: number[] = [];
    const found = this.search.nearestFew(
      {
        tier: EVERY,
        lat: point.lat,
        lng: point.lng,
        withinChord: chordOfMeters(radiusMeters),
        oldestStamp: Number.NEGATIVE_INFINITY,
        accepts: (slot) => {
          const isStale = this.duty[slot] === 0 && this.index.stamp(slot) < heardSince;
          if (isStale) stale.push(slot);
          return !isStale && !without.has(this.ids[slot] as string);
        },
      },
      count,
    );
    for (const slot of stale) this.index.remove(slot);
    return this.named(found);
  }

  /** Drivers who could be given an order now, wherever that is. */
  availableIds(nowMs: number): string[] {
    const oldest = nowMs - POSITION_FRESH_MS;
    const ids: string[] = [];
    for (const [id, slot] of this.slots) if (this.slotIsFree(slot) && this.index.stamp(slot) >= oldest) ids.push(id);
    return ids;
  }

  isSetAside(id: string): boolean {
    const slot = this.slots.get(id);
    return slot !== undefined && this.setAsideUntil.has(slot);
  }

  /** Gives a driver an order. False where he is unknown or busy with another; true where it was his already. */
  claim(id: string, orderId: string): boolean {
    const slot = this.slots.get(id);
    if (slot === undefined) return false;
    const held = this.orderIds[slot] as string | null;
    if (held === null) this.giveOrder(slot, orderId);
    return held === null || held === orderId;
  }

  /** Gives a driver an order, whatever he holds here: the database said so. */
  assign(id: string, orderId: string): void {
    const slot = this.slots.get(id);
    if (slot !== undefined) this.giveOrder(slot, orderId);
  }

  /** Makes a driver free since `nowMs`, who holds the given order, or any, or is set aside. */
  release(id: string, orderId: string | undefined, nowMs: number): boolean {
    const slot = this.slots.get(id);
    if (slot === undefined) return false;
    const held = this.orderIds[slot] as string | null;
    if (held === null ? !this.setAsideUntil.has(slot) : orderId !== undefined && held !== orderId) return false;
    this.count(slot, -1);
    this.setAsideUntil.delete(slot);
    this.setOrder(slot, null);
    this.freeSince[slot] = nowMs;
    this.settle(slot);
    return true;
  }

  /** Undoes a claim as if it had never been. */
  unclaim(id: string, orderId: string): void {
    const slot = this.slots.get(id);
    if (slot === undefined || this.orderIds[slot] !== orderId) return;
    this.count(slot, -1);
    this.setOrder(slot, null);
    this.settle(slot);
  }

  /** Takes the order from a driver whom the database refused, and passes him over for a while. */
  setAside(id: string, orderId: string, nowMs: number): boolean {
    const slot = this.slots.get(id);
    if (slot === undefined || this.orderIds[slot] !== orderId) return false;
    this.count(slot, -1);
    this.setOrder(slot, null);
    this.setAsideUntil.set(slot, nowMs + SET_ASIDE_MS);
    this.settle(slot);
    return true;
  }

  private named(found: readonly FoundMember[]): FoundDriver[] {
    return found.map(({ member, chordSquared }) => ({
      driverId: this.ids[member] as string,
      distanceMeters: metersOfChordSquared(chordSquared),
    }));
  }

  private nearestSlot({ tierId, point, radiusMeters, nowMs, exclude }: DriverQuery): number {
    return this.search.nearest({
      tier: tierNumber(tierId),
      lat: point.lat,
      lng: point.lng,
      withinChord: chordOfMeters(radiusMeters),
      oldestStamp: nowMs - POSITION_FRESH_MS,
      accepts: exclude?.size ? (slot) => !exclude.has(this.ids[slot] as string) : undefined,
      precedes: this.precedes,
    });
  }

  /** Of two drivers at the same distance the one who has been free longer comes first, then the smaller id. */
  private readonly precedes = (slot: number, other: number): boolean => {
    const difference = (this.freeSince[slot] as number) - (this.freeSince[other] as number);
    return difference < 0 || (difference === 0 && (this.ids[slot] as string) < (this.ids[other] as string));
  };

  private giveOrder(slot: number, orderId: string): void {
    this.count(slot, -1);
    this.setAsideUntil.delete(slot);
    this.setOrder(slot, orderId);
    this.settle(slot);
  }

  /** Writes what is known of a driver; whether he then has to be put in the index for what he can do. */
  private write(slot: number, { tierIds, onDuty, freeSinceMs, orderId, position }: FleetDriver): boolean {
    this.count(slot, -1);
    this.tiers[slot] = tierBits(tierIds);
    this.duty[slot] = onDuty ? 1 : 0;
    this.freeSince[slot] = freeSinceMs;
    this.setAsideUntil.delete(slot);
    this.setOrder(slot, orderId);
    this.count(slot, 1);
    if (position && position.atMs >= this.index.stamp(slot)) {
      this.index.locate(slot, position.lat, position.lng, position.atMs);
      return true;
    }
    return this.standsInIndex(slot);
  }

  /** After a change to a driver, before which he was taken off the counts: puts him on them, and index and all agree. */
  private settle(slot: number): void {
    this.count(slot, 1);
    if (this.standsInIndex(slot)) this.place(slot);
  }

  /** Whether he has a place and is to be found there: who is off duty and was found stale stays out until heard of. */
  private standsInIndex(slot: number): boolean {
    return this.index.stamp(slot) !== UNPLACED && (this.duty[slot] === 1 || this.index.has(slot));
  }

  /** Has a driver, who has a place, in the index for what he can do now. */
  private place(slot: number): void {
    this.index.put(slot, this.tiersNow(slot));
  }

  private tiersNow(slot: number): number {
    return this.slotIsFree(slot) ? (this.tiers[slot] as number) : 0;
  }

  private count(slot: number, by: 1 | -1): void {
    const tiers = this.tiers[slot] as number;
    if (this.duty[slot] === 1) this.dutyByTiers[tiers] = (this.dutyByTiers[tiers] as number) + by;
    if (this.slotIsFree(slot)) this.freeByTiers[tiers] = (this.freeByTiers[tiers] as number) + by;
  }

  private slotIsFree(slot: number): boolean {
    return (
      this.duty[slot] === 1 &&
      this.orderIds[slot] === null &&
      (this.setAsideUntil.size === 0 || !this.setAsideUntil.has(slot))
    );
  }

  private setOrder(slot: number, orderId: string | null): void {
    const held = this.orderIds[slot];
    if (held != null && this.holders.get(held) === slot) this.holders.delete(held);
    this.orderIds[slot] = orderId;
    if (orderId !== null) this.holders.set(orderId, slot);
  }

  private newSlot(id: string): number {
    const slot = this.freeSlots.pop() ?? this.ids.length;
    this.slots.set(id, slot);
    this.ids[slot] = id;
    this.orderIds[slot] = null;
    if (slot >= this.duty.length) this.grow(Math.ceil((slot + 1) * 1.5));
    this.duty[slot] = 0;
    this.index.locate(slot, 0, 0, UNPLACED);
    return slot;
  }

  /** Makes room for so many drivers in all. */
  private reserve(count: number): void {
    if (count > this.duty.length) this.grow(count);
    this.index.reserve(count);
  }

  private grow(size: number): void {
    this.tiers = enlarged(this.tiers, size);
    this.duty = enlarged(this.duty, size);
    this.freeSince = enlarged(this.freeSince, size);
  }
}

/** The stamp of a driver who never said where he is. */
const UNPLACED = Number.NEGATIVE_INFINITY;
