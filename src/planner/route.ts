import { PLANNER_SEEN_MS } from '../limits.ts';
import { Place } from './place.ts';
import type { Stop } from './task.ts';
import type { PlannedDriver } from './types.ts';

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
  /** The index of the first dropoff; the number of stops where there is none. */
  firstDoor = 0;
  /** Room that is taken at `place`. */
  onBoard = 0;
  /** Whether there are stops of which the driver was not told. */
  hasPlanned = false;
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

  constructor(driver: PlannedDriver) {
    this.driver = driver;
    this.place = new Place(driver.place);
  }

  moveTo(driver: PlannedDriver): void {
    const { lat, lng } = this.driver.place;
    this.driver = driver;
    if (driver.place.lat !== lat || driver.place.lng !== lng) this.place = new Place(driver.place);
  }

  /** The latest time to leave for the first stop that makes nothing later at a door. */
  get leaveMs(): number {
    return (this.times[0] as number) + (this.slacks[this.stops.length] as number);
  }

  get endPlace(): Place {
    return this.stops.at(-1)?.place ?? this.place;
  }
}
