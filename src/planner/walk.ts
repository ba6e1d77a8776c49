import { Place } from './place.ts';
import type { Route } from './route.ts';
import type { Stop, Task } from './task.ts';
import type { PlannedDriver, Rules } from './types.ts';

const MINUTE_MS = 60_000;

type Saved = {
  readonly atMs: number;
  readonly load: number;
  readonly cost: number;
  readonly place: Place;
  readonly isAtPickup: boolean;
};

/** Goes along routes stop by stop. One object for all searches, so that they make no garbage. */
export class Walk {
  readonly #rules: Rules;
  nowMs = 0;
  /** Whether room and shift count for nothing, as for what a driver was told, whatever has changed since. */
  isLenient = false;
  atMs = 0;
  /** When the parcel of the last pickup was taken over. */
  pickupMs = 0;
  load = 0;
  cost = 0;
  place: Place = new Place({ lat: 0, lng: 0 });
  #isAtPickup = false;
  #driver!: PlannedDriver;

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  /** Begins after the first `done` stops of a route whose states are known. */
  begin(route: Route, done: number): void {
    const { driver } = route;
    this.#driver = driver;
    this.atMs = route.times[done] as number;
    this.load = route.loads[done] as number;
    this.cost = route.costs[done] as number;
    const last = done === 0 ? undefined : route.stops[done - 1];
    this.place = last ? last.place : route.place;
    this.#isAtPickup = last ? last.isPickup : driver.isPickingUp;
  }

  save(): Saved {
    const { atMs, load, cost, place } = this;
    return { atMs, load, cost, place, isAtPickup: this.#isAtPickup };
  }

  restore(saved: Saved): void {
    this.atMs = saved.atMs;
    this.load = saved.load;
    this.cost = saved.cost;
    this.place = saved.place;
    this.#isAtPickup = saved.isAtPickup;
  }

  /** When a driver is free to leave for the first planned stop. */
  startMs(driver: PlannedDriver): number {
    return Math.max(driver.freeAtMs, driver.onDutyMs, this.nowMs);
  }

  /** From a pickup that begins to the door, at the least. */
  directMs(driver: PlannedDriver, { pickup, dropoff }: Task): number {
    const { travelMs, dropoffBeforeMs } = this.#rules;
    return travelMs(pickup.place, dropoff.place, driver.metersPerMinute) + dropoffBeforeMs;
  }

  /** Does a stop; false where room, shift or what a driver was told forbids it. */
  step(stop: Stop): boolean {
    const { task, place } = stop;
    const rules = this.#rules;
    const driver = this.#driver;
    const { order } = task;
    const isHere = this.place.isAt(place);
    const wayMs = isHere ? 0 : rules.travelMs(this.place, place, driver.metersPerMinute);
    if (stop.isPickup) {
      this.load += order.room;
      if (this.load > driver.room && !this.isLenient) return false;
      // Parcels of one store are one stop: the driver is there until the last of them is ready.
      const isSameStop = isHere && this.#isAtPickup;
      const arriveMs = isSameStop ? this.atMs - rules.pickupAfterMs : this.atMs + wayMs + rules.pickupBeforeMs;
      const pickupMs = Math.max(arriveMs, order.readyMs);
      if (pickupMs > driver.offDutyMs && !this.isLenient) return false;
      this.pickupMs = pickupMs;
      this.atMs = isSameStop ? Math.max(this.atMs, pickupMs + rules.pickupAfterMs) : pickupMs + rules.pickupAfterMs;
      this.#isAtPickup = true;
    } else {
      const doorMs = this.atMs + wayMs + rules.dropoffBeforeMs;
      if (doorMs > task.doorByMs) return false;
      this.cost += task.costAt(doorMs);
      this.atMs = doorMs + rules.dropoffAfterMs;
      this.load -= order.room;
      this.#isAtPickup = false;
    }
    this.place = place;
    return true;
  }

  /** Computes the states of a route; false where a stop is not allowed, and then its cost is `Infinity`. */
  refresh(route: Route): boolean {
    const { stops, times, loads, costs } = route;
    times[0] = this.startMs(route.driver);
    loads[0] = route.onBoard;
    costs[0] = 0;
    this.begin(route, 0);
    for (let i = 0; i < stops.length; i++) {
      if (!this.step(stops[i] as Stop)) {
        route.cost = Number.POSITIVE_INFINITY;
        return false;
      }
      times[i + 1] = this.atMs;
      loads[i + 1] = this.load;
      costs[i + 1] = this.cost;
    }
    route.endMs = this.atMs;
    route.cost = this.total(route, stops[0]);
    return true;
  }

  /** The cost of what was walked, with the driver's minutes. */
  total(route: Route, first: Stop | undefined): number {
    if (!first) return 0;
    return this.cost + (this.#rules.driverCost * (this.atMs - this.leaveMs(route, first))) / MINUTE_MS;
  }

  /** When the driver of a route has to leave for its first stop: as late as does not make the pickup late. */
  leaveMs(route: Route, first: Stop): number {
    const startMs = this.startMs(route.driver);
    if (!first.isPickup || route.toldEnd > 0) return startMs;
    const wayMs = this.#rules.travelMs(route.place, first.place, route.driver.metersPerMinute);
    return Math.max(startMs, first.task.order.readyMs - wayMs - this.#rules.pickupBeforeMs);
  }

  /** The cost of a route whose stops after the first `kept` are others; `Infinity` for `limit` or more. */
  costOf(route: Route, kept: number, others: readonly Stop[], limit = Number.POSITIVE_INFINITY): number {
    this.begin(route, kept);
    for (const stop of others) if (!this.step(stop) || this.cost >= limit) return Number.POSITIVE_INFINITY;
    return this.total(route, kept === 0 ? others[0] : route.stops[0]);
  }
}
