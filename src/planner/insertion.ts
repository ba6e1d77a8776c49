import type { Route } from './route.ts';
import type { Stop, Task } from './task.ts';
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
 * A later stop never costs less, so what the stops behind cost today, and the task by the straight way from
 * here, bound from below what they cost then: most places end at once. Ways must obey the triangle inequality for the result to be the best.
 *
 * @param from the first place that is allowed for the pickup
 */
export function cheapestInsertion(walk: Walk, route: Route, task: Task, limit: number, from: number): Insertion | null {
  const { stops, costs, times } = route;
  const directMs = walk.directMs(route.driver, task);
  const orders = costs[stops.length] as number;
  let most = limit + route.cost;
  let best: Insertion | null = null;
  for (let i = from; i <= stops.length; i++) {
    // The later the pickup, the later the door: no later place costs less than the direct way from here.
    if (orders + task.costAt((times[i] as number) + directMs) >= most) break;
    walk.begin(route, i);
    if (!walk.step(task.pickup) || orders + task.costAt(walk.atMs + directMs) >= most) continue;
    for (let j = i; ; j++) {
      const carried = walk.save();
      const cost = costOfRest(walk, route, task, j, orders, most);
      if (cost < most) {
        most = cost;
        best = { route, pickupAt: i, dropoffAt: j, cost: cost - route.cost };
      }
      walk.restore(carried);
      if (j === stops.length || !walk.step(stops[j] as Stop)) break;
      const rest = orders - (costs[j + 1] as number);
      if (walk.cost + rest + task.costAt(walk.atMs + walk.dropoffBeforeMs) >= most) break;
    }
  }
  return best;
}

/** The whole cost with the dropoff before stop `j`; `Infinity` where it is not allowed, or at least `most`. */
function costOfRest(walk: Walk, route: Route, task: Task, j: number, orders: number, most: number): number {
  const { stops, costs, times, slacks } = route;
  if (!walk.step(task.dropoff)) return Number.POSITIVE_INFINITY;
  for (let k = j; k < stops.length; k++) {
    if (walk.cost + orders - (costs[k] as number) >= most) return Number.POSITIVE_INFINITY;
    if (!walk.step(stops[k] as Stop)) return Number.POSITIVE_INFINITY;
    // A wait for a parcel took up the delay, and the rest is as it was.
    if (walk.atMs === times[k + 1] && walk.slackMs === slacks[k + 1] && k >= route.firstDoor) {
      return walk.cost + route.cost - (costs[k + 1] as number);
    }
  }
  return walk.total(route);
}

/** The stops of a route with a task inserted. */
export function withInserted({ route, pickupAt, dropoffAt }: Insertion, task: Task): Stop[] {
  const stops = route.stops.slice();
  stops.splice(dropoffAt, 0, task.dropoff);
  stops.splice(pickupAt, 0, task.pickup);
  return stops;
}
