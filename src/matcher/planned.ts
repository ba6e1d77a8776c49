import type { FleetDriver } from '../domain/driver.ts';
import { radiusAfter, type Tier } from '../domain/tier.ts';
import { carries, DEFAULT_SIZE, SIZES, type Size, VEHICLES, type Vehicle } from '../domain/vehicle.ts';
import type { WaitingOrder } from '../domain/waiting-order.ts';
import { distanceMeters, type Point } from '../geo/point.ts';
import { MAX_TIERS, PLANNER_LOOK_MS, PLANNER_NEAREST, SAME_PLACE_METERS } from '../limits.ts';
import type { DriverSearch } from './driver-search.ts';
import type { DriverSlots } from './driver-slots.ts';
import type { Drivers, DriverVersion } from './drivers.ts';
import type { LaterOrders } from './later-orders.ts';
import { PlannedReach } from './planned-reach.ts';
import type { TierTable } from './tier-table.ts';
import type { WaitingOrders } from './waiting.ts';
import { queryFor } from './waiting-order.ts';

/** The bit of the smallest size; those below are of tiers. */
const FIRST_SIZE = 1 << MAX_TIERS;
/** No driver of the matcher has this bit. */
const NOBODY = { needs: 1 << 31, meters: 0 };

/** Told of what changes for the planner; it reads the rest when it is its turn. */
export type PlannerListener = {
  orderChanged(orderId: string): void;
  /** What a driver does has changed; their place alone is no change. */
  driverChanged(driverId: string): void;
  /** There are other tiers, so that drivers have other skills. */
  tiersChanged(): void;
};

type Sources = {
  readonly slots: DriverSlots;
  readonly drivers: Drivers;
  readonly search: DriverSearch;
  readonly waiting: WaitingOrders;
  readonly later: LaterOrders;
  readonly tiers: TierTable;
  readonly assigning: ReadonlyMap<string, string>;
};

/** What the planner sees of the matcher: the orders that are its to give, and who may carry them. */
export class PlannedOrders {
  readonly #sources: Sources;
  readonly #reach: PlannedReach;
  #listener: PlannerListener | undefined;

  constructor(sources: Sources) {
    this.#sources = sources;
    const { slots } = sources;
    const sizes = Object.fromEntries(VEHICLES.map((vehicle) => [vehicle, sizesOf(vehicle)]));
    this.#reach = new PlannedReach(slots, (slot) => slots.tierBits(slot) | (sizes[slots.vehicleOf(slot)] as number));
  }

  /** Tells this listener of changes from now on, instead of any before. */
  listen(listener: PlannerListener): void {
    this.#listener = listener;
  }

  orderChanged(orderId: string): void {
    this.#listener?.orderChanged(orderId);
  }

  driverChanged(driverId: string): void {
    this.#listener?.driverChanged(driverId);
  }

  tiersChanged(): void {
    this.#listener?.tiersChanged();
  }

  /**
   * An order that is the planner's to give: it waits, for a driver or for its time, in a tier that is planned,
   * its store is not held, and nobody is being given it. Undefined for any other.
   */
  open(orderId: string): WaitingOrder | undefined {
    const { waiting, later, assigning, drivers } = this.#sources;
    const order = waiting.get(orderId) ?? later.get(orderId);
    if (!order || assigning.has(orderId) || waiting.holdOf(order) !== null) return undefined;
    if (drivers.holderOf(orderId) !== undefined) return undefined;
    return waiting.isPlanned(order) ? order : undefined;
  }

  /** Whether the assignment of an order is being written. */
  isBeingGiven(orderId: string): boolean {
    return this.#sources.assigning.has(orderId);
  }

