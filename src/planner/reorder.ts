import type { Route, Stop } from './route.ts';
import type { Walk } from './walk.ts';

/** Most stops of a route whose best order is searched for: four parcels have 2,520 orders. */
const PLANNER_ORDERED_STOPS = 8;

/**
 * The cheapest order of the stops of a route, by depth-first search that leaves a branch once its cost reaches
 * that of the best order known. What was told keeps its order, and a parcel's pickup comes before its dropoff.
 * Null for a route of more than `PLANNER_ORDERED_STOPS`, and where no order costs less than `limit`.
 */
export function bestOrder(walk: Walk, route: Route, limit: number): Stop[] | null {
  const told = route.stops.filter(({ task }) => task.isTold);
  const planned = route.stops.filter(({ task }) => !task.isTold);
  if (planned.length === 0 || route.stops.length > PLANNER_ORDERED_STOPS) return null;
  const chosen: Stop[] = [];
  const isDone = new Array<boolean>(planned.length).fill(false);
  let toldDone = 0;
  let least = limit;
  let best: Stop[] | null = null;

  const visit = () => {
    if (chosen.length === route.stops.length) {
      const cost = walk.total(route);
      if (cost >= least) return;
      least = cost;
      best = chosen.slice();
      return;
    }
    const nextTold = told[toldDone];
    if (nextTold) {
      toldDone++;
      go(nextTold);
      toldDone--;
    }
    for (const [i, stop] of planned.entries()) {
      if (isDone[i]) continue;
      if (!stop.isPickup && !isDone[planned.indexOf(stop.task.pickup)]) continue;
      isDone[i] = true;
      go(stop);
      isDone[i] = false;
    }
  };
  const go = (stop: Stop) => {
    const before = walk.save();
    chosen.push(stop);
    if (walk.step(stop) && walk.cost < least) visit();
    chosen.pop();
    walk.restore(before);
  };

  walk.begin(route, 0);
  visit();
  return best;
}
