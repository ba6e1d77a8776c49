import { Place } from './place.ts';
import type { Route, Stop, Task } from './route.ts';
import type { PlannedDriver, Rules } from './types.ts';

const MINUTE_MS = 60_000;

type Saved = {
  readonly atMs: number;
  readonly load: number;
  readonly cost: number;
  readonly slackMs: number;
  readonly place: Place;
  readonly isAtPickup: boolean;
  readonly isAfterDoor: boolean;
};

/** Goes along routes stop by stop. One object for all searches, so that they make no garbage. */
export class Walk {
  readonly #rules: Rules;
  nowMs = 0;
  atMs = 0;
  /** When the parcel of the last pickup was taken over. */
  pickupMs = 0;
  /** How long the driver waited at the last stop. */
  waitMs = 0;
  load = 0;
  cost = 0;
  /** How much later the driver may leave so that nothing is later at a door: the waits up to the first door. */
  slackMs = 0;
  place: Place = new Place({ lat: 0, lng: 0 });
  #isAtPickup = false;
  #isAfterDoor = false;
  /** Whether nothing is forbidden, as on a route that has nothing but what the driver was told. */
  #isLenient = false;
  #isBroken = false;
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
    this.slackMs = route.slacks[done] as number;
    const last = done === 0 ? undefined : route.stops[done - 1];
    this.place = last ? last.place : route.place;
    this.#isAtPickup = last ? last.isPickup : driver.isPickingUp;
    // Who was told of stops goes on without a wait.
    this.#isAfterDoor = route.toldEnd > 0 || done > route.firstDoor;
  }

  save(): Saved {
    const { atMs, load, cost, slackMs, place } = this;
    return { atMs, load, cost, slackMs, place, isAtPickup: this.#isAtPickup, isAfterDoor: this.#isAfterDoor };
  }

  restore(saved: Saved): void {
    this.atMs = saved.atMs;
    this.load = saved.load;
    this.cost = saved.cost;
    this.slackMs = saved.slackMs;
    this.place = saved.place;
    this.#isAtPickup = saved.isAtPickup;
    this.#isAfterDoor = saved.isAfterDoor;
  }

  /** When a driver is free to leave for the first planned stop. */
  startMs(driver: PlannedDriver): number {
    return Math.max(driver.freeAtMs, driver.onDutyMs, this.nowMs);
  }

  /** Cost of a driver's millisecond. */
  get driverSlope(): number {
    return this.#rules.driverCost / MINUTE_MS;
  }

  get dropoffBeforeMs(): number {
    return this.#rules.dropoffBeforeMs;
  }

  /** From a pickup that is done to the door, at the least. */
  directMs(driver: PlannedDriver, { pickup, dropoff }: Task): number {
    const { travelMs, dropoffBeforeMs } = this.#rules;
    return travelMs(pickup.place, dropoff.place, driver.metersPerMinute) + dropoffBeforeMs;
  }

  /** The way from here to a stop. */
  wayMs({ place }: Stop): number {
    return this.place.isAt(place) ? 0 : this.#rules.travelMs(this.place, place, this.#driver.metersPerMinute);
  }

  /** Does a stop; false where room, shift or what a driver was told forbids it. */
  step(stop: Stop, wayMs = this.wayMs(stop)): boolean {
    if (!(stop.isPickup ? this.#pickUp(stop, wayMs) : this.#handOver(stop.task, wayMs))) return false;
    this.place = stop.place;
    return true;
  }

  #pickUp({ task: { order }, place }: Stop, wayMs: number): boolean {
    const { pickupBeforeMs, pickupAfterMs, staysInShift } = this.#rules;
    const driver = this.#driver;
    this.load += order.room;
    if (this.load > driver.room && !this.#isForgiven()) return false;
    // Parcels of one store are one stop: the driver is there until the last of them is ready.
    const isSameStop = this.#isAtPickup && this.place.isAt(place);
    const arriveMs = isSameStop ? this.atMs - pickupAfterMs : this.atMs + wayMs + pickupBeforeMs;
    const pickupMs = Math.max(arriveMs, order.readyMs);
    const doneMs = isSameStop ? Math.max(this.atMs, pickupMs + pickupAfterMs) : pickupMs + pickupAfterMs;
    if ((staysInShift ? doneMs : pickupMs) > driver.offDutyMs && !this.#isForgiven()) return false;
    this.waitMs = pickupMs - arriveMs;
    if (!this.#isAfterDoor) this.slackMs += this.waitMs;
    this.pickupMs = pickupMs;
    this.atMs = doneMs;
    this.#isAtPickup = true;
    return true;
  }

  #handOver(task: Task, wayMs: number): boolean {
    const { dropoffBeforeMs, dropoffAfterMs, staysInShift } = this.#rules;
    const arriveMs = this.atMs + wayMs + dropoffBeforeMs;
    const doorMs = Math.max(arriveMs, task.doorFromMs);
    const doneMs = doorMs + dropoffAfterMs;
    const isLate = doorMs > task.doorByMs || (staysInShift && doneMs > this.#driver.offDutyMs);
    if (isLate && !this.#isForgiven()) return false;
    this.waitMs = doorMs - arriveMs;
    if (!this.#isAfterDoor) this.slackMs += this.waitMs;
    this.cost += task.costAt(doorMs);
    this.atMs = doneMs;
    this.load -= task.order.room;
    this.#isAtPickup = false;
    this.#isAfterDoor = true;
    return true;
  }

  #isForgiven(): boolean {
    this.#isBroken = true;
    return this.#isLenient;
  }

  /** Computes the states of a route; false where a stop is not allowed, and then its cost is `Infinity`. */
  refresh(route: Route): boolean {
    const { stops, times, loads, costs, slacks, ways, waitsFrom } = route;
    times[0] = this.startMs(route.driver);
    loads[0] = route.onBoard;
    costs[0] = 0;
    slacks[0] = 0;
    const firstDoor = stops.findIndex((stop) => !stop.isPickup);
    route.firstDoor = firstDoor === -1 ? stops.length : firstDoor;
    route.hasPlanned = stops.some(({ task }) => !task.isTold);
    this.begin(route, 0);
    this.#isLenient = !route.hasPlanned;
    this.#isBroken = false;
    for (let i = 0; i < stops.length; i++) {
      const stop = stops[i] as Stop;
      const wayMs = this.wayMs(stop);
      ways[i] = wayMs;
      if (!this.step(stop, wayMs)) {
        route.cost = Number.POSITIVE_INFINITY;
        return false;
      }
      times[i + 1] = this.atMs;
      loads[i + 1] = this.load;
      costs[i + 1] = this.cost;
      slacks[i + 1] = this.slackMs;
      waitsFrom[i] = this.waitMs;
    }
    this.#isLenient = false;
    route.isBroken = this.#isBroken;
    route.sumUp(this.#rules.dropoffAfterMs);
    route.endMs = this.atMs;
    route.cost = stops.length === 0 ? 0 : this.total(route);
    return true;
  }

  /** The cost of what was walked, with the driver's minutes from the latest time to leave. */
  total(route: Route): number {
    const minutes = (this.atMs - (route.times[0] as number) - this.slackMs) / MINUTE_MS;
    return this.cost + this.#rules.driverCost * minutes;
  }

  /** The cost of a route whose stops after the first `kept` are others; `Infinity` for `limit` or more. */
  costOf(route: Route, kept: number, others: readonly Stop[], limit = Number.POSITIVE_INFINITY): number {
    if (kept + others.length === 0) return 0;
    this.begin(route, kept);
    for (const stop of others) if (!this.step(stop) || this.cost >= limit) return Number.POSITIVE_INFINITY;
    return this.total(route);
  }
}