  /** The orders that wait for a driver, those that are not the planner's included. */
  waitingIds(): string[] {
    return Array.from(this.#sources.waiting.all(), ({ orderId }) => orderId);
  }

  /** The orders that wait for a time until then, those that are not the planner's included. */
  dueBy(untilMs: number): Iterable<WaitingOrder> {
    return this.#sources.later.dueBy(untilMs);
  }

  /** The orders that were left to whoever is free, the first one first. */
  leftIds(): string[] {
    return this.#sources.waiting.leftIds();
  }

  /** Leaves an order to whoever is free, as there is no room for it in the plan. */
  leave(orderId: string): void {
    this.#sources.waiting.leave(orderId);
  }

  /** Gives an order that was left back to the planner, which hears of it. */
  takeBack(orderId: string): void {
    this.#sources.waiting.takeBack(orderId);
    this.orderChanged(orderId);
  }

  /** Whether a driver carries anything. */
  isDriving(driverId: string): boolean {
    return this.#sources.drivers.carriedBy(driverId).length > 0;
  }

  /** The drivers on duty who were heard from lately; they may change during the iteration. */
  onDutyIds(nowMs: number): Iterable<string> {
    return this.#sources.drivers.onDutyIds(nowMs);
  }

  /** The nearest drivers who may be given an order now, and the nearest who carry something. */
  nearestIds(order: WaitingOrder, nowMs: number): string[] {
    const { search, tiers } = this.#sources;
    const tier = tiers.get(order.tierId);
    if (!tier) return [];
    const query = queryFor(order, tier, nowMs);
    const found = [...search.nearestFew(query, PLANNER_NEAREST), ...search.nearestBusy(query, PLANNER_NEAREST)];
    return found.map(({ driverId }) => driverId);
  }

  /** Forgets who is in reach of what. */
  clearReach(): void {
    this.#reach.clear();
  }

  /** Counts those as in reach who are in reach of this order by now, or will be before the next looks. */
  addReach(order: WaitingOrder, nowMs: number): void {
    const { needs, meters } = this.reachOf(order, nowMs + 2 * PLANNER_LOOK_MS);
    if (meters > 0) this.#reach.add(order.point, needs, meters + SAME_PLACE_METERS);
  }

  /** Whether a driver, or a stop of one who carries something, is in reach of an order of `addReach`. */
  isInReach(driverId: string): boolean {
    const slot = this.#sources.slots.slots.get(driverId);
    return slot !== undefined && this.#reach.has(slot);
  }

  /**
   * Visits the drivers in reach who may be given orders now.
   *
   * @param from the driver's number to begin with, 0 for the first
   * @param most so many drivers are looked at, in reach or not
   * @returns the number to go on with; 0 after the last one
   */
  visitInReach(from: number, most: number, nowMs: number, visit: (driverId: string) => void): number {
    return this.#reach.visit(from, most, nowMs, visit);
  }

  /** Whether the tables refused a driver lately: what is known of them is wrong. */
  isSetAside(driverId: string): boolean {
    return this.#sources.drivers.isSetAside(driverId);
  }

  /** Bits of the tiers that a driver serves and of the sizes that they carry. */
  skillsOf({ tierIds, vehicle }: FleetDriver): number {
    return this.#sources.tiers.bits(tierIds) | sizesOf(vehicle);
  }

  /** What of these bits an order needs, and its radius by now; nobody is in reach where its tier is gone. */
  reachOf(order: WaitingOrder, nowMs: number): { readonly needs: number; readonly meters: number } {
    const tier = this.#sources.tiers.get(order.tierId);
    if (!tier) return NOBODY;
    const needs = this.#sources.tiers.bit(order.tierId) | sizeOf(order.size ?? DEFAULT_SIZE);
    return { needs, meters: radiusAfter(tier, nowMs - order.sinceMs) };
  }

  /** By what one sees later whether a driver has changed or moved; their place alone is no change. */
  versionOf(driverId: string): DriverVersion {
    return this.#sources.drivers.versionOf(driverId);
  }

  /**
   * Whether a driver may carry an order: its tier, its size, its radius by now, and that they did not give it
   * back. Read from what is known at this moment.
   *
   * @param stops where the driver still stops, of which the nearest one counts; where they are, if there is none
   */
  mayCarry(driverId: string, stops: readonly Point[], order: WaitingOrder, nowMs: number): boolean {
    const { drivers, tiers } = this.#sources;
    const tier: Tier | undefined = tiers.get(order.tierId);
    if (!tier || !drivers.serves(driverId, order.tierId, order.size ?? DEFAULT_SIZE)) return false;
    if (order.excludedDriverIds?.has(driverId)) return false;
    const radius = radiusAfter(tier, nowMs - order.sinceMs);
    const isNear = (place: Point) => distanceMeters(place, order.point) <= radius;
    if (stops.length > 0) return stops.some(isNear);
    const place = drivers.placeOf(driverId);
    return place !== undefined && isNear(place);
  }
}

const sizeOf = (size: Size) => FIRST_SIZE << SIZES.indexOf(size);

function sizesOf(vehicle: Vehicle | undefined): number {
  return SIZES.reduce((bits, size) => (!vehicle || carries(vehicle, size) ? bits | sizeOf(size) : bits), 0);
}
