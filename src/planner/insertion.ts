import type { Route, Stop, Task } from './route.ts';
import type { Walk } from './walk.ts';

/** Places for a pickup and its dropoff in a route as it is before, and what they add to its cost. */
export type Insertion = {
  readonly route: Route;
  readonly pickupAt: number;
  readonly dropoffAt: number;
  readonly cost: number;
};

/**
 * The cheapest places for a task in a route, the order of the other stops kept, by judging every pair from the
 * state before it; null where no pair is allowed at less than `limit`.
 *
 * Most pairs end at once, because what is behind a place is bounded from below: by what it costs today, by what
 * its delay costs once all waits behind have taken up of it what they can, and by the task's own door on the
 * straight way from here. Ways must obey the triangle inequality for the result to be the best.
 */
export function cheapestInsertion(walk: Walk, route: Route, task: Task, limit: number): Insertion | null {
  const { stops, costs, times, ways } = route;
  const directMs = walk.directMs(route.driver, task);
  const search = { walk, route, task, before: 0, driverSlope: 0, most: limit + route.cost };
  let best: Insertion | null = null;
  for (let i = 0; i <= stops.length; i++) {
    // Behind the first door the time to leave is as it is, so that no minute of the driver is saved either.
    const isAfterDoor = i > route.firstDoor || route.toldEnd > 0;
    search.before = isAfterDoor ? route.cost : (costs[stops.length] as number);
    search.driverSlope = isAfterDoor ? walk.driverSlope : 0;
    // The later the pickup, the later the door: no later place costs less than the direct way from here.
    if (search.before + task.costAt((times[i] as number) + directMs) >= search.most) break;
    walk.begin(route, i);
    if (!walk.step(task.pickup) || search.before + task.costAt(walk.atMs + directMs) >= search.most) continue;
    for (let j = i; ; j++) {
      const carried = walk.save();
      const cost = costOfRest(search, j);
      if (cost < search.most) {
        search.most = cost;
        best = { route, pickupAt: i, dropoffAt: j, cost: cost - route.cost };
      }
      walk.restore(carried);
      if (j === stops.length || !walk.step(stops[j] as Stop, j === i ? undefined : ways[j])) break;
      const doorCost = task.costAt(walk.atMs + walk.dropoffBeforeMs);
      if (atLeast(search, j + 1, walk.atMs - (times[j + 1] as number)) + doorCost >= search.most) break;
    }
  }
  return best;
}

type Search = {
  readonly walk: Walk;
  readonly route: Route;
  readonly task: Task;
  /** What the route costs at the least without the task, and a further millisecond of its driver. */
  before: number;
  driverSlope: number;
  most: number;
};

/** The whole cost with the dropoff before stop `j`; `Infinity` where it is not allowed, or at least `most`. */
function costOfRest(search: Search, j: number): number {
  const { walk, route, task, most } = search;
  const { stops, costs, times, slacks, ways } = route;
  if (!walk.step(task.dropoff)) return Number.POSITIVE_INFINITY;
  const next = stops[j];
  let wayMs = next ? walk.wayMs(next) : 0;
  const delayMs = walk.atMs + wayMs - (times[j] as number) - (next ? (ways[j] as number) : 0);
  if (atLeast(search, j, delayMs) >= most) return Number.POSITIVE_INFINITY;
  for (let k = j; k < stops.length; k++) {
    if (k > j) wayMs = ways[k] as number;
    if (!walk.step(stops[k] as Stop, wayMs)) return Number.POSITIVE_INFINITY;
    const delay = walk.atMs - (times[k + 1] as number);
    // A wait for a parcel took up the delay, and the rest is as it was.
    if (delay === 0 && walk.slackMs === slacks[k + 1] && k >= route.firstDoor) {
      return walk.cost + route.cost - (costs[k + 1] as number);
    }
    if (atLeast(search, k + 1, delay) >= most) return Number.POSITIVE_INFINITY;
  }
  return walk.total(route);
}

/** The whole cost at the least, where the walk went up to before stop `k` and is later there than the route was. */
function atLeast({ walk, route, before, driverSlope }: Search, k: number, delayMs: number): number {
  const leftMs = delayMs - (route.waitsFrom[k] as number);
  const ofDelay = leftMs > 0 ? leftMs * ((route.slopesFrom[k] as number) + driverSlope) : 0;
  return walk.cost + before - (route.costs[k] as number) + ofDelay;
}

/** The stops of a route with a task inserted. */
export function withInserted({ route, pickupAt, dropoffAt }: Insertion, task: Task): Stop[] {
  const stops = route.stops.slice();
  stops.splice(dropoffAt, 0, task.dropoff);
  stops.splice(pickupAt, 0, task.pickup);
  return stops;
}
