import { Groups } from '../domain/groups.ts';
import { below, PLANNER_NEAREST } from '../limits.ts';
import { Demand } from './demand.ts';
import { Fleet, msPerChord } from './fleet.ts';
import { cheapestInsertion, type Insertion, withInserted } from './insertion.ts';
import type { Place } from './place.ts';
import { Route, type Stop, Task } from './route.ts';
import type { OpenOrder, PlannedDriver, Rules } from './types.ts';
import { Walk } from './walk.ts';

/**
 * Most stops of a route; orders for which no near driver has room are planned later, the most urgent first.
 * Above PLANNER_ORDERED_STOPS.
 */
export const PLANNER_MAX_STOPS = 32;

/**
 * Most drivers who are asked, place by place in their routes, whether they have time for one order before they go home.
 * That takes up to some 20 µs each, so that a search takes about 1 ms where nobody has time. Above PLANNER_NEAREST.
 */
const MAX_ASKED_FOR_TIME = 48;

below({ PLANNER_NEAREST }, { MAX_ASKED_FOR_TIME });

/** A gain below this is none, so that rounding never moves an order to and fro. */
export const LEAST_GAIN = 1e-6;

/** Who is meant for each open order: the routes, and the changes that keep them sound. */
export class Plan {
  readonly rules: Rules;
  readonly tasks = new Map<string, Task>();
  readonly fleet = new Fleet();
  /** The open orders by the place of their pickup. */
  readonly pickups = new Groups<string, Task>();
  readonly demand = new Demand();
  readonly walk: Walk;
  /** How many open orders were in no route when they were last tried. */
  unplanned = 0;

  constructor(rules: Rules) {
    this.rules = rules;
    this.walk = new Walk(rules);
  }

  get nowMs(): number {
    return this.walk.nowMs;
  }

  /** Gives a route other stops; false where they are not allowed, and then its cost is `Infinity`. */
  set(route: Route, stops: Stop[]): boolean {
    route.stops = stops;
    route.changes++;
    const isAllowed = this.walk.refresh(route);
    this.fleet.write(route);
    return isAllowed;
  }

  /** Brings a route up to the time; false where it breaks a rule, and nothing can be added. To be asked before its states are read. */
  isAllowed(route: Route): boolean {
    if (route.times[0] !== this.walk.startMs(route.driver)) {
      this.walk.refresh(route);
      this.fleet.write(route);
    }
    return route.cost < Number.POSITIVE_INFINITY && !route.isBroken;
  }

  /** Takes what is only planned out of a route; returns it. */
  strip(route: Route): Task[] {
    const lost = takeFrom(route, () => true);
    this.setTold(
      route,
      route.stops.filter(({ task }) => task.isTold),
    );
    return lost;
  }

  /** Sets the told stops alone, and how late what is planned may make them. */
  setTold(route: Route, told: Stop[]): void {
    route.toldEnd = told.length;
    this.set(route, told);
    for (const [i, { isPickup, task }] of told.entries()) {
      const doorMs = (route.times[i + 1] as number) - this.rules.dropoffAfterMs;
      if (!isPickup) task.doorByMs = Math.max(task.order.dueMs, doorMs);
    }
  }

  /** Puts a task where it adds the least cost; false where it can't be. */
  insert(task: Task): boolean {
    const near = this.candidates(task);
    const best = this.cheapest(task, near, Number.POSITIVE_INFINITY) ?? this.#cheapestWithTime(task, near);
    if (!best) return false;
    this.put(best, task);
    return true;
  }

  put(insertion: Insertion, task: Task): void {
    const { route, pickupAt } = insertion;
    const toldEnd = route.toldEnd;
    if (pickupAt < toldEnd) route.toldEnd += insertion.dropoffAt < toldEnd ? 2 : 1;
    this.set(route, withInserted(insertion, task));
    task.route = route;
  }

  /** Where a task adds the least cost to one of these routes, below `limit`; null where it can't be. */
  cheapest(task: Task, routes: Iterable<Route>, limit: number): Insertion | null {
    let best: Insertion | null = null;
    let least = limit;
    for (const route of routes) {
      if (!this.isAllowed(route)) continue;
      const found = cheapestInsertion(this.walk, route, task, least - LEAST_GAIN);
      if (!found) continue;
      best = found;
      least = found.cost;
    }
    return best;
  }

  /** The routes that are tried for a task: those that stop at its store anyway, and the nearest. */
  candidates(task: Task, hasTime: (route: Route) => boolean = () => true): Set<Route> {
    const { order } = task;
    const mayCarry = (route: Route) =>
      !route.isBroken &&
      route.cost < Number.POSITIVE_INFINITY &&
      route.stops.length < PLANNER_MAX_STOPS &&
      this.rules.mayCarry(route.driver.id, order.id) &&
      hasTime(route);
    const stopping = new Set<Route>();
    for (const { route } of this.pickups.of(pickupOf(order))) {
      if (route && stopping.size < PLANNER_NEAREST) stopping.add(route);
    }
    const routes = new Set(Array.from(stopping).filter(mayCarry));
    const reach = this.rules.reachOf(order.id);
    for (const route of this.fleet.nearest(task.pickup.place, this.nowMs, reach, mayCarry)) routes.add(route);
    return routes;
  }

