import { LEAST_GAIN, PLANNER_MAX_STOPS, type Plan } from './plan.ts';
import { bestOrder } from './reorder.ts';
import type { Route, Stop, Task } from './route.ts';
import { ANYONE } from './types.ts';

/** Puts one task where it costs less, another driver's route included; true where that changed anything. */
export function relocate(plan: Plan, task: Task): boolean {
  const { route } = task;
  if (!route) return false;
  if (!plan.isAllowed(route)) return false;
  const { stops, cost, toldEnd, changes } = route;
  const routes = task.seen.unseen(route, plan.candidates(task).add(route), plan.nowMs);
  if (routes.length === 0) return false;
  plan.takeOut(task);
  const best = plan.cheapest(task, routes, cost - route.cost - LEAST_GAIN);
  if (best) {
    plan.put(best, task);
    return true;
  }
  route.toldEnd = toldEnd;
  plan.set(route, stops);
  route.changes = changes;
  task.route = route;
  return false;
}

/**
 * Exchanges the ends of a route and of one near it, each cut where nothing planned is on board, if that costs
 * less (2-opt* of J.-Y. Potvin and J.-M. Rousseau, "An exchange heuristic for routeing problems with time
 * windows", 1995). A whole route may go to an idle driver.
 */
export function exchangeEnds(plan: Plan, route: Route): boolean {
  const first = route.stops[route.toldEnd];
  if (!first || !plan.isAllowed(route)) return false;
  const isOpen = (other: Route) => other !== route && other.cost < Number.POSITIVE_INFINITY;
  let changed = false;
  const others = plan.fleet.nearest(first.place, plan.nowMs, ANYONE, isOpen);
  for (const other of route.seen.ends.unseen(route, others, plan.nowMs)) {
    if (!plan.isAllowed(other)) continue;
    const best = bestExchange(plan, route, other);
    if (!best) continue;
    plan.set(route, best.one);
    plan.set(other, best.other);
    for (const each of [route, other]) for (const { task } of each.stops) task.route = each;
    changed = true;
    if (route.stops.length === route.toldEnd) return true;
  }
  return changed;
}

function bestExchange(plan: Plan, a: Route, b: Route): { one: Stop[]; other: Stop[] } | null {
  let most = a.cost + b.cost - LEAST_GAIN;
  let best: { one: Stop[]; other: Stop[] } | null = null;
  const cutsOfB = cuts(b);
  for (const i of cuts(a)) {
    const endOfA = a.stops.slice(i);
    if (!mayTake(plan, b, endOfA)) continue;
    for (const j of cutsOfB) {
      const endOfB = b.stops.slice(j);
      if (endOfA.length + endOfB.length === 0 || !mayTake(plan, a, endOfB)) continue;
      if (Math.max(i + endOfB.length, j + endOfA.length) > PLANNER_MAX_STOPS) continue;
      const cost = plan.walk.costOf(a, i, endOfB, most);
      if (cost >= most) continue;
      const both = cost + plan.walk.costOf(b, j, endOfA, most - cost);
      if (both >= most) continue;
      most = both;
      best = { one: [...a.stops.slice(0, i), ...endOfB], other: [...b.stops.slice(0, j), ...endOfA] };
    }
  }
  return best;
}

/** The places of a route, its end included, behind which nothing was told and before which all is delivered. */
function cuts({ stops, loads, toldEnd }: Route): number[] {
  const found: number[] = [];
  for (let i = toldEnd; i <= stops.length; i++) if (loads[i] === 0) found.push(i);
  return found;
}

function mayTake({ rules }: Plan, { driver }: Route, stops: readonly Stop[]): boolean {
  return stops.every(({ isPickup, task }) => !isPickup || rules.mayCarry(driver.id, task.order.id));
}

/** Puts the stops of a short route into their best order. */
export function reorder(plan: Plan, route: Route): boolean {
  if (!plan.isAllowed(route)) return false;
  if (route.seen.orders.unseen(route, [route], plan.nowMs).length === 0) return false;
  const best = bestOrder(plan.walk, route, route.cost - LEAST_GAIN);
  if (!best) return false;
  route.toldEnd = best.findLastIndex(({ task }) => task.isTold) + 1;
  plan.set(route, best);
  return true;
}
