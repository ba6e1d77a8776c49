import { EARTH_RADIUS_METERS } from '../geo/point.ts';
import { MAX_WAITS_PER_LOOK, PLANNER_WAIT_AHEAD_MS, PLANNER_WAIT_PLACES, PLANNER_WAIT_WAY_MINUTES } from '../limits.ts';
import type { Place } from './place.ts';
import type { Plan } from './plan.ts';
import type { Route } from './route.ts';
import type { Wait } from './types.ts';

/** Drivers near a store that count, each next one for a share of the one before. */
const DEPTH = 4;
const NEXT_SHARE = 0.6;
/** What a minute of way has to gain, as a share of what it costs one driver. */
const LEAST_GAIN = 0.1;
const FAR_MINUTES = 60;

type Store = {
  readonly place: Place;
  /** Share of the orders that are expected. */
  readonly weight: number;
  /** Minutes until the first drivers can be there, in order. */
  readonly reached: Float64Array;
};

/**
 * Where idle drivers should wait. A driver is asked to go to a store where that brings the first drivers of all
 * stores nearer, each store weighed by the orders that are expected of it, by more than a share of the way.
 */
export class Waiting {
  #turn = 0;

  /** The next moves, for some idle drivers at a time. */
  waits(plan: Plan): Wait[] {
    const near = plan.fleet.routes.filter((route) => isNear(plan, route));
    const idle = near.filter(({ stops, driver }) => stops.length === 0 && plan.walk.startMs(driver) <= plan.nowMs);
    const stores = idle.length === 0 ? [] : storesOf(plan);
    const waits: Wait[] = [];
    const places = new Map<Route, Place>();
    for (let tried = 0; tried < Math.min(idle.length, MAX_WAITS_PER_LOOK); tried++) {
      if (waits.length === places.size) fill(plan, stores, near, places);
      const route = idle[this.#turn++ % idle.length] as Route;
      const to = places.has(route) ? null : bestPlace(route, stores, near.length);
      if (!to) continue;
      places.set(route, to);
      fill(plan, stores, near, places);
      waits.push({ driverId: route.driver.id, place: to.point });
    }
    return waits;
  }
}

function storesOf(plan: Plan): Store[] {
  const sources = plan.demand.sources(plan.nowMs).sort((a, b) => b.weight - a.weight);
  const first = sources.slice(0, PLANNER_WAIT_PLACES);
  const total = first.reduce((sum, { weight }) => sum + weight, 0);
  return first.map(({ place, weight }) => ({ place, weight: weight / total, reached: new Float64Array(DEPTH + 1) }));
}

/** Whether a driver is free, and on duty, at the end of the time looked ahead. */
function isNear({ nowMs }: Plan, { driver, endMs }: Route): boolean {
  const untilMs = nowMs + PLANNER_WAIT_AHEAD_MS;
  return endMs <= untilMs && driver.offDutyMs > untilMs && driver.onDutyMs <= untilMs;
}

const minutes = (from: Place, to: Place, { driver }: Route) =>
  (Math.sqrt(from.chordSquared(to)) * EARTH_RADIUS_METERS) / driver.metersPerMinute;

function fill(plan: Plan, stores: readonly Store[], near: readonly Route[], places: ReadonlyMap<Route, Place>): void {
  for (const { reached } of stores) reached.fill(FAR_MINUTES);
  for (const route of near) {
    const from = places.get(route) ?? route.endPlace;
    const freeIn = Math.max(0, route.endMs - plan.nowMs) / 60_000;
    for (const { place, reached } of stores) add(reached, freeIn + minutes(from, place, route));
  }
}

/** Keeps the least figures in order. */
function add(reached: Float64Array, value: number): void {
  let k = reached.length - 1;
  if ((reached[k] as number) <= value) return;
  for (; k > 0 && (reached[k - 1] as number) > value; k--) reached[k] = reached[k - 1] as number;
  reached[k] = value;
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
