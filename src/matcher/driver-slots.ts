import type { FleetDriver } from '../domain/driver.ts';
import type { CarriedOrder } from '../domain/route.ts';
import type { TierId } from '../domain/tier.ts';
import { DEFAULT_VEHICLE, type Size, VEHICLES, type Vehicle } from '../domain/vehicle.ts';
import { CellIndex } from '../spatial-index/cell-index.ts';
import { enlarged } from '../spatial-index/enlarged.ts';
import { StopBoxes } from './stop-boxes.ts';
import { TierSets } from './tier-sets.ts';
import type { TierTable } from './tier-table.ts';

/** The stamp of a driver without a position. */
export const UNPLACED = Number.NEGATIVE_INFINITY;

const NOTHING: readonly CarriedOrder[] = [];

/** Drivers in all, on duty, and free: on duty, carrying nothing and not set aside. */
export type DriverCounts = { readonly all: number; readonly onDuty: number; readonly free: number };

/**
 * The drivers in flat arrays by slot, with their counts and their index.
 *
 * The index holds every driver with a position: those who are free under their tiers, the others under no
 * tier, for whoever asks why an order went past a driver. Drivers at home would crowd out those on the road
 * there, but nothing happens in the moment a driver off duty falls silent. So the first search that comes
 * across one takes the driver out of the index, and the next position puts the driver back.
 *
 * Every change to a driver stands between `count(slot, -1)` and `reindex(slot)`, which keep counts and index
 * in step.
 */
export class DriverSlots {
  readonly index = new CellIndex();
  readonly slots = new Map<string, number>();
  readonly ids: string[] = [];
  /** The drivers whom the database refused, each with the time until which they get no order. */
  readonly setAsideUntil = new Map<number, number>();
  /** Where the drivers who carry anything stop. */
  readonly stopBoxes = new StopBoxes();
  duty = new Uint8Array(64);
  freeSince = new Float64Array(64);
  capacity = new Uint8Array(64);
  /** When each goes home, in milliseconds since 1970; Infinity for one who has not said so. */
  until = new Float64Array(64);
  /** Counts the changes of what each does, but for their place; it goes on when another driver gets the slot. */
  changes = new Float64Array(64);
  /** The number of drivers who have said when they go home. */
  goingHome = 0;
  private vehicle = new Uint8Array(64);
  /** Each driver's set of tiers, by its number in `tierSets`. */
  private setOf = new Int32Array(64);
  private readonly tierSets: TierSets;
  /** The orders of the drivers who carry any. */
  private readonly carried = new Map<number, readonly CarriedOrder[]>();
  private readonly holders = new Map<string, number>();
  private readonly listeners: ((slot: number) => void)[] = [];
  private readonly freeSlots: number[] = [];

  constructor(tiers: TierTable) {
    this.tierSets = new TierSets(tiers);
  }

  /** Indexes every driver by the tier table of now, after a tier came into it or left it. */
  tiersChanged(): void {
    this.tierSets.renumber();
    for (const slot of this.slots.values()) if (this.index.has(slot)) this.place(slot);
  }

  // --- Slots -----------------------------------------------------------------------------------------------

  /** A new driver's slot. */
  add(id: string): number {
    const slot = this.freeSlots.pop() ?? this.ids.length;
    this.slots.set(id, slot);
    this.ids[slot] = id;
    if (slot >= this.duty.length) this.grow(Math.ceil((slot + 1) * 1.5));
    this.duty[slot] = 0;
    this.until[slot] = Number.POSITIVE_INFINITY;
    this.index.locate(slot, 0, 0, UNPLACED);
    return slot;
  }

  remove(slot: number): void {
    this.count(slot, -1);
    this.duty[slot] = 0;
    this.setUntil(slot, Number.POSITIVE_INFINITY);
    this.setAsideUntil.delete(slot);
    this.setCarried(slot, NOTHING);
    this.tell(slot);
    this.index.remove(slot);
    this.slots.delete(this.ids[slot] as string);
    this.ids[slot] = '';
    this.freeSlots.push(slot);
  }

  /** Makes room for `count` drivers in all. */
  reserve(count: number): void {
    if (count > this.duty.length) this.grow(count);
    this.index.members.reserve(count);
  }

  private grow(size: number): void {
    this.setOf = enlarged(this.setOf, size);
    this.duty = enlarged(this.duty, size);
    this.freeSince = enlarged(this.freeSince, size);
    this.capacity = enlarged(this.capacity, size);
    this.until = enlarged(this.until, size);
    this.vehicle = enlarged(this.vehicle, size);
    this.changes = enlarged(this.changes, size);
    this.stopBoxes.grow(size);
  }

  // --- Changes ---------------------------------------------------------------------------------------------

  /** Writes a driver's row; returns whether the driver must then be placed. */
  write(slot: number, driver: FleetDriver): boolean {
    const { position } = driver;
    this.count(slot, -1);
    const vehicle = driver.vehicle ?? DEFAULT_VEHICLE;
    this.setOf[slot] = this.tierSets.numberOf(driver.tierIds, vehicle);
    this.duty[slot] = driver.onDuty ? 1 : 0;
    this.freeSince[slot] = driver.freeSinceMs;
    this.capacity[slot] = driver.capacity ?? 1;
    this.setUntil(slot, driver.onDutyUntilMs ?? Number.POSITIVE_INFINITY);
    this.vehicle[slot] = VEHICLES.indexOf(vehicle);
    this.setAsideUntil.delete(slot);
    this.setCarried(slot, driver.carried);
    this.count(slot, 1);
    const isNews = position !== null && position.atMs >= this.index.members.stamp(slot);
    if (isNews) this.index.locate(slot, position.lat, position.lng, position.atMs);
    this.tell(slot);
    return isNews || this.isIndexed(slot);
  }

