import { cheapestInsertion } from './insertion.ts';
import type { Plan } from './plan.ts';
import type { Route, Stop, Task } from './route.ts';
import type { Alternative, Tell, ToldStop } from './types.ts';

/** How long before they leave a stop drivers are told of what more they fetch there, and of where they go next. */
const PLANNER_JOIN_MS = 5 * 60_000;
/** Most of the next best drivers that a reason names. */
const PLANNER_ALTERNATIVES = 3;

/**
 * What a driver is to be told by now: a driver who is free is told of the next pickup when waiting any longer
 * would make it late, one at a store of what more is fetched there, and one at any stop of the store that comes next.
 * Null while there is nothing.
 *
 * @param untilMs the time of the next look; who has to leave before it is told now
 */
export function tellOf(plan: Plan, route: Route, untilMs: number): Tell | null {
  const { driver, stops } = route;
  const first = stops[0];
  if (!first || first.task.isTold) return null;
  const waitsForParcel = stops.length === 2 && first.task.order.readyMs > untilMs;
  const headStartMs = waitsForParcel ? plan.rules.headStartMs : 0;
  const isFree = Math.max(driver.freeAtMs, driver.onDutyMs) < untilMs && route.leaveMs - headStartMs < untilMs;
  const end = isFree ? endOfPickups(stops) : endBeforeLeaving(plan, route, untilMs);
  // The time may have gone on since the route was planned, so that a shift ends too early.
  if (end === 0 || !plan.isAllowed(route)) return null;
  const tasks = new Set<Task>();
  for (const { task } of stops.slice(0, end)) if (!task.isTold) tasks.add(task);
  const told = stops.filter(({ task }) => task.isTold || tasks.has(task));
  return {
    driverId: driver.id,
    stops: told.map(toldStop),
    orders: Array.from(tasks, (task) => ({ id: task.order.id, ...reasons(plan, route, task) })),
  };
}

export const toldStop = ({ isPickup, task }: Stop): ToldStop => ({
  kind: isPickup ? 'pickup' : 'dropoff',
  order: task.order,
});

/** What a driver has to know before they leave the stop where they are, or soon will be. */
function endBeforeLeaving({ rules }: Plan, route: Route, untilMs: number): number {
  const { stops, driver, place } = route;
  // Who is overdue at a stop is still there, and has to be told all the more.
  const { soonestMs = driver.freeAtMs } = driver;
  const isSoon = soonestMs < untilMs + rules.pickupBeforeMs + rules.pickupAfterMs + PLANNER_JOIN_MS;
  if (!isSoon) return 0;
  if (stops[0]?.place.isAt(place)) return driver.isPickingUp ? endOfReady(route, soonestMs) : 0;
  // On the way to their stop they are not told of a store behind it: it may still change. Nor are those at their last
  // one, who are free then.
  const goesOn = driver.soonestMs !== undefined && route.toldEnd > 0 && route.leaveMs <= driver.freeAtMs;
  return goesOn ? Math.min(endOfPickups(stops), driver.spare ?? 0) : 0;
}

/** What is ready at the store when the driver leaves it. */
function endOfReady({ stops, place }: Route, soonestMs: number): number {
  const isReady = ({ isPickup, place: at, task: { order } }: Stop) =>
    isPickup && at.isAt(place) && order.readyMs <= soonestMs;
  const end = stops.findIndex((stop) => !isReady(stop));
  return end === -1 ? stops.length : end;
}

/** The pickups at the first store: what is added later may come before the doors. */
function endOfPickups(stops: readonly Stop[]): number {
  const first = stops[0] as Stop;
  const end = stops.findIndex((stop) => !stop.isPickup || !stop.place.isAt(first.place));
  return end === -1 ? stops.length : end;
}

/** What an order costs with its driver, and with the next best ones. */
function reasons(plan: Plan, route: Route, task: Task): { cost: number; nextBest: Alternative[] } {
  const { walk } = plan;
  const others = route.stops.filter((stop) => stop.task !== task);
  const without = walk.costOf(route, 0, others);
  const nextBest: Alternative[] = [];
  for (const other of plan.candidates(task)) {
    if (other === route || !plan.isAllowed(other)) continue;
    const limit = nextBest[PLANNER_ALTERNATIVES - 1]?.cost ?? Number.POSITIVE_INFINITY;
    const found = cheapestInsertion(walk, other, task, limit);
    if (!found) continue;
    nextBest.push({ driverId: other.driver.id, cost: found.cost });
    nextBest.sort((a, b) => a.cost - b.cost);
    nextBest.length = Math.min(nextBest.length, PLANNER_ALTERNATIVES);
  }
  return { cost: route.cost - without, nextBest };
}
