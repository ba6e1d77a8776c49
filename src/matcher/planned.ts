import { carries, DEFAULT_SIZE, type FleetDriver, SIZES, type Size, type Vehicle } from '../domain/driver.ts';
import { radiusAfter, type Tier } from '../domain/tier.ts';
import { distanceMeters, type Point } from '../geo/point.ts';
import { MAX_TIERS, PLANNER_NEAREST } from '../limits.ts';
import type { DriverSearch } from './driver-search.ts';
import type { Drivers, DriverVersion } from './drivers.ts';
import { queryFor } from './gather.ts';
import type { LaterOrders } from './later-orders.ts';
import type { TierTable } from './tier-table.ts';
import type { WaitingOrder, WaitingOrders } from './waiting.ts';

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
  #listener: PlannerListener | undefined;

  constructor(sources: Sources) {
    this.#sources = sources;
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

  /** The orders that wait for a driver, those that are not the planner's included. */
  waitingIds(): string[] {
    return Array.from(this.#sources.waiting.all(), ({ orderId }) => orderId);
  }

  /** The orders that wait for a time until then, those that are not the planner's included. */
  dueBy(untilMs: number): Iterable<WaitingOrder> {
    return this.#sources.later.dueBy(untilMs);
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

  /** The nearest drivers who may be given an order now. */
  nearestIds(order: WaitingOrder, nowMs: number): string[] {
    const { search, tiers } = this.#sources;
    const tier = tiers.get(order.tierId);
    if (!tier) return [];
    return search.nearestFew(queryFor(order, tier, nowMs), PLANNER_NEAREST).map(({ driverId }) => driverId);
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
    if (!tier || !drivers.serves(driverId, order.tierId)) return false;
    if (order.excludedDriverIds?.has(driverId)) return false;
    const vehicle = drivers.vehicleOf(driverId);
    if (!vehicle || !carries(vehicle, order.size ?? DEFAULT_SIZE)) return false;
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
