import { Groups } from '../domain/groups.ts';
import type { ExpectedOrders } from '../domain/idle-wait.ts';
import type { Tier } from '../domain/tier.ts';
import { below, DOOR_STOP_MS, PLANNER_LOOK_MS, STORE_STOP_MS } from '../limits.ts';
import { countsFrom, type Matcher, type WaitingOrder } from '../matcher/matcher.ts';
import { modelTravelMs } from '../planner/place.ts';
import { Planner } from '../planner/planner.ts';
import { ANYONE, type OpenOrder, type Reach, type Rules } from '../planner/types.ts';
import { PlannedDrivers } from './planned-drivers.ts';

/** Promise up to which a minute to the door counts whole; of a longer one it counts less in proportion. */
const PLANNER_HURRY_MS = 120 * 60_000;
/** What a minute beyond the promise costs beside a minute before it. */
const PLANNER_LATE_COST = 40;
/** What a driver's minute costs beside a customer's: of two drivers about as quick the one who drives less goes. */
const PLANNER_DRIVER_COST = 0.1;
/** A driver for whom only one order is planned is told so much sooner: ready times of stores are whole minutes. */
export const PLANNER_HEAD_START_MS = 60_000;
/** Most orders that are planned at once; others go to whoever is free, until there is room. */
const MAX_PLANNED_ORDERS = 3_000;
/** Most orders that are planned for each driver on duty, where those are more than LEAST_PLANNED_ORDERS. */
const PLANNED_ORDERS_PER_DRIVER = 8;
/** Orders that are planned however few the drivers are. Below MAX_PLANNED_ORDERS. */
export const LEAST_PLANNED_ORDERS = 100;
/** Most orders without a driver for whom one is looked for in one look. */
const MAX_RETRIED_ORDERS = 16;
/** Most drivers who came, moved or became free that are remembered until orders are tried for them. */
const MAX_CAME_DRIVERS = 256;
/** Most of them for whom orders are tried in one look. */
const MAX_CAME_PER_LOOK = 2;
/** How long before it is due an order is planned. */
const PLANNED_AHEAD_MS = 2 * 3_600_000;

below({ LEAST_PLANNED_ORDERS }, { MAX_PLANNED_ORDERS });

type ViewedMatcher = Pick<
  Matcher,
  'planned' | 'driver' | 'onDutyCount' | 'tier' | 'holderOf' | 'isWaiting' | 'waitingCount' | 'nextDueMs'
>;

/**
 * Keeps the planner in step with the matcher: whatever changes there is noted at once, and brought over by
 * `flush`. The matcher alone says what is whose, so that a failed assignment needs no care here.
 */
export class PlannerView {
  readonly planner: Planner;
  /** Whether there are orders for which no driver was looked for yet, or drivers for whom no order was. */
  hasUntried = false;
  /** Whether everything that waits, or will soon, was tried since this plan began. */
  isCaughtUp = false;
  #hasBegunPass = false;
  readonly #matcher: ViewedMatcher;
  readonly #orders = new Map<string, WaitingOrder>();
  /** The one that counts as waiting from last on, kept as each order of a flood asks for it. */
  #last: WaitingOrder | undefined;
  readonly #drivers: PlannedDrivers;
  readonly #changedOrders = new Set<string>();
  /** Orders that wait and are carried in memory, as one of the two was read too early; looked at again. */
  readonly #carried = new Set<string>();
  /** Drivers who came, moved or became free, for whom orders that nobody could take are tried. */
  readonly #came = new Set<string>();
  /** By order, whom the gate refused since the last pass. */
  readonly #refused = new Groups<string, string>();
  #nowMs = 0;
  #retriedMs = 0;
  #expected: readonly ExpectedOrders[] = [];

