import { below } from '../limits.ts';
import { Place } from './place.ts';
import type { OpenOrder, PlannedDriver, Rules } from './types.ts';

/** How long a search that found nothing is not repeated while the routes that it went through are the same. */
const PLANNER_SEEN_MS = 5 * 60_000;

/** The routes that a search from one went through in vain, by their changes: without new ones it would again. */
export class Seen {
  #own: Route | null = null;
  #ownChanges = 0;
  #sinceMs = 0;
  readonly #changes = new Map<Route, number>();

  /** Lets go of the routes: one that is gone would hold others that are gone, in chains without end. */
  forget(): void {
    this.#own = null;
    this.#changes.clear();
  }

  /** Those of some routes that were not seen lately as they are; from now on they were. */
  unseen(own: Route, others: Iterable<Route>, nowMs: number): Route[] {
    const isSame = own === this.#own && own.changes === this.#ownChanges;
    if (!isSame || nowMs >= this.#sinceMs + PLANNER_SEEN_MS) {
      this.#own = own;
      this.#ownChanges = own.changes;
      this.#sinceMs = nowMs;
      this.#changes.clear();
    }
    const unseen: Route[] = [];
    for (const other of others) {
      if (this.#changes.get(other) === other.changes) continue;
      this.#changes.set(other, other.changes);
      unseen.push(other);
    }
    return unseen;
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
  /** The index of the first dropoff; the number of stops where there is none. */
  firstDoor = 0;
  /** Room that is taken at `place`. */
  onBoard = 0;
  /** Whether there are stops of which the driver was not told. */
  hasPlanned = false;
  /** Whether what the driver was told breaks a rule by now, so that nothing can be added. */
  isBroken = false;
  /** `Infinity` for a route that is not allowed: a shift ends too early, or room is missing. */
  cost = 0;
  endMs = 0;
  /** Counts changes of the driver and the stops, so that a search knows what it has seen. */
  changes = 0;
  readonly seen = { orders: new Seen(), ends: new Seen() };
  /** By number of stops done: the time, the room taken, the cost of orders, and `Walk.slackMs`. */
  readonly times: number[] = [];
  readonly loads: number[] = [];
  readonly costs: number[] = [];
  readonly slacks: number[] = [];
  /** Milliseconds of way to each stop from the one before. */
  readonly ways: number[] = [];
  /** From each stop on: the waits in all, and what a millisecond of delay costs once they are used up. */
  readonly waitsFrom: number[] = [];
  readonly slopesFrom: number[] = [];

  constructor(driver: PlannedDriver) {
    this.driver = driver;
    this.place = new Place(driver.place);
  }

  moveTo(driver: PlannedDriver): void {
    const { lat, lng } = this.driver.place;
    this.driver = driver;
    if (driver.place.lat !== lat || driver.place.lng !== lng) this.place = new Place(driver.place);
  }

  /** Sums up the waits, and what a delay costs, from the last stop to the first. */
  sumUp(dropoffAfterMs: number): void {
    const { stops, times, waitsFrom, slopesFrom } = this;
    waitsFrom[stops.length] = 0;
    slopesFrom[stops.length] = 0;
    for (let i = stops.length - 1; i >= 0; i--) {
      const { task, isPickup } = stops[i] as Stop;
      const slope = isPickup ? 0 : task.slopeAt((times[i + 1] as number) - dropoffAfterMs);
      waitsFrom[i] = (waitsFrom[i] as number) + (waitsFrom[i + 1] as number);
      slopesFrom[i] = (slopesFrom[i + 1] as number) + slope;
    }
  }

  /** The latest time to leave for the first stop that makes nothing later at a door. */
  get leaveMs(): number {
    return (this.times[0] as number) + (this.slacks[this.stops.length] as number);
  }

  get endPlace(): Place {
    return this.stops.at(-1)?.place ?? this.place;
  }
}

/** What a minute of an order costs that is beyond its store's share, beside one that is within. Below 1. */
const PLANNER_BEYOND_SHARE = 0.2;
/** Time after which a minute of an order beyond its promise costs twice as much. */
const PLANNER_STARVING_MS = 60 * 60_000;

below({ PLANNER_BEYOND_SHARE }, { one: 1 });

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
  /** No handover before it. */
  readonly doorFromMs: number;
  /** From when on a minute counts whole, and from when on the order is late. */
  readonly #countsFromMs: number;
  readonly #lateFromMs: number;
  /** Whether the driver was told, and the latest time at the door that a further stop may cause. */
  isTold = false;
  /** Whether a place in a route was looked for. */
  isTried = false;
  doorByMs = Number.POSITIVE_INFINITY;

  constructor(order: OpenOrder, rules: Rules) {
    this.order = order;
    this.doorFromMs = order.doorFromMs ?? Number.NEGATIVE_INFINITY;
    this.pickup = new Stop(this, true, new Place(order.pickup));
    this.dropoff = new Stop(this, false, new Place(order.dropoff));
    const { dueMs, placedMs, countsFromMs = placedMs } = order;
    const isPromised = dueMs !== Number.POSITIVE_INFINITY;
    const hurry = isPromised && dueMs - countsFromMs > rules.hurryMs ? rules.hurryMs / (dueMs - countsFromMs) : 1;
    this.#countsFromMs = countsFromMs;
    this.#lateFromMs = isPromised ? dueMs : countsFromMs + PLANNER_STARVING_MS;
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
    const sinceMs = doorMs - this.#countsFromMs;
    const beforeMs = this.#countsFromMs - this.order.placedMs;
    const countedMs = PLANNER_BEYOND_SHARE * (beforeMs + Math.min(0, sinceMs)) + Math.max(0, sinceMs);
    const cost = (this.minuteCost * countedMs) / MINUTE_MS;
    const lateMs = doorMs - this.#lateFromMs;
    return lateMs <= 0 ? cost : cost + this.lateCost * growth(lateMs / PLANNER_STARVING_MS);
  }

  /** What a millisecond after that costs, or the next ones, which cost no less. */
  slopeAt(doorMs: number): number {
    const slope = ((doorMs < this.#countsFromMs ? PLANNER_BEYOND_SHARE : 1) * this.minuteCost) / MINUTE_MS;
    const lateMs = doorMs - this.#lateFromMs;
    if (lateMs < 0) return slope;
    const whole = Math.min(STRAIGHT_FROM, Math.floor(lateMs / PLANNER_STARVING_MS));
    return slope + (this.lateCost * (POWERS[whole] as number)) / PLANNER_STARVING_MS;
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
