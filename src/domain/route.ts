import { distanceMeters, type Point } from '../geo/point.ts';
import { ARRIVAL_DETOUR, DOOR_STOP_MS, SAME_PLACE_METERS, STORE_STOP_MS } from '../limits.ts';
import type { OrderStatus } from './order.ts';
import { METERS_PER_MINUTE, type Vehicle } from './vehicle.ts';

/** Orders of a route up to which every sequence of stops is tried: 2,520 of 4. Below MAX_DRIVER_CAPACITY. */
export const MAX_EXACT_PARCELS = 4;
/** Most rounds in which a longer route is improved; each round changes one thing. */
const MAX_ROUTE_ROUNDS = 20;

/** An order on a driver's route. Times are milliseconds since 1970. */
export type CarriedOrder = {
  readonly orderId: string;
  readonly retailerId: string;
  /** Its slot of the driver, from 0 and below the driver's capacity. */
  readonly slot: number;
  /** `returning`: it could not be delivered, and goes back to its store. */
  readonly step: 'to_fetch' | 'on_board' | 'returning';
  readonly pickup: Point;
  /** Null while nobody knows where the door is. */
  readonly dropoff: Point | null;
  readonly readyAtMs: number;
  /** The begin of its window, if it has one. */
  readonly deliverAfterMs?: number | undefined;
  readonly deliverByMs: number;
};

/** Where an order is that its driver carries, by its status. */
export const STEPS: Readonly<Partial<Record<OrderStatus, CarriedOrder['step']>>> = {
  driver_assigned: 'to_fetch',
  picked_up: 'on_board',
  undeliverable: 'returning',
};

export type StopKind = 'pickup' | 'dropoff' | 'return';

/** A place where a driver stops, for one order or for several that they fetch or bring there together. */
export type Stop = {
  readonly kind: StopKind;
  readonly orderIds: readonly string[];
  /** Null for a door that nobody knows. */
  readonly point: Point | null;
  /** When the driver is there, by the model of travel. */
  readonly arriveMs: number;
};

/** Where and when a route begins, and how fast it goes. */
export type Start = { readonly from: Point | null; readonly atMs: number; readonly vehicle: Vehicle };

/** A route: its stops in the order of driving, and what it is worth. Less is better. */
export type Route = {
  readonly stops: readonly Stop[];
  /** Minutes after their promises, summed over the orders. */
  readonly lateMinutes: number;
  /** Minutes until each order is at its door, summed, and those until the route ends. */
  readonly minutes: number;
};

/** One thing to do on a route: fetch orders, or bring one to its door or back to its store. */
type Task = {
  readonly kind: StopKind;
  readonly orders: readonly CarriedOrder[];
  readonly point: Point | null;
  /** Its place among those of the trip; NOWHERE for a door that nobody knows. */
  readonly place: number;
  /** What comes before it: where its order is fetched. */
  readonly needs: Task | null;
};

const NOWHERE = -1;

/**
 * The best order of a driver's stops: the least lateness, then the least sum of minutes. An order is fetched
 * before it is brought; nobody is at a door before its window begins, or leaves a store before the parcel is
 * ready. Parcels that are ready at one store are fetched together, since that never costs more.
 *
 * Up to MAX_EXACT_PARCELS orders all sequences are tried. More are inserted one by one, the first promise
 * first, where they cost least; then stretches are turned round (2-opt; G. A. Croes, 1958) and single tasks
 * moved, as long as that helps and at most MAX_ROUTE_ROUNDS times.
 *
 * The driver may be on the way to the first stop: as long as they drive straight to it, the same route stays
 * best from wherever they are.
 */
export function bestRoute(start: Start, orders: readonly CarriedOrder[]): Route {
  const trip = new Trip(start);
  const tasks = tasksOf(trip, orders);
  const sequence = orders.length <= MAX_EXACT_PARCELS ? exact(trip, tasks) : improved(trip, inserted(trip, tasks));
  return routeOf(trip, sequence);
}

/** The time that a vehicle takes between two points over roads, by great circle and a factor. */
export function travelMs(from: Point | null, to: Point | null, vehicle: Vehicle): number {
  if (!from || !to) return 0;
  return ((distanceMeters(from, to) * ARRIVAL_DETOUR) / METERS_PER_MINUTE[vehicle]) * 60_000;
}

// --- Places ------------------------------------------------------------------------------------------------

/** The places of a trip with the ways between them, each of which is computed once. */
class Trip {
  readonly start: Start;
  readonly from: number;
  readonly #points: Point[] = [];
  readonly #meters: number[][] = [];

  constructor(start: Start) {
    this.start = start;
    this.from = this.placeOf(start.from);
  }

