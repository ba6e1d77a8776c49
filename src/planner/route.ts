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
