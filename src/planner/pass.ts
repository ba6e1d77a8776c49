import { exchangeEnds, relocate, reorder } from './improve.ts';
import type { Plan } from './plan.ts';
import type { Task } from './route.ts';
import { ruin } from './ruin.ts';

/** Most times that this is tried in a pass. */
const MAX_RUINS_PER_PASS = 200;

/**
 * A pass, which goes on by one small part each time: routes are brought up to the time, orders that are in none
 * are put, the most urgent first, and then all is improved. The plan may change in between.
 *
 * @param random numbers from 0 to 1, the same for the same calls
 */
export function* passOver(plan: Plan, random: () => number): Generator<undefined, void> {
  for (const route of [...plan.fleet.planned]) {
    if (plan.fleet.has(route) && !plan.isAllowed(route)) plan.strip(route);
    yield;
  }
  const open = [...plan.tasks.values()].reverse();
  const unplanned = mostUrgent(
    open.filter(({ route }) => !route),
    plan.nowMs,
  );
  plan.unplanned = unplanned.length;
  yield;
  for (const task of unplanned) {
    if (isOpen(plan, task) && !task.route && plan.insert(task)) plan.unplanned--;
    yield;
  }
  for (const task of open) {
    if (isOpen(plan, task) && task.route) relocate(plan, task);
    yield;
  }
  for (let tries = Math.min(MAX_RUINS_PER_PASS, 2 * open.length); tries > 0; tries--) {
    const seed = open[Math.floor(random() * open.length)] as Task;
    if (isOpen(plan, seed) && seed.route) ruin(plan, seed, random);
    yield;
  }
  for (const improve of [exchangeEnds, reorder]) {
    for (const route of [...plan.fleet.planned].reverse()) {
      if (plan.fleet.planned.has(route)) improve(plan, route);
      yield;
    }
  }
}

const isOpen = (plan: Plan, task: Task) => plan.tasks.get(task.order.id) === task;

/** Some tasks, those of `first` before all others, and then the most urgent ones. */
export function mostUrgent(tasks: readonly Task[], nowMs: number, first: ReadonlySet<Task> = new Set()): Task[] {
  const costs = tasks.map((task) => ({ task, cost: first.has(task) ? Number.MAX_VALUE : task.costAt(nowMs) }));
  return costs.sort((a, b) => b.cost - a.cost).map(({ task }) => task);
}
