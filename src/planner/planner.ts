import type { Point } from '../geo/point.ts';
import { mostUrgent, passOver } from './pass.ts';
import { Plan, pickupOf } from './plan.ts';
import { Task } from './route.ts';
import { tellOf, toldStop } from './telling.ts';
import type { Estimate, OpenOrder, PlannedDriver, Rules, Tell, ToldStop, Wait } from './types.ts';
import { Waiting } from './waiting.ts';

/** Most orders of which drivers are told in one look, about 2 ms. */
export const MAX_TOLD_PER_LOOK = 4;
/** Most orders that are put elsewhere at once when their driver goes, about 2 ms; the next pass puts the others. */
const MAX_PUT_AT_ONCE = 6;

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
  #pass: Generator<undefined, void>;
  #seed = 1;
  /** A linear congruential generator: numbers from 0 to 1 that are the same for the same calls. */
  readonly #random = () => {
    this.#seed = (Math.imul(this.#seed, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#seed / 2 ** 32;
  };

  constructor(rules: Rules) {
    this.#plan = new Plan(rules);
    this.#pass = passOver(this.#plan, this.#random);
  }

  /** Adds an order, or changes one; it is planned at once. One that a driver was told of must not be put. */
  putOrder(order: OpenOrder, nowMs: number): void {
    const plan = this.#at(nowMs);
    if (plan.tasks.has(order.id)) this.dropOrder(order.id, nowMs);
    else plan.demand.note(order.pickup, nowMs);
    const task = new Task(order, plan.rules);
    plan.tasks.set(order.id, task);
    plan.pickups.add(pickupOf(order), task);
    // Behind orders that nobody has room for it waits for the pass, in which the most urgent come first.
    task.isTried = plan.unplanned === 0;
    if (!task.isTried || !plan.insert(task)) plan.unplanned++;
  }

  /** Forgets an order: cancelled, expired, or given to a driver by others. */
  dropOrder(orderId: string, nowMs: number): void {
    const plan = this.#at(nowMs);
    const task = plan.tasks.get(orderId);
    if (!task) return;
    plan.takeOut(task);
    plan.tasks.delete(orderId);
    plan.pickups.delete(pickupOf(task.order), task);
  }

  /** Adds a driver, or says what changed: position, free at, duty, what they were told. */
  putDriver(driver: PlannedDriver, nowMs: number): void {
    const plan = this.#at(nowMs);
    const before = plan.fleet.get(driver.id)?.stops ?? [];
    for (const { order } of driver.told) this.dropOrder(order.id, nowMs);
    this.#insertSome(plan.putDriver(driver, before));
  }

  /** Forgets a driver; orders that were only planned for them go to others, at once or in the pass. */
  dropDriver(driverId: string, nowMs: number): void {
    const plan = this.#at(nowMs);
    const route = plan.fleet.get(driverId);
    if (!route) return;
    plan.fleet.remove(route);
    this.#insertSome(plan.strip(route));
  }

  /**
   * Tries orders that are in no route, as drivers have come or have room: those that were never tried, or that
   * one of some drivers may carry, then the most urgent ones. The pass does the same for all.
   *
   * @param most so many are tried, each about 0.2 ms
   * @param isAgain whether those that were tried in vain are tried again
   * @param isOver asked after each whether to leave the rest
   * @param driverIds drivers who came, moved or became free; each is asked about each order
   * @returns whether all were tried at least once
   */
  retry(
    nowMs: number,
    most: number,
    isAgain: boolean,
    isOver: () => boolean,
    driverIds: readonly string[] = [],
  ): boolean {
    const plan = this.#at(nowMs);
    if (plan.unplanned === 0) return true;
    const unplanned = Array.from(plan.tasks.values()).filter(({ route }) => !route);
    plan.unplanned = unplanned.length;
    const isFirst = ({ isTried, order }: Task) => !isTried || driverIds.some((id) => plan.rules.mayCarry(id, order.id));
    const first = unplanned.filter(isFirst);
    const tried = isAgain ? mostUrgent(unplanned, nowMs, new Set(first)) : first;
    for (const task of tried.slice(0, most)) {
      task.isTried = true;
      if (plan.insert(task)) plan.unplanned--;
      if (isOver()) break;
    }
    return unplanned.every(({ isTried }) => isTried);
  }

  /** Begins a pass at a time; `step` does it. To be called some times a minute. */
  begin(nowMs: number): void {
    this.#at(nowMs);
    this.#pass = passOver(this.#plan, this.#random);
  }

  /** Does the next small part of the pass, about 0.2 ms; false where the pass is done. */
  step(): boolean {
    return !this.#pass.next().done;
  }

  /**
   * Whom to tell now of what, where the next look is at `untilMs`; at most `MAX_TOLD_PER_LOOK` orders, or those
   * of one driver. To be called again, once those were put with `putDriver`, until it returns nothing. Who was
   * returned is looked at last from then on, so that one who can't be assigned holds up nobody.
   */
  due(nowMs: number, untilMs: number): Tell[] {
    const plan = this.#at(nowMs);
    const tells: Tell[] = [];
    let orders = 0;
    for (const route of plan.fleet.planned) {
      if (orders >= MAX_TOLD_PER_LOOK) break;
      const tell = tellOf(plan, route, untilMs);
      if (!tell) continue;
      tells.push(tell);
      orders += tell.orders.length;
    }
    for (const { driverId } of tells) plan.fleet.lookAtLast(driverId);
    return tells;
  }

  /** The stops of a driver, told and planned, as they are meant now; empty for an unknown one. */
  stopsOf(driverId: string): readonly ToldStop[] {
    return (this.#plan.fleet.get(driverId)?.stops ?? []).map(toldStop);
  }

  /** What is planned for an open order; undefined for one that is none. */
  estimate(orderId: string): Estimate | undefined {
    const plan = this.#plan;
    const { walk } = plan;
    const task = plan.tasks.get(orderId);
    if (!task) return undefined;
    const { route } = task;
    if (!route || !plan.isAllowed(route)) return { driverId: null };
    walk.begin(route, 0);
    walk.atMs = route.leaveMs;
    let pickupMs = 0;
    for (const stop of route.stops) {
      walk.step(stop);
      if (stop === task.pickup) pickupMs = walk.pickupMs;
      if (stop === task.dropoff) break;
    }
    return { driverId: route.driver.id, pickupMs, doorMs: walk.atMs - plan.rules.dropoffAfterMs };
  }

  /** Where orders are expected, in place of what was known of it. */
  expect(sources: readonly { readonly point: Point; readonly weight: number }[], nowMs: number): void {
    this.#at(nowMs).demand.expect(sources, nowMs);
  }

  /** Which idle drivers should wait elsewhere, by where orders are expected. */
  waits(nowMs: number): Wait[] {
    return this.#waiting.waits(this.#at(nowMs));
  }

  /** Puts the first of some orders that lost their place; the pass puts the others. */
  #insertSome(tasks: readonly Task[]): void {
    const plan = this.#plan;
    for (const [i, task] of tasks.entries()) if (i >= MAX_PUT_AT_ONCE || !plan.insert(task)) plan.unplanned++;
  }

  #at(nowMs: number): Plan {
    this.#plan.walk.nowMs = nowMs;
    return this.#plan;
  }
}
