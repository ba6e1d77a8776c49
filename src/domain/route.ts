import { distanceMeters, type Point } from '../geo/point.ts';
import {
  ARRIVAL_DETOUR,
  DOOR_STOP_MS,
  MAX_EXACT_PARCELS,
  MAX_ROUTE_ROUNDS,
  SAME_PLACE_METERS,
  STORE_STOP_MS,
} from '../limits.ts';
import { METERS_PER_MINUTE, type Vehicle } from './driver.ts';

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

/** One thing to do on a route: fetch an order, or bring it to its door or back to its store. */
type Task = { readonly order: CarriedOrder; readonly kind: StopKind; readonly point: Point | null };

/**
 * The best order of a driver's stops: the least lateness, then the least sum of minutes. An order is fetched
 * before it is brought; nobody is at a door before its window begins, or leaves a store before the parcel is
 * ready.
 *
 * Up to MAX_EXACT_PARCELS orders all sequences are tried. More are inserted one by one, the first promise
 * first, where they cost least; then stretches are turned round (2-opt; G. A. Croes, 1958) and single tasks
 * moved, as long as that helps and at most MAX_ROUTE_ROUNDS times.
 *
 * The driver may be on the way to the first stop: as long as they drive straight to it, the same route stays
 * best from wherever they are.
 */
export function bestRoute(start: Start, orders: readonly CarriedOrder[]): Route {
  const tasks = orders.map(tasksOf);
  const sequence = orders.length <= MAX_EXACT_PARCELS ? exact(start, tasks) : improved(start, inserted(start, tasks));
  return routeOf(start, sequence);
}

function tasksOf(order: CarriedOrder): Task[] {
  const fetch: Task = { order, kind: 'pickup', point: order.pickup };
  const bring: Task = { order, kind: 'dropoff', point: order.dropoff };
  if (order.step === 'to_fetch') return [fetch, bring];
  return order.step === 'on_board' ? [bring] : [{ order, kind: 'return', point: order.pickup }];
}

/** The time that a vehicle takes between two points over roads, by great circle and a factor. */
export function travelMs(from: Point | null, to: Point | null, vehicle: Vehicle): number {
  if (!from || !to) return 0;
  return ((distanceMeters(from, to) * ARRIVAL_DETOUR) / METERS_PER_MINUTE[vehicle]) * 60_000;
}

// --- What a sequence of tasks is worth ---------------------------------------------------------------------

/** A driver in the middle of a sequence. */
type State = {
  readonly atMs: number;
  readonly place: Point | null;
  readonly lateMs: number;
  readonly sumMs: number;
  readonly arriveMs: number;
};

const begin = ({ from, atMs }: Start): State => ({ atMs, place: from, lateMs: 0, sumMs: 0, arriveMs: atMs });

function isSamePlace(a: Point | null, b: Point | null): boolean {
  return a !== null && b !== null && (a === b || distanceMeters(a, b) <= SAME_PLACE_METERS);
}

/** Does one task more. A place where the driver already stands costs its stop only once. */
function done(state: State, { order, kind, point }: Task, start: Start): State {
  const stays = isSamePlace(state.place, point) && state.atMs > start.atMs;
  const arriveMs = stays ? state.atMs : state.atMs + travelMs(state.place, point, start.vehicle);
  const place = point ?? state.place;
  if (kind === 'pickup') {
    const atMs = Math.max(stays ? arriveMs : arriveMs + STORE_STOP_MS, order.readyAtMs);
    return { ...state, atMs, place, arriveMs };
  }
  if (kind === 'return') return { ...state, atMs: stays ? arriveMs : arriveMs + STORE_STOP_MS, place, arriveMs };
  const doorMs = Math.max(arriveMs, order.deliverAfterMs ?? 0);
  const lateMs = state.lateMs + Math.max(0, doorMs - order.deliverByMs);
  const sumMs = state.sumMs + (doorMs - start.atMs);
  return { atMs: doorMs + DOOR_STOP_MS, place, lateMs, sumMs, arriveMs: doorMs };
}

type Worth = { readonly lateMs: number; readonly costMs: number };

const worth = ({ lateMs, sumMs, atMs }: State, start: Start): Worth => ({ lateMs, costMs: sumMs + atMs - start.atMs });
const isBetter = (one: Worth, other: Worth): boolean =>
  one.lateMs < other.lateMs || (one.lateMs === other.lateMs && one.costMs < other.costMs);

