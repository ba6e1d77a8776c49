import { exchangeEnds, relocate, reorder } from './improve.ts';
import { Plan } from './plan.ts';
import type { Route } from './route.ts';
import { Task } from './task.ts';
import { tellOf } from './telling.ts';
import type { Estimate, OpenOrder, PlannedDriver, Rules, Tell, Wait } from './types.ts';
import { Waiting } from './waiting.ts';

/**
 * Decides which driver gets which waiting orders, when they are told, and in which order they stop.
 *
 * Pure and synchronous: it has no clock and does no I/O, and the same calls have the same results. A plan is no
 * assignment: it changes with every event, until `due` returns it. The caller then assigns and says so with
 * `putDriver`, whose `told` has the orders from then on; what it could not assign it puts again.
 */
export class Planner {
  readonly #plan: Plan;
  readonly #waiting = new Waiting();
  /** How many open orders were in no route when they were last tried. */
  #unplanned = 0;
  #pass: { readonly run: () => unknown }[] = [];

  constructor(rules: Rules) {
    this.#plan = new Plan(rules);
  }

  /** Adds an order, or changes one; it is planned at once. One that a driver was told of must not be put. */
  putOrder(order: OpenOrder, nowMs: number): void {
    const plan = this.#at(nowMs);
    if (plan.tasks.has(order.id)) this.dropOrder(order.id, nowMs);
    else plan.demand.note(order.pickup, nowMs);
    const task = new Task(order, plan.rules);
    plan.tasks.set(order.id, task);
    plan.pickups.add(task);
    // Behind orders that nobody has room for it waits for the pass, in which the most urgent come first.
    if (this.#unplanned > 0 || !plan.insert(task)) this.#unplanned++;
  }

  /** Forgets an order: cancelled, expired, or given to a driver by others. */
  dropOrder(orderId: string, nowMs: number): void {
    const plan = this.#at(nowMs);
    const task = plan.tasks.get(orderId);
    if (!task) return;
    plan.takeOut(task);
    plan.tasks.delete(orderId);
    plan.pickups.remove(task);
  }

  /** Adds a driver, or says what changed: position, free at, duty, what they were told. */
  putDriver(driver: PlannedDriver, nowMs: number): void {
    const plan = this.#at(nowMs);
    for (const { order } of driver.told) this.dropOrder(order.id, nowMs);
    for (const task of plan.putDriver(driver)) plan.insert(task);
  }

  /** Forgets a driver; orders that were only planned for them go to others. */
  dropDriver(driverId: string, nowMs: number): void {
    const plan = this.#at(nowMs);
    const route = plan.fleet.get(driverId);
    if (!route) return;
    plan.fleet.remove(route);
    this.#insertAll(route.stops.flatMap(({ task, isPickup }) => (isPickup && !task.isTold ? task : [])));
  }

  /**
   * Begins a pass at a time: every route is brought up to it, and every order and route stands in line for
   * `step`. To be called some times a minute.
   */
  begin(nowMs: number): void {
    const plan = this.#at(nowMs);
    const lost = plan.fleet.routes.flatMap((route) => plan.refresh(route));
    this.#insertAll(lost);
    const open = [...plan.tasks.values()];
    const unplanned = open.filter(({ route }) => !route).sort((a, b) => a.costAt(nowMs) - b.costAt(nowMs));
    this.#unplanned = unplanned.length;
    const isBusy = (route: Route) => route.stops.length > route.toldEnd;
    this.#pass = [
      ...plan.fleet.routes.map((route) => ({ run: () => isBusy(route) && reorder(plan, route) })),
      ...plan.fleet.routes.map((route) => ({ run: () => isBusy(route) && exchangeEnds(plan, route) })),
      ...open.filter(({ route }) => route).map((task) => ({ run: () => this.#isOpen(task) && relocate(plan, task) })),
      ...unplanned.map((task) => ({ run: () => this.#isOpen(task) && plan.insert(task) && this.#unplanned-- })),
    ];
  }

  /** Does the next small part of the pass, about 0.2 ms; false where the pass is done. */
  step(): boolean {
    const next = this.#pass.pop();
    next?.run();
    return next !== undefined;
  }

  /** Whom to tell now of what, where the next look is at `untilMs`. The plan stays as it is. */
  due(nowMs: number, untilMs: number): Tell[] {
    const plan = this.#at(nowMs);
    return plan.fleet.routes.flatMap((route) => tellOf(plan, route, untilMs) ?? []);
  }

  /** What is planned for an open order; undefined for one that is none. */
  estimate(orderId: string): Estimate | undefined {
    const { tasks, walk } = this.#plan;
    const task = tasks.get(orderId);
    if (!task) return undefined;
    const { route } = task;
    if (!route) return { driverId: null };
    let pickupMs = 0;
    walk.begin(route, 0);
    for (const stop of route.stops) {
      walk.step(stop);
      if (stop === task.pickup) pickupMs = walk.pickupMs;
      if (stop === task.dropoff) break;
    }
    return { driverId: route.driver.id, pickupMs, doorMs: walk.atMs - this.#plan.rules.dropoffAfterMs };
  }

  /** Which idle drivers should wait elsewhere, by where orders are expected. */
  waits(nowMs: number): Wait[] {
    return this.#waiting.waits(this.#at(nowMs));
  }

  #isOpen(task: Task): boolean {
    return this.#plan.tasks.get(task.order.id) === task;
  }

  #insertAll(tasks: readonly Task[]): void {
    for (const task of tasks) {
      task.route = null;
      this.#plan.insert(task);
    }
  }

  #at(nowMs: number): Plan {
    this.#plan.walk.nowMs = nowMs;
    return this.#plan;
  }
}
