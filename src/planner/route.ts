import { Place } from './place.ts';
import type { Stop } from './task.ts';
import type { PlannedDriver } from './types.ts';

/** How long a search that found nothing is not repeated while the routes that it went through are the same. */
const PLANNER_SEEN_MS = 5 * 60_000;

/** The routes that a search from one went through in vain, by their changes: without new ones it would again. */
export class Seen {
  #own: Route | null = null;
  #ownChanges = 0;
  #sinceMs = 0;
  readonly #changes = new Map<Route, number>();

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
