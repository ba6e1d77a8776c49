import { below } from '../limits.ts';
import { Place } from './place.ts';
import { type Route, Seen } from './route.ts';
import type { OpenOrder, Rules } from './types.ts';

/** What a minute of an order costs that is beyond its store's share, beside one that is within. Below 1. */
const PLANNER_BEYOND_SHARE = 0.2;
/** Time after which a minute of an order beyond its promise costs twice as much. */
const PLANNER_STARVING_MS = 60 * 60_000;

below({ PLANNER_BEYOND_SHARE }, { one: 1 });

const MINUTE_MS = 60_000;

/** An order in the planner: its two stops, and the route that it is in. */
export class Task {
  readonly order: OpenOrder;
  readonly pickup: Stop;
  readonly dropoff: Stop;
  /** Cost of a minute to the door, and of `PLANNER_STARVING_MS` of first minutes beyond the promise. */
  readonly minuteCost: number;
  readonly lateCost: number;
  route: Route | null = null;
  readonly seen = new Seen();
  /** No handover before it. */
  readonly doorFromMs: number;
  /** From when on a minute counts whole, and from when on the order is late. */
  readonly #countsFromMs: number;
  readonly #lateFromMs: number;
  /** Whether the driver was told, and the latest time at the door that a further stop may cause. */
  isTold = false;
  /** Whether a place in a route was looked for. */
  isTried = false;
  doorByMs = Number.POSITIVE_INFINITY;

  constructor(order: OpenOrder, rules: Rules) {
    this.order = order;
    this.doorFromMs = order.doorFromMs ?? Number.NEGATIVE_INFINITY;
    this.pickup = new Stop(this, true, new Place(order.pickup));
    this.dropoff = new Stop(this, false, new Place(order.dropoff));
    const { dueMs, placedMs, countsFromMs = placedMs } = order;
    const isPromised = dueMs !== Number.POSITIVE_INFINITY;
    const hurry = isPromised && dueMs - countsFromMs > rules.hurryMs ? rules.hurryMs / (dueMs - countsFromMs) : 1;
    this.#countsFromMs = countsFromMs;
    this.#lateFromMs = isPromised ? dueMs : countsFromMs + PLANNER_STARVING_MS;
    this.minuteCost = order.weight * hurry;
    this.lateCost = (order.weight * rules.lateCost * PLANNER_STARVING_MS) / MINUTE_MS;
  }

  /**
   * Cost of being at the door at a time. Beyond the promise a minute costs twice as much after
   * each `PLANNER_STARVING_MS`. So an order that takes a driver n times as long as others goes before all that
   * are less late by log₂ n times that, however many come, and none starves. One without a promise is late from
   * `PLANNER_STARVING_MS` after it was placed.
   */
  costAt(doorMs: number): number {
    const sinceMs = doorMs - this.#countsFromMs;
    const beforeMs = this.#countsFromMs - this.order.placedMs;
    const countedMs = PLANNER_BEYOND_SHARE * (beforeMs + Math.min(0, sinceMs)) + Math.max(0, sinceMs);
    const cost = (this.minuteCost * countedMs) / MINUTE_MS;
    const lateMs = doorMs - this.#lateFromMs;
    return lateMs <= 0 ? cost : cost + this.lateCost * growth(lateMs / PLANNER_STARVING_MS);
  }

  /** What a millisecond after that costs, or the next ones, which cost no less. */
  slopeAt(doorMs: number): number {
    const slope = ((doorMs < this.#countsFromMs ? PLANNER_BEYOND_SHARE : 1) * this.minuteCost) / MINUTE_MS;
    const lateMs = doorMs - this.#lateFromMs;
    if (lateMs < 0) return slope;
    const whole = Math.min(STRAIGHT_FROM, Math.floor(lateMs / PLANNER_STARVING_MS));
    return slope + (this.lateCost * (POWERS[whole] as number)) / PLANNER_STARVING_MS;
  }
}

/** A line whose slope is 1 at first and doubles at each whole number, up to where a minute would be lost in it. */
function growth(x: number): number {
  const whole = x < STRAIGHT_FROM ? Math.floor(x) : STRAIGHT_FROM;
  return (POWERS[whole] as number) * (1 + x - whole) - 1;
}
const STRAIGHT_FROM = 24;
const POWERS = Float64Array.from({ length: STRAIGHT_FROM + 1 }, (_, i) => 2 ** i);

export class Stop {
  readonly task: Task;
  readonly isPickup: boolean;
  readonly place: Place;

  constructor(task: Task, isPickup: boolean, place: Place) {
    this.task = task;
    this.isPickup = isPickup;
    this.place = place;
  }
}