  /**
   * Where a task adds the least cost to a route whose driver has time for it before they go home. It is for a task
   * that none of the nearest can take: drivers who go home too soon may hold all PLANNER_NEAREST places.
   */
  #cheapestWithTime(task: Task, nearest: ReadonlySet<Route>): Insertion | null {
    const goesHome = ({ driver }: Route) => driver.offDutyMs < Number.POSITIVE_INFINITY;
    if (nearest.size < PLANNER_NEAREST || !Array.from(nearest).some(goesHome)) return null;
    let asked = 0;
    const fits = (route: Route) =>
      asked++ >= MAX_ASKED_FOR_TIME || this.cheapest(task, [route], Number.POSITIVE_INFINITY) !== null;
    const hasTime = (route: Route) => !goesHome(route) || (this.#mayHaveTime(route, task) && fits(route));
    return this.cheapest(task, this.candidates(task, hasTime), Number.POSITIVE_INFINITY);
  }

  /** Whether a driver could do a task before they go home if they did it first, and all ways were straight. */
  #mayHaveTime({ driver, place, times }: Route, { order, pickup, dropoff }: Task): boolean {
    const msOf = (from: Place, to: Place) => Math.sqrt(from.chordSquared(to)) * msPerChord(driver);
    const pickupMs = Math.max((times[0] as number) + msOf(place, pickup.place), order.readyMs);
    const doneMs = this.rules.staysInShift ? pickupMs + msOf(pickup.place, dropoff.place) : pickupMs;
    return doneMs <= driver.offDutyMs;
  }

  /** Takes a task out of its route. */
  takeOut(task: Task): void {
    const { route } = task;
    if (!route) return;
    task.route = null;
    const stops = route.stops.filter((stop) => stop.task !== task);
    const lastTold = stops.findLastIndex((stop) => stop.task.isTold);
    route.toldEnd = lastTold + 1;
    this.set(route, stops);
  }

  /**
   * Makes a driver's route, or brings it up to what the driver is and was told; returns what lost its place.
   *
   * @param before the stops as they were meant, those included of which the driver was told since
   */
  putDriver(driver: PlannedDriver, before: readonly Stop[]): Task[] {
    const known = this.fleet.get(driver.id);
    const route = known ?? new Route(driver);
    if (!known) this.fleet.add(route);
    route.moveTo(driver);
    const lost = takeFrom(route, ({ order }) => !this.rules.mayCarry(driver.id, order.id));
    const planned = route.hasPlanned ? route.stops.filter(({ task }) => task.route === route && !task.isTold) : [];
    const told = this.#toldStops(driver, route);
    this.setTold(route, told);
    if (planned.length === 0) return lost;
    const merged = mergeInOrder(before, told, new Set(planned));
    route.toldEnd = merged.findLastIndex((stop) => stop.task.isTold) + 1;
    return this.set(route, merged) ? lost : [...lost, ...this.strip(route)];
  }

  #toldStops(driver: PlannedDriver, route: Route): Stop[] {
    const tasks = new Map<string, Task>();
    route.onBoard = 0;
    const picked = new Set<string>();
    return driver.told.map(({ kind, order }) => {
      const task = tasks.get(order.id) ?? new Task(order, this.rules);
      tasks.set(order.id, task);
      task.isTold = true;
      task.route = route;
      if (kind === 'pickup') picked.add(order.id);
      else if (!picked.has(order.id)) route.onBoard += order.room;
      return kind === 'pickup' ? task.pickup : task.dropoff;
    });
  }
}

/** Takes some of what is only planned from a route, whose stops the caller sets; returns it. */
function takeFrom({ stops }: Route, isTaken: (task: Task) => boolean): Task[] {
  const planned = new Set(stops.map(({ task }) => task).filter(({ isTold }) => !isTold));
  const taken = Array.from(planned).filter(isTaken);
  for (const task of taken) task.route = null;
  return taken;
}

/** The told stops with the planned ones beside those beside which they were. */
function mergeInOrder(before: readonly Stop[], told: readonly Stop[], planned: ReadonlySet<Stop>): Stop[] {
  const merged: Stop[] = [];
  let next = 0;
  for (const stop of before) {
    if (planned.has(stop)) {
      merged.push(stop);
      continue;
    }
    const at = told.findIndex((each, i) => i >= next && isSame(each, stop));
    for (; at >= next; next++) merged.push(told[next] as Stop);
  }
  for (; next < told.length; next++) merged.push(told[next] as Stop);
  return merged;
}

const isSame = (a: Stop, b: Stop) => a.isPickup === b.isPickup && a.task.order.id === b.task.order.id;

export const pickupOf = ({ pickup }: OpenOrder) => `${pickup.lat},${pickup.lng}`;