  setUntil(slot: number, untilMs: number): void {
    if (Number.isFinite(this.until[slot])) this.goingHome--;
    if (Number.isFinite(untilMs)) this.goingHome++;
    this.until[slot] = untilMs;
  }

  /** Gives a driver an order, or writes what is known of one that they carry. */
  give(slot: number, order: CarriedOrder): void {
    const others = this.carriedOf(slot).filter(({ orderId }) => orderId !== order.orderId);
    this.setCarried(slot, [...others, order]);
  }

  /** Takes an order from a driver. False for one whom they do not carry. */
  take(slot: number, orderId: string): boolean {
    const carried = this.carriedOf(slot);
    const others = carried.filter((order) => order.orderId !== orderId);
    this.setCarried(slot, others);
    return others.length < carried.length;
  }

  private setCarried(slot: number, orders: readonly CarriedOrder[]): void {
    for (const { orderId } of this.carriedOf(slot)) {
      if (this.holders.get(orderId) === slot) this.holders.delete(orderId);
    }
    if (orders.length === 0) this.carried.delete(slot);
    else this.carried.set(slot, orders);
    for (const { orderId } of orders) this.holders.set(orderId, slot);
    this.stopBoxes.set(slot, orders);
  }

  /** Counts and indexes a driver after a change, before which comes `count(slot, -1)`. */
  reindex(slot: number): void {
    this.count(slot, 1);
    this.tell(slot);
    if (this.isIndexed(slot)) this.place(slot);
  }

  /** Calls a listener after every change of what a driver does, but for their place. */
  onChange(listener: (slot: number) => void): void {
    this.listeners.push(listener);
  }

  private tell(slot: number): void {
    this.changes[slot] = (this.changes[slot] as number) + 1;
    for (const listener of this.listeners) listener(slot);
  }

  /** Indexes a driver with a position under the tiers of now. */
  place(slot: number): void {
    this.index.put(slot, this.tiersNow(slot));
  }

  /** The same for many drivers. */
  placeAll(slots: readonly number[]): void {
    this.index.putAll(slots, (slot) => this.tiersNow(slot));
  }

  count(slot: number, by: 1 | -1): void {
    if (this.duty[slot] === 0) return;
    const set = this.setOf[slot] as number;
    const { onDuty, free } = this.tierSets;
    onDuty[set] = (onDuty[set] as number) + by;
    if (this.isFree(slot)) free[set] = (free[set] as number) + by;
  }

  /** Whether a driver belongs in the index; one whom a search took out does so at the next position. */
  private isIndexed(slot: number): boolean {
    return this.index.members.stamp(slot) !== UNPLACED && (this.duty[slot] === 1 || this.index.has(slot));
  }

  private tiersNow(slot: number): number {
    return this.isFree(slot) ? this.tierBits(slot) : 0;
  }

  // --- Answers ---------------------------------------------------------------------------------------------

  /** Whether a driver is on duty, carries nothing and is not set aside. */
  isFree(slot: number): boolean {
    return (
      this.duty[slot] === 1 &&
      !this.carried.has(slot) &&
      (this.setAsideUntil.size === 0 || !this.setAsideUntil.has(slot))
    );
  }

  /** Whether a driver on duty, and not set aside, may carry one order more. */
  hasRoom(slot: number): boolean {
    const isReady = this.duty[slot] === 1 && !this.setAsideUntil.has(slot);
    const capacity = this.capacity[slot] as number;
    const carried = this.carriedOf(slot);
    // A capacity that was lowered leaves orders in slots beyond it, and the row gives none beside those.
    return isReady && carried.length < capacity && carried.every((order) => order.slot < capacity);
  }

  carriedOf(slot: number): readonly CarriedOrder[] {
    return this.carried.get(slot) ?? NOTHING;
  }

  carries(slot: number, orderId: string): boolean {
    return this.carriedOf(slot).some((order) => order.orderId === orderId);
  }

  /** The smallest slot that none of the driver's orders has. */
  freeSlotOf(slot: number): number {
    const taken = new Set(this.carriedOf(slot).map((order) => order.slot));
    let free = 0;
    while (taken.has(free)) free++;
    return free;
  }

  vehicleOf(slot: number): Vehicle {
    return VEHICLES[this.vehicle[slot] as number] as Vehicle;
  }

  /** The driver's tiers, those that are not in the table included. */
  tierIds(slot: number): readonly TierId[] {
    return this.tierSets.tierIds[this.setOf[slot] as number] as readonly TierId[];
  }

  /** The bits of those of the driver's tiers that are in the table. */
  tierBits(slot: number): number {
    return this.tierSets.bits[this.setOf[slot] as number] as number;
  }

  /** The slot of the driver who holds an order. */
  holderOf(orderId: string): number | undefined {
    return this.holders.get(orderId);
  }

  /** Counts of all drivers; with a tier and a size, the last two are of those who serve the one and carry the other. */
  counts(tierId?: TierId, size?: Size): DriverCounts {
    const { tierSets } = this;
    const sum = (counts: readonly number[]) => tierSets.sum(counts, tierId, size);
    return { all: this.slots.size, onDuty: sum(tierSets.onDuty), free: sum(tierSets.free) };
  }

  /** The order of drivers at the same distance: first who has been free longer, then the smaller id. */
  readonly precedes = (slot: number, other: number): boolean => {
    const difference = (this.freeSince[slot] as number) - (this.freeSince[other] as number);
    return difference < 0 || (difference === 0 && (this.ids[slot] as string) < (this.ids[other] as string));
  };
}
