import { EARTH_RADIUS_METERS } from '../geo/point.ts';
import { below, IDLE_WAIT_MS, MAX_WAITS_PER_LOOK } from '../limits.ts';
import type { Place } from './place.ts';
import type { Plan } from './plan.ts';
import type { Route } from './route.ts';
import type { Wait } from './types.ts';

/** Most stores, those of the most orders, by which idle drivers are asked to wait elsewhere. */
const PLANNER_WAIT_PLACES = 128;
/**
 * Most pairs of a driver and a store that are measured at once for places to wait, about 1 ms: where there are
 * more, the drivers are counted over some looks.
 */
const MAX_WAIT_PAIRS_PER_LOOK = 100_000;
/** How soon drivers are free that count as near a store where orders are expected. */
const PLANNER_WAIT_AHEAD_MS = 15 * 60_000;
/** Longest way to a place to wait; on it a driver is farther from the stores that are left. */
const PLANNER_WAIT_WAY_MINUTES = 10;

below({ 'PLANNER_WAIT_WAY_MINUTES in ms': PLANNER_WAIT_WAY_MINUTES * 60_000 }, { IDLE_WAIT_MS });

/** Drivers near a store that count, each next one for a share of the one before. */
const DEPTH = 4;
const NEXT_SHARE = 0.6;
/** What a minute of way has to gain, as a share of what it costs one driver. */
const LEAST_GAIN = 0.1;
const FAR_MINUTES = 60;

/** First drivers that a store remembers: some may move before they are counted again. */
const REMEMBERED = DEPTH + 1 + MAX_WAITS_PER_LOOK;

type Store = {
  readonly place: Place;
  /** Share of the orders that are expected. */
  readonly weight: number;
  /** Minutes until the first drivers can be there, in order. */
  readonly reached: Float64Array;
};

/** The drivers near each store, as far as they were counted. */
type Table = {
  readonly stores: readonly Store[];
  readonly near: Route[];
  counted: number;
};

/**
 * Where idle drivers should wait. A driver is asked to go to a store where that brings the first drivers of all
 * stores nearer, each store weighed by the orders that are expected of it, by more than a share of the way.
 */
export class Waiting {
  #turn = 0;
  #table: Table | null = null;

  /** The next moves, for some idle drivers at a time; none while drivers are being counted. */
  waits(plan: Plan): Wait[] {
    this.#table ??= { stores: storesOf(plan), near: [], counted: 0 };
    if (!count(plan, this.#table)) return [];
    const { stores, near } = this.#table;
    this.#table = null;
    const waits: Wait[] = [];
    for (const route of this.#nextIdle(plan, near)) {
      const to = bestPlace(route, stores, near.length);
      if (!to) continue;
      for (const { place, reached } of stores) {
        remove(reached, minutes(route.place, place, route));
        add(reached, minutes(to, place, route));
      }
      waits.push({ driverId: route.driver.id, place: to.point });
    }
    return waits;
  }

  #nextIdle(plan: Plan, near: readonly Route[]): Route[] {
    const idle: Route[] = [];
    for (let looked = 0; looked < near.length && idle.length < MAX_WAITS_PER_LOOK; looked++) {
      const route = near[this.#turn++ % near.length] as Route;
      if (plan.fleet.has(route) && isIdle(plan, route)) idle.push(route);
    }
    return idle;
  }
}

/** Counts some more drivers; true where all are. A driver who is removed meanwhile may leave another one uncounted. */
function count(plan: Plan, table: Table): boolean {
  const { stores, near } = table;
  const { routes } = plan.fleet;
  const until = Math.min(routes.length, table.counted + Math.ceil(MAX_WAIT_PAIRS_PER_LOOK / (stores.length + 1)));
  for (; table.counted < until; table.counted++) {
    const route = routes[table.counted] as Route;
    if (!isNear(plan, route)) continue;
    near.push(route);
    const freeIn = Math.max(0, route.endMs - plan.nowMs) / 60_000;
    for (const { place, reached } of stores) add(reached, freeIn + minutes(route.endPlace, place, route));
  }
  return table.counted >= routes.length;
}

function storesOf(plan: Plan): Store[] {
  const sources = plan.demand.sources(plan.nowMs).sort((a, b) => b.weight - a.weight);
  const first = sources.slice(0, PLANNER_WAIT_PLACES);
  const total = first.reduce((sum, { weight }) => sum + weight, 0);
  return first.map(({ place, weight }) => ({
    place,
    weight: weight / total,
    reached: new Float64Array(REMEMBERED).fill(FAR_MINUTES),
  }));
}

/** Whether a driver is free, and on duty, at the end of the time looked ahead. */
function isNear({ nowMs }: Plan, { driver, endMs }: Route): boolean {
  const untilMs = nowMs + PLANNER_WAIT_AHEAD_MS;
  return endMs <= untilMs && driver.offDutyMs > untilMs && driver.onDutyMs <= untilMs;
}

const isIdle = (plan: Plan, { stops, driver }: Route) => stops.length === 0 && plan.walk.startMs(driver) <= plan.nowMs;

const minutes = (from: Place, to: Place, { driver }: Route) =>
  (Math.sqrt(from.chordSquared(to)) * EARTH_RADIUS_METERS) / driver.metersPerMinute;

/** Keeps the least figures in order. */
function add(reached: Float64Array, value: number): void {
  let k = reached.length - 1;
  if ((reached[k] as number) <= value) return;
  for (; k > 0 && (reached[k - 1] as number) > value; k--) reached[k] = reached[k - 1] as number;
  reached[k] = value;
}

function remove(reached: Float64Array, value: number): void {
  const k = reached.indexOf(value);
  if (k === -1) return;
  reached.copyWithin(k, k + 1);
  reached[reached.length - 1] = FAR_MINUTES;
}

function bestPlace(route: Route, stores: readonly Store[], drivers: number): Place | null {
  const now = stores.map(({ place }) => minutes(route.place, place, route));
  const before = minutesWith(route, now, route.place, stores);
  let best: Place | null = null;
  let most = 0;
  for (const [i, { place }] of stores.entries()) {
    const way = now[i] as number;
    if (way < 1 || way > PLANNER_WAIT_WAY_MINUTES) continue;
    const gain = before - minutesWith(route, now, place, stores) - (LEAST_GAIN * way) / drivers;
    if (gain <= most) continue;
    most = gain;
    best = place;
  }
  return best;
}

/** Weighted minutes until the stores' first drivers are there, with an idle driver at another place. */
function minutesWith(route: Route, now: readonly number[], there: Place, stores: readonly Store[]): number {
  let sum = 0;
  for (let i = 0; i < stores.length; i++) {
    const { place, weight, reached } = stores[i] as Store;
    let own = minutes(there, place, route);
    let gone = now[i] as number;
    let share = weight;
    for (let k = 0, counted = 0; counted < DEPTH; ) {
      const next = k <= DEPTH ? (reached[k] as number) : FAR_MINUTES;
      if (next === gone) {
        gone = -1;
        k++;
        continue;
      }
      if (own <= next) {
        sum += share * own;
        own = Number.POSITIVE_INFINITY;
      } else {
        sum += share * next;
        k++;
      }
      share *= NEXT_SHARE;
      counted++;
    }
  }
  return sum;
}