function worthOf(start: Start, sequence: readonly Task[]): Worth {
  return worth(
    sequence.reduce((state, task) => done(state, task, start), begin(start)),
    start,
  );
}

// --- The search --------------------------------------------------------------------------------------------

/** The best of all sequences. A branch ends where it is already worse than the best one. */
function exact(start: Start, tasks: readonly (readonly Task[])[]): Task[] {
  let best: readonly Task[] = [];
  let bestWorth: Worth = { lateMs: Number.POSITIVE_INFINITY, costMs: Number.POSITIVE_INFINITY };
  const next = tasks.map(() => 0);
  const sequence: Task[] = [];

  const rank = (index: number): number => (tasks[index]?.[next[index] as number]?.kind === 'pickup' ? 0 : 1);

  function goOn(state: State): void {
    const soFar = worth(state, start);
    if (!isBetter(soFar, bestWorth)) return;
    let isEnd = true;
    // What is fetched together stays together, where that is worth the same.
    for (const index of [...tasks.keys()].sort((a, b) => rank(a) - rank(b))) {
      const task = tasks[index]?.[next[index] as number];
      if (!task) continue;
      isEnd = false;
      next[index] = (next[index] as number) + 1;
      sequence.push(task);
      goOn(done(state, task, start));
      sequence.pop();
      next[index] = (next[index] as number) - 1;
    }
    if (isEnd) {
      best = [...sequence];
      bestWorth = soFar;
    }
  }

  goOn(begin(start));
  return [...best];
}

/** Inserts the orders one by one, the first promise first, each where the route is then worth most. */
function inserted(start: Start, tasks: readonly (readonly Task[])[]): Task[] {
  const promise = (own: readonly Task[]) => own[0]?.order.deliverByMs ?? 0;
  let sequence: Task[] = [];
  for (const own of [...tasks].sort((a, b) => promise(a) - promise(b))) {
    sequence = bestOf(start, insertions(sequence, own)) ?? sequence;
  }
  return sequence;
}

function* insertions(sequence: readonly Task[], own: readonly Task[]): Iterable<Task[]> {
  const [first, second] = own;
  if (!first) return;
  for (let at = 0; at <= sequence.length; at++) {
    const one = sequence.toSpliced(at, 0, first);
    if (!second) yield one;
    else for (let then = at + 1; then <= one.length; then++) yield one.toSpliced(then, 0, second);
  }
}

function improved(start: Start, sequence: Task[]): Task[] {
  let best = sequence;
  for (let round = 0; round < MAX_ROUTE_ROUNDS; round++) {
    const better = bestOf(start, changes(best));
    if (!better || !isBetter(worthOf(start, better), worthOf(start, best))) break;
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
    const without = sequence.toSpliced(from, 1);
    for (let at = 0; at < length; at++) {
      const moved = at === from ? null : without.toSpliced(at, 0, sequence[from] as Task);
      if (moved && isInOrder(moved)) yield moved;
    }
  }
}

/** Whether every order is fetched before it is brought. */
function isInOrder(sequence: readonly Task[]): boolean {
  const brought = new Set<string>();
  return sequence.every(({ order, kind }) => {
    if (kind === 'dropoff') brought.add(order.orderId);
    return kind !== 'pickup' || !brought.has(order.orderId);
  });
}

function bestOf(start: Start, sequences: Iterable<Task[]>): Task[] | undefined {
  let best: Task[] | undefined;
  let bestWorth: Worth | undefined;
  for (const sequence of sequences) {
    const own = worthOf(start, sequence);
    if (bestWorth && !isBetter(own, bestWorth)) continue;
    best = sequence;
    bestWorth = own;
  }
  return best;
}

// --- The stops ---------------------------------------------------------------------------------------------

/** The stops of a sequence: tasks of one kind that follow each other at a store are one stop. */
function routeOf(start: Start, sequence: readonly Task[]): Route {
  const stops: { kind: StopKind; orderIds: string[]; point: Point | null; arriveMs: number }[] = [];
  let state = begin(start);
  for (const task of sequence) {
    state = done(state, task, start);
    const { kind, point, order } = task;
    const last = stops.at(-1);
    if (last?.kind === kind && kind !== 'dropoff' && isSamePlace(last.point, point)) last.orderIds.push(order.orderId);
    else stops.push({ kind, orderIds: [order.orderId], point, arriveMs: state.arriveMs });
  }
  const { lateMs, costMs } = worth(state, start);
  return { stops, lateMinutes: lateMs / 60_000, minutes: costMs / 60_000 };
}
