import { PLANNER_SEEN_MS, PLANNER_STARVING_MS } from '../limits.ts';
import { Place } from './place.ts';
import type { OpenOrder, PlannedDriver, Rules } from './types.ts';

const MINUTE_MS = 60_000;

/** An order in the planner: its two stops, and the route that it is in. */
export class Task {
  readonly order: OpenOrder;
  readonly pickup: Stop;
  readonly dropoff: Stop;
  /** Cost of a minute to the door, and of `PLANNER_STARVING_MS` of first minutes beyond the promise. */
  readonly minuteCost: number;
  readonly lateCost: number;
  route: Route | null = null;
  readonly seen = new Seen();
  /** Whether the driver was told, and the latest time at the door that a further stop may cause. */
  isTold = false;
  doorByMs = Number.POSITIVE_INFINITY;

  constructor(order: OpenOrder, rules: Rules) {
    this.order = order;
    this.pickup = new Stop(this, true, new Place(order.pickup));
    this.dropoff = new Stop(this, false, new Place(order.dropoff));
    const promiseMs = order.dueMs - order.placedMs;
    const hurry = promiseMs > rules.hurryMs && promiseMs !== Number.POSITIVE_INFINITY ? rules.hurryMs / promiseMs : 1;
    this.minuteCost = order.weight * hurry;
    this.lateCost = (order.weight * rules.lateCost * PLANNER_STARVING_MS) / MINUTE_MS;
  }

  /**
   * Cost of being at the door at a time. Beyond the promise a minute costs twice as much after
   * each `PLANNER_STARVING_MS`. So an order that takes a driver n times as long as others goes before all that
   * are less late by log₂ n times that, however many come, and none starves. One without a promise is late from
   * `PLANNER_STARVING_MS` after it was placed.
   */
  costAt(doorMs: number): number {
    const { placedMs, dueMs } = this.order;
    const cost = (this.minuteCost * (doorMs - placedMs)) / MINUTE_MS;
    const lateMs = doorMs - (dueMs === Number.POSITIVE_INFINITY ? placedMs + PLANNER_STARVING_MS : dueMs);
    return lateMs <= 0 ? cost : cost + this.lateCost * growth(lateMs / PLANNER_STARVING_MS);
  }
}

/** A line whose slope is 1 at first and doubles at each whole number, up to where a minute would be lost in it. */
function growth(x: number): number {
  const whole = x < STRAIGHT_FROM ? Math.floor(x) : STRAIGHT_FROM;
  return (POWERS[whole] as number) * (1 + x - whole) - 1;
}
const STRAIGHT_FROM = 24;
const POWERS = Float64Array.from({ length: STRAIGHT_FROM + 1 }, (_, i) => 2 ** i);

export class Stop {
  readonly task: Task;
  readonly isPickup: boolean;
  readonly place: Place;

  constructor(task: Task, isPickup: boolean, place: Place) {
    this.task = task;
    this.isPickup = isPickup;
    this.place = place;
  }
}

/** The routes that a search went through in vain, by their changes: while there are no new ones, it would again. */
export class Seen {
  #sum = -1;
  #atMs = 0;

  /** Whether the same was seen lately; from now on it was. */
  isSame(routes: Iterable<Route>, nowMs: number): boolean {
    let sum = 0;
    for (const { changes } of routes) sum += 1 + changes;
    if (sum === this.#sum && nowMs < this.#atMs + PLANNER_SEEN_MS) return true;
    this.#sum = sum;
    this.#atMs = nowMs;
    return false;
  }
}

/**
 * What a driver was told and what is planned for them, with the state after each stop, so that an insertion is
 * judged from where it begins.
 */
export class Route {
  driver: PlannedDriver;
  place: Place;
  stops: Stop[] = [];
  /** The number of stops up to the last one that the driver was told of. */
  toldEnd = 0;
  /** Room that is taken at `place`. */
  onBoard = 0;
  cost = 0;
  endMs = 0;
  /** Counts changes of the driver and the stops, so that a search knows what it has seen. */
  changes = 0;
  readonly seen = { orders: new Seen(), ends: new Seen() };
  /** By number of stops done: the time, the room taken and the cost of orders. */
  readonly times: number[] = [];
  readonly loads: number[] = [];
  readonly costs: number[] = [];

  constructor(driver: PlannedDriver) {
    this.driver = driver;
    this.place = new Place(driver.place);
  }

  moveTo(driver: PlannedDriver): void {
    const { lat, lng } = this.driver.place;
    this.driver = driver;
    if (driver.place.lat !== lat || driver.place.lng !== lng) this.place = new Place(driver.place);
  }

  get endPlace(): Place {
    return this.stops.at(-1)?.place ?? this.place;
  }
}

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