  /** @param travelMs the time of a way, as `Rules` says */
  constructor(matcher: ViewedMatcher, travelMs: Rules['travelMs'] = modelTravelMs) {
    this.#matcher = matcher;
    this.planner = new Planner(this.#rules(travelMs));
    this.#drivers = new PlannedDrivers(matcher, this.planner, this.#orders, (id) => this.#drop(id));
    for (const id of matcher.planned.waitingIds()) {
      matcher.planned.takeBack(id);
      this.#changedOrders.add(id);
    }
  }

  orderChanged(orderId: string): void {
    // A flood of orders beyond the planner's room goes to whoever is free, at little cost here.
    const isBeyond = this.isFull && !this.#orders.has(orderId) && this.#matcher.isWaiting(orderId);
    const order = isBeyond ? this.#matcher.planned.open(orderId) : undefined;
    if (order && !this.#lastBehind(order)) this.#matcher.planned.leave(orderId);
    else this.#changedOrders.add(orderId);
  }

  /** The planned order that counts as waiting from last on, if that is later than this one: its store has more. */
  #lastBehind(order: WaitingOrder): WaitingOrder | undefined {
    if (this.#last === undefined) {
      for (const each of this.#orders.values()) {
        if (!this.#last || countsFrom(each) > countsFrom(this.#last)) this.#last = each;
      }
    }
    return this.#last && countsFrom(this.#last) > countsFrom(order) ? this.#last : undefined;
  }

  /** False for a driver who is in reach of no planned order, and so changes nothing. */
  driverChanged(driverId: string): boolean {
    const changes = this.#drivers.changed(driverId);
    if (changes && this.#came.size < MAX_CAME_DRIVERS) this.#came.add(driverId);
    return changes;
  }

  tiersChanged(): void {
    // A copy is not the order that the matcher names next, so that it is put again with the weight of today.
    for (const [id, order] of this.#orders) this.#orders.set(id, { ...order });
    this.#drivers.lookAtAll();
  }

  /**
   * The gate refused a driver for an order, as they are otherwise than the planner knew, or than it reckons: until
   * the next pass it means another one.
   */
  refused(orderId: string, driverId: string): void {
    this.#refused.add(orderId, driverId);
  }

  /** Brings drivers over at once who were just told of something. */
  putNow(driverIds: readonly string[], nowMs: number): void {
    this.#nowMs = nowMs;
    this.#drivers.putNow(driverIds, nowMs);
  }

  /** Whether a driver came or became free since the last pass, who may take what is meant for others. */
  get wantsPass(): boolean {
    return this.#drivers.hasNewIdle;
  }

  /** The orders that are planned. */
  orderIds(): Iterable<string> {
    return this.#orders.keys();
  }

  has(orderId: string): boolean {
    return this.#orders.has(orderId);
  }

  isBeingGiven(orderId: string): boolean {
    return this.#matcher.planned.isBeingGiven(orderId);
  }

  get orderCount(): number {
    return this.#orders.size;
  }

  get isFull(): boolean {
    const wanted = Math.max(LEAST_PLANNED_ORDERS, PLANNED_ORDERS_PER_DRIVER * this.#matcher.onDutyCount());
    return this.#orders.size >= Math.min(MAX_PLANNED_ORDERS, wanted);
  }

  /** Whether there is nothing to plan, now or at the next pass. */
  isIdle(nowMs: number): boolean {
    const dueMs = this.#matcher.nextDueMs() ?? Number.POSITIVE_INFINITY;
    return this.orderCount === 0 && this.#matcher.waitingCount() === 0 && dueMs > nowMs + PLANNED_AHEAD_MS;
  }

  /** Knows where orders are expected; while they are, every driver is known. */
  expect(orders: readonly ExpectedOrders[], nowMs: number): void {
    if (orders !== this.#expected) this.planner.expect(orders, nowMs);
    this.#expected = orders;
    this.#drivers.lookAtEveryone(orders.length > 0);
  }

  /** Takes up orders that wait for their time as it comes near, and drivers as they have moved. */
  beginPass(nowMs: number): void {
    this.#hasBegunPass = true;
    this.#drivers.hasNewIdle = false;
    this.#refused.clear();
    this.#drivers.beginPass();
    // Drivers who had no room here may have come near.
    if (this.#drivers.isFull) for (const id of this.#orders.keys()) this.#changedOrders.add(id);
    for (const { orderId } of this.#matcher.planned.dueBy(nowMs + PLANNED_AHEAD_MS)) {
      if (this.isFull) break;
      if (!this.#orders.has(orderId)) this.#changedOrders.add(orderId);
    }
    this.#takeBackLeft();
  }

  /** Takes back orders that were left, the first one first, as far as there is room. */
  #takeBackLeft(): void {
    if (this.isFull) return;
    const { planned } = this.#matcher;
    for (const id of planned.leftIds().slice(0, LEAST_PLANNED_ORDERS)) {
      planned.takeBack(id);
      this.#changedOrders.add(id);
    }
  }

  /** Leaves no order to whoever is free any more, as another process plans. To be called when nobody listens. */
  close(): void {
    for (const id of this.#matcher.planned.leftIds()) this.#matcher.planned.takeBack(id);
  }

  /**
   * Brings changes over, drivers first.
   *
   * @param isOver asked after each change whether to go on later
   * @returns whether all were brought over
   */
  flush(nowMs: number, isOver: () => boolean): boolean {
    this.#nowMs = nowMs;
    if (this.#isIdle()) {
      this.#drivers.rest();
      this.#came.clear();
      this.isCaughtUp ||= this.isIdle(nowMs);
      return true;
    }
    const { cameNew, isDone } = this.#drivers.flush(nowMs, isOver);
    if (cameNew) this.#retriedMs = Number.NEGATIVE_INFINITY;
    if (!isDone) return false;
    for (const id of this.#carried) this.#changedOrders.add(id);
    this.#carried.clear();
    for (const id of this.#changedOrders) {
      this.#changedOrders.delete(id);
      this.#putOrder(id);
      if (isOver()) return false;
    }
    this.#retry(isOver);
    return true;
  }

  /** Whether nothing waits: then drivers come and go at no cost here. */
  #isIdle(): boolean {
    const orders = this.#orders.size + this.#changedOrders.size + this.#matcher.waitingCount();
    return orders + this.#expected.length === 0;
  }

  /** New orders at once; those for which there was no driver each second, and when one comes. */
  #retry(isOver: () => boolean): void {
    const isAgain = this.#nowMs - this.#retriedMs >= PLANNER_LOOK_MS;
    if (isAgain) this.#retriedMs = this.#nowMs;
    const areTried = this.planner.retry(this.#nowMs, MAX_RETRIED_ORDERS, isAgain, isOver, this.#nextWithRoom());
    this.hasUntried = !areTried || this.#came.size > 0 || this.#drivers.isSeeking;
    const hasAll = this.#hasBegunPass || this.isIdle(this.#nowMs);
    this.isCaughtUp ||= hasAll && areTried && !this.#drivers.isSeeking;
  }

  /** The next drivers who came and have room. */
  #nextWithRoom(): string[] {
    const next: string[] = [];
    for (const id of this.#came) {
      if (next.length === MAX_CAME_PER_LOOK) break;
      this.#came.delete(id);
      if (this.#drivers.get(id)?.hasRoom) next.push(id);
    }
    return next;
  }

  #putOrder(id: string): void {
    const known = this.#orders.get(id);
    const order = this.#matcher.planned.open(id);
    if (!order || (order.dueMs ?? 0) > this.#nowMs + PLANNED_AHEAD_MS) {
      this.#drop(id);
      if (this.#matcher.isWaiting(id) && this.#matcher.holderOf(id) !== undefined) this.#carried.add(id);
      return;
    }
    if (known === order) {
      this.#drivers.makeNearKnown(order, this.#nowMs);
      return;
    }
    if (!known && this.isFull) {
      // So no store's flood keeps the orders of others out of the plan.
      const last = this.#lastBehind(order);
      this.#matcher.planned.leave(last?.orderId ?? id);
      if (!last) return;
      this.#drop(last.orderId);
    }
    this.#orders.set(id, order);
    this.#last = undefined;
    this.#drivers.makeNearKnown(order, this.#nowMs);
    this.planner.putOrder(openOrder(order, this.#matcher.tier(order.tierId)), this.#nowMs);
  }

  /** An order that was told in vain comes back, as it is not known any more. */
  #drop(id: string): void {
    this.planner.dropOrder(id, this.#nowMs);
    this.#orders.delete(id);
    this.#last = undefined;
  }

  #rules(travelMs: Rules['travelMs']): Rules {
    return {
      travelMs,
      reachOf: (orderId) => this.#reachOf(orderId),
      mayCarry: (driverId, orderId) => this.#mayCarry(driverId, orderId),
      pickupBeforeMs: STORE_STOP_MS,
      pickupAfterMs: 0,
      dropoffBeforeMs: 0,
      dropoffAfterMs: DOOR_STOP_MS,
      staysInShift: true,
      hurryMs: PLANNER_HURRY_MS,
      lateCost: PLANNER_LATE_COST,
      driverCost: PLANNER_DRIVER_COST,
      headStartMs: PLANNER_HEAD_START_MS,
    };
  }

  #reachOf(orderId: string): Reach {
    const order = this.#orders.get(orderId);
    return order ? this.#matcher.planned.reachOf(order, this.#nowMs) : ANYONE;
  }

  #mayCarry(driverId: string, orderId: string): boolean {
    const known = this.#drivers.get(driverId);
    const order = this.#orders.get(orderId);
    if (!known || !order || this.#refused.of(orderId).has(driverId)) return false;
    return this.#matcher.planned.mayCarry(driverId, known.stops, order, this.#nowMs);
  }
}

/**
 * An order for the planner. A store that sends many at once has each count as waiting a little later than the
 * one before (`fair-shares.ts`); by so much later it is promised, and until then a minute of it costs less. One that
 * is promised for later than its tier lets it wait is late from half of that wait on, or it would expire behind
 * everybody who came since.
 */
function openOrder(order: WaitingOrder, tier: Tier | undefined): OpenOrder {
  const { sinceMs, readyAtMs = sinceMs, deliverByMs, point } = order;
  const lateMs = tier ? sinceMs + (tier.maxWaitSeconds * 1_000) / 2 : Number.POSITIVE_INFINITY;
  const dueMs = deliverByMs === undefined ? Number.POSITIVE_INFINITY : Math.min(deliverByMs, lateMs);
  const fromMs = countsFrom(order);
  return {
    id: order.orderId,
    pickup: point,
    dropoff: order.dropoff ?? point,
    placedMs: sinceMs,
    countsFromMs: fromMs,
    readyMs: readyAtMs,
    doorFromMs: order.deliverAfterMs,
    dueMs: dueMs + (fromMs - sinceMs),
    weight: tier?.weight ?? 1,
    room: 1,
  };
}
