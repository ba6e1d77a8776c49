import { LEAST_GAIN, type Plan } from './plan.ts';
import type { Route, Stop, Task } from './route.ts';

/** Most orders that are taken out of the plan at once, to be put in another way: about 1 ms. */
const PLANNER_RUIN_ORDERS = 7;

type Before = { readonly stops: Stop[]; readonly toldEnd: number; readonly changes: number; readonly cost: number };

/**
 * Takes one order and some of those that are planned near it out of their routes, and puts them one by one where
 * they add the least; true where that costs less in all, else all is as it was ("ruin and recreate": P. Shaw,
 * 1998; G. Schrimpf, J. Schneider, H. Stamm-Wilbrandt, G. Dueck, "Record Breaking Optimization Results Using
 * the Ruin and Recreate Principle", 2000). It finds what no move of one order finds: who gives an order up only
 * for another.
 *
 * @param random numbers from 0 to 1, the same for the same calls
 */
export function ruin(plan: Plan, seed: Task, random: () => number): boolean {
  const tasks = someNear(plan, seed, random);
  if (tasks.some(({ route }) => !route || !plan.isAllowed(route))) return false;
  const before = new Map<Route, Before>();
  const remember = (route: Route) => {
    const { stops, toldEnd, changes, cost } = route;
    if (!before.has(route)) before.set(route, { stops, toldEnd, changes, cost });
  };
  const owners = new Map(tasks.map((task) => [task, task.route as Route]));
  for (const route of owners.values()) remember(route);
  for (const task of tasks) plan.takeOut(task);
  let gain = -LEAST_GAIN;
  for (const [route, { cost }] of before) gain += cost - route.cost;
  const isGain = tasks.every((task) => {
    const best = plan.cheapest(task, plan.candidates(task), gain);
    if (!best) return false;
    remember(best.route);
    plan.put(best, task);
    gain -= best.cost;
    return true;
  });
  if (isGain) return true;
  for (const [route, { stops, toldEnd, changes }] of before) {
    route.toldEnd = toldEnd;
    plan.set(route, stops);
    route.changes = changes;
  }
  for (const [task, route] of owners) task.route = route;
  return false;
}

/** A task and some others of the routes that are tried for it, in no order. */
function someNear(plan: Plan, seed: Task, random: () => number): Task[] {
  const near = new Set<Task>();
  for (const { stops } of plan.candidates(seed)) for (const { task } of stops) if (!task.isTold) near.add(task);
  for (const { task } of seed.route?.stops ?? []) if (!task.isTold) near.add(task);
  near.delete(seed);
  const others = [...near];
  const chosen = [seed];
  const count = 1 + Math.floor(random() * (PLANNER_RUIN_ORDERS - 1));
  while (chosen.length <= count && others.length > 0) {
    const at = Math.floor(random() * others.length);
    chosen.push(others[at] as Task);
    others[at] = others.at(-1) as Task;
    others.pop();
  }
  // Those that are put last find less room, so the order is another each time.
  return chosen
    .map((task) => ({ task, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ task }) => task);
}