  placeOf(point: Point | null): number {
    if (!point) return NOWHERE;
    const known = this.#points.findIndex((other) => other.lat === point.lat && other.lng === point.lng);
    if (known >= 0) return known;
    const meters = this.#points.map((other) => distanceMeters(other, point));
    for (const [other, row] of this.#meters.entries()) row.push(meters[other] as number);
    this.#points.push(point);
    this.#meters.push([...meters, 0]);
    return this.#points.length - 1;
  }

  metersBetween(from: number, to: number): number {
    return from === NOWHERE || to === NOWHERE ? 0 : (this.#meters[from]?.[to] as number);
  }

  travelMs(from: number, to: number): number {
    const perMinute = METERS_PER_MINUTE[this.start.vehicle];
    return ((this.metersBetween(from, to) * ARRIVAL_DETOUR) / perMinute) * 60_000;
  }

  isOnePlace(a: number, b: number): boolean {
    return a !== NOWHERE && b !== NOWHERE && this.metersBetween(a, b) <= SAME_PLACE_METERS;
  }
}

function tasksOf(trip: Trip, orders: readonly CarriedOrder[]): Task[] {
  const fetches: (Task & { readonly orders: CarriedOrder[] })[] = [];
  const others = orders.map((order): Task => {
    const pickup = trip.placeOf(order.pickup);
    if (order.step === 'returning') {
      return { kind: 'return', orders: [order], point: order.pickup, place: pickup, needs: null };
    }
    const door = {
      kind: 'dropoff',
      orders: [order],
      point: order.dropoff,
      place: trip.placeOf(order.dropoff),
    } as const;
    if (order.step === 'on_board') return { ...door, needs: null };
    const readyMs = (one: CarriedOrder) => Math.max(one.readyAtMs, trip.start.atMs);
    const isSame = ({ place, orders: [first] }: Task) =>
      first !== undefined && trip.isOnePlace(place, pickup) && readyMs(first) === readyMs(order);
    let fetch = fetches.find(isSame);
    if (fetch) fetch.orders.push(order);
    else {
      fetch = { kind: 'pickup', orders: [order], point: order.pickup, place: pickup, needs: null };
      fetches.push(fetch);
    }
    return { ...door, needs: fetch };
  });
  return [...fetches, ...others];
}

// --- What a sequence of tasks is worth ---------------------------------------------------------------------

/** A driver in the middle of a sequence. */
type State = {
  readonly atMs: number;
  readonly place: number;
  readonly lateMs: number;
  readonly sumMs: number;
  readonly arriveMs: number;
};

const begin = ({ start: { atMs }, from }: Trip): State => ({ atMs, place: from, lateMs: 0, sumMs: 0, arriveMs: atMs });

/** Does one task more. A place where the driver already stands costs its stop only once. */
function done(state: State, { orders, kind, place: to }: Task, trip: Trip): State {
  const { atMs: startMs } = trip.start;
  const order = orders[0] as CarriedOrder;
  const stays = state.atMs > startMs && trip.isOnePlace(state.place, to);
  const arriveMs = stays ? state.atMs : state.atMs + trip.travelMs(state.place, to);
  const place = to === NOWHERE ? state.place : to;
  const { lateMs, sumMs } = state;
  const afterStopMs = stays ? arriveMs : arriveMs + STORE_STOP_MS;
  if (kind === 'pickup') return { atMs: Math.max(afterStopMs, order.readyAtMs), place, arriveMs, lateMs, sumMs };
  if (kind === 'return') return { atMs: afterStopMs, place, arriveMs, lateMs, sumMs };
  const doorMs = Math.max(arriveMs, order.deliverAfterMs ?? 0);
  return {
    atMs: doorMs + DOOR_STOP_MS,
    place,
    arriveMs: doorMs,
    lateMs: lateMs + Math.max(0, doorMs - order.deliverByMs),
    sumMs: sumMs + (doorMs - startMs),
  };
}

type Worth = { readonly lateMs: number; readonly costMs: number };

const worth = ({ lateMs, sumMs, atMs }: State, { start }: Trip): Worth => {
  return { lateMs, costMs: sumMs + atMs - start.atMs };
};
const isBetter = (one: Worth, other: Worth): boolean =>
  one.lateMs < other.lateMs || (one.lateMs === other.lateMs && one.costMs < other.costMs);

function worthOf(trip: Trip, sequence: readonly Task[]): Worth {
  let state = begin(trip);
  for (const task of sequence) state = done(state, task, trip);
  return worth(state, trip);
}

// --- The search --------------------------------------------------------------------------------------------

/** The best of all sequences. A branch ends where it is already worse than the best one. */
function exact(trip: Trip, tasks: readonly Task[]): Task[] {
  let best: readonly Task[] = [];
  let bestWorth: Worth = { lateMs: Number.POSITIVE_INFINITY, costMs: Number.POSITIVE_INFINITY };
  const sequence: Task[] = [];

  function goOn(state: State): void {
    const soFar = worth(state, trip);
    if (!isBetter(soFar, bestWorth)) return;
    if (sequence.length === tasks.length) {
      best = [...sequence];
      bestWorth = soFar;
      return;
    }
    // Pickups stand first among the tasks, so that of equal sequences the one with fewer stops is found first.
    for (const task of tasks) {
      if (sequence.includes(task) || (task.needs && !sequence.includes(task.needs))) continue;
      sequence.push(task);
      goOn(done(state, task, trip));
      sequence.pop();
    }
  }

  goOn(begin(trip));
  return [...best];
}

/** Inserts the orders one by one, the first promise first, each where the route is then worth most. */
function inserted(trip: Trip, tasks: readonly Task[]): Task[] {
  const promise = ({ orders }: Task) => orders[0]?.deliverByMs ?? 0;
  let sequence: Task[] = [];
  for (const task of tasks.filter(({ kind }) => kind !== 'pickup').sort((a, b) => promise(a) - promise(b))) {
    sequence = bestOf(trip, insertions(sequence, task)) ?? sequence;
  }
  return sequence;
}

/** A task at every place in a sequence, after what it needs, which comes in with it where it is missing. */
function* insertions(sequence: readonly Task[], task: Task): Iterable<Task[]> {
  const { needs } = task;
  const isMissing = needs !== null && !sequence.includes(needs);
  const bases = isMissing
    ? sequence.map((_, at) => withTask(sequence, at, needs)).concat([[...sequence, needs]])
    : [sequence];
  for (const base of bases) {
    const first = needs === null ? 0 : base.indexOf(needs) + 1;
    for (let at = first; at <= base.length; at++) yield withTask(base, at, task);
  }
}

const withTask = (sequence: readonly Task[], at: number, task: Task): Task[] => [
  ...sequence.slice(0, at),
  task,
  ...sequence.slice(at),
];

function improved(trip: Trip, sequence: Task[]): Task[] {
  let best = sequence;
  for (let round = 0; round < MAX_ROUTE_ROUNDS; round++) {
    const better = bestOf(trip, changes(best));
    if (!better || !isBetter(worthOf(trip, better), worthOf(trip, best))) break;
    best = better;
  }
  return best;
}

/** Every sequence with one stretch turned round, and every one with one task moved. */
function* changes(sequence: readonly Task[]): Iterable<Task[]> {
  const { length } = sequence;
  for (let from = 0; from < length; from++) {
    for (let to = from + 2; to <= length; to++) {
      const turned = [...sequence.slice(0, from), ...sequence.slice(from, to).reverse(), ...sequence.slice(to)];
      if (isInOrder(turned)) yield turned;
    }
    const without = [...sequence.slice(0, from), ...sequence.slice(from + 1)];
    for (let at = 0; at < length; at++) {
      const moved = at === from ? null : withTask(without, at, sequence[from] as Task);
      if (moved && isInOrder(moved)) yield moved;
    }
  }
}

/** Whether every order is fetched before it is brought. */
function isInOrder(sequence: readonly Task[]): boolean {
  return sequence.every(({ needs }, at) => needs === null || sequence.indexOf(needs) < at);
}

function bestOf(trip: Trip, sequences: Iterable<Task[]>): Task[] | undefined {
  let best: Task[] | undefined;
  let bestWorth: Worth | undefined;
  for (const sequence of sequences) {
    const own = worthOf(trip, sequence);
    if (bestWorth && !isBetter(own, bestWorth)) continue;
    best = sequence;
    bestWorth = own;
  }
  return best;
}

// --- The stops ---------------------------------------------------------------------------------------------

/** The stops of a sequence: tasks of one kind that follow each other at a store are one stop. */
function routeOf(trip: Trip, sequence: readonly Task[]): Route {
  const stops: { kind: StopKind; orderIds: string[]; point: Point | null; place: number; arriveMs: number }[] = [];
  let state = begin(trip);
  for (const task of sequence) {
    state = done(state, task, trip);
    const { kind, point, place } = task;
    const orderIds = task.orders.map(({ orderId }) => orderId);
    const last = stops.at(-1);
    const isOneStop = last?.kind === kind && kind !== 'dropoff' && trip.isOnePlace(last.place, place);
    if (isOneStop) last.orderIds.push(...orderIds);
    else stops.push({ kind, orderIds, point, place, arriveMs: state.arriveMs });
  }
  const { lateMs, costMs } = worth(state, trip);
  const told = stops.map(({ kind, orderIds, point, arriveMs }) => ({ kind, orderIds, point, arriveMs }));
  return { stops: told, lateMinutes: lateMs / 60_000, minutes: costMs / 60_000 };
}
