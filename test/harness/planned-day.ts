import { Place } from '../../src/planner/place.ts';
import { Planner } from '../../src/planner/planner.ts';
import type { OpenOrder, PlannedDriver, Rules, Tell, ToldStop, Wait } from '../../src/planner/types.ts';

/** An order of a simulated day; it may be ready at another time than the planner is told. */
export type DayOrder = OpenOrder & { readonly reallyReadyMs?: number; readonly doorAtFirst?: DoorAtFirst };

/** Where the planner takes a door to be until it is found; `foundMs` is Infinity for one that never is. */
export type DoorAtFirst = { readonly dropoff: OpenOrder['dropoff']; readonly foundMs: number };

export type DayDriver = Omit<PlannedDriver, 'freeAtMs' | 'isPickingUp' | 'told'>;

/** What a driver did: where they left for when, and when they did what there. */
export type Deed = {
  readonly kind: 'pickup' | 'dropoff' | 'wait';
  readonly driverId: string;
  /** Undefined for a wait. */
  readonly order?: DayOrder;
  readonly from: Place;
  readonly to: Place;
  readonly leftMs: number;
  readonly atMs: number;
  /** Whether the pickup is part of the stop before, at the same store. */
  readonly isSameStop: boolean;
};

export type DayShape = {
  readonly orders: readonly DayOrder[];
  readonly drivers: readonly DayDriver[];
  readonly rules: Rules;
  /** How often the planner looks. */
  readonly everyMs: number;
  /** Whether idle drivers wait where orders are expected. */
  readonly waits?: boolean;
  /** Hears each tell before it is driven. */
  readonly onTell?: (tell: Tell, nowMs: number) => void;
};

const foundMsOf = ({ placedMs, doorAtFirst }: DayOrder) => Math.max(placedMs, doorAtFirst?.foundMs ?? placedMs);

/** The order as the planner knows it by a time. */
function asKnown(order: DayOrder, nowMs: number): DayOrder {
  const { doorAtFirst } = order;
  return doorAtFirst && nowMs < doorAtFirst.foundMs ? { ...order, dropoff: doorAtFirst.dropoff } : order;
}

const readyMsOf = (order: DayOrder) => order.reallyReadyMs ?? order.readyMs;

/** While a parcel is not ready nobody knows when it will be: until then its driver is thought free as expected. */
type Awaited = { readonly readyMs: number; readonly expectedMs: number };

/** A driver as they will be, after the stop that they left for last. */
type State = { driver: PlannedDriver; at: Place; movedMs: number; awaited?: Awaited | undefined };

/** An idle driver is asked to move on at most once in this time. */
const SETTLED_MS = 10 * 60_000;

/**
 * A day of orders and drivers through the planner, with a simulated clock. At each look, new orders are put, a
 * whole pass is done, whoever is due is told, and drivers do what they were told, stop by stop: a driver
 * leaves a stop when it is done, and an idle one when they are told. A driver on the way is not turned round.
 */
export class PlannedDay {
  readonly planner: Planner;
  readonly deeds: Deed[] = [];
  readonly toldMs = new Map<string, number>();
  readonly #shape: DayShape;
  readonly #orders: DayOrder[];
  readonly #byId: Map<string, DayOrder>;
  readonly #states = new Map<string, State>();
  readonly #places = new Map<string, Place>();
  /** Orders that are ready earlier than was said, by when. */
  readonly #early: DayOrder[];
  /** Orders whose door is found later, by when. */
  readonly #sought: DayOrder[];
  #next = 0;
  #nextFound = 0;
  #nextEarly = 0;

  constructor(shape: DayShape) {
    this.#shape = shape;
    this.#orders = shape.orders.toSorted((a, b) => a.placedMs - b.placedMs);
    this.#byId = new Map(this.#orders.map((order) => [order.id, order]));
    this.#early = shape.orders
      .filter((order) => readyMsOf(order) < order.readyMs)
      .sort((a, b) => readyMsOf(a) - readyMsOf(b));
    this.#sought = shape.orders
      .filter(({ doorAtFirst }) => doorAtFirst !== undefined)
      .sort((a, b) => foundMsOf(a) - foundMsOf(b));
    this.planner = new Planner(shape.rules);
  }

  /** Goes on from one time until another, in looks. */
  run(fromMs: number, untilMs: number): void {
    const { drivers, everyMs } = this.#shape;
    if (this.#states.size === 0) {
      for (const driver of drivers) {
        const state = { ...driver, freeAtMs: driver.onDutyMs, isPickingUp: false, told: [] };
        this.#put({ driver: state, at: this.#placeOf(driver.place), movedMs: Number.NEGATIVE_INFINITY }, fromMs);
      }
    }
    for (let nowMs = fromMs; nowMs <= untilMs; nowMs += everyMs) this.#look(nowMs);
  }

  #look(nowMs: number): void {
    const { planner, everyMs, waits, onTell } = { planner: this.planner, ...this.#shape };
    for (let order = this.#orders[this.#next]; order && order.placedMs <= nowMs; order = this.#orders[this.#next]) {
      planner.putOrder(asKnown(order, nowMs), nowMs);
      this.#next++;
    }
    for (let order = this.#sought[this.#nextFound]; order && foundMsOf(order) <= nowMs; this.#nextFound++) {
      this.#findDoor(order, nowMs);
      order = this.#sought[this.#nextFound + 1];
    }
    // A store says so when an order is ready before its time.
    for (let order = this.#early[this.#nextEarly]; order; order = this.#early[this.#nextEarly]) {
      const readyMs = readyMsOf(order);
      if (readyMs > nowMs) break;
      if (!this.toldMs.has(order.id)) planner.putOrder({ ...asKnown(order, nowMs), readyMs }, nowMs);
      this.#nextEarly++;
    }
    for (const state of this.#states.values()) if (state.awaited) this.#put(state, nowMs);
    planner.begin(nowMs);
    while (planner.step());
    const nextMs = nowMs + everyMs;
    for (let tells = planner.due(nowMs, nextMs); tells.length > 0; tells = planner.due(nowMs, nextMs)) {
      for (const tell of tells) {
        onTell?.(tell, nowMs);
        this.#tell(tell, nowMs);
      }
    }
    if (waits) for (const wait of planner.waits(nowMs)) this.#move(wait, nowMs);
    for (const state of this.#states.values()) this.#drive(state, nowMs, nextMs);
  }

  /** Has the planner know where a door is, also on the route of a driver who was told of it. */
  #findDoor(order: DayOrder, nowMs: number): void {
    if (!this.toldMs.has(order.id)) this.planner.putOrder(order, nowMs);
    for (const state of this.#states.values()) {
      if (!state.driver.told.some((stop) => stop.order.id === order.id)) continue;
      const told = state.driver.told.map((stop) => (stop.order.id === order.id ? { ...stop, order } : stop));
      this.#put({ ...state, driver: { ...state.driver, told } }, nowMs);
    }
  }

  #tell({ driverId, stops, orders }: Tell, nowMs: number): void {
    const state = this.#states.get(driverId) as State;
    for (const { id } of orders) this.toldMs.set(id, nowMs);
    const freeAtMs = Math.max(state.driver.freeAtMs, nowMs);
    this.#put({ ...state, driver: { ...state.driver, freeAtMs, told: stops } }, nowMs);
  }

  /** Does the stops that a driver leaves for before the next look. */
  #drive(state: State, nowMs: number, nextMs: number): void {
    let { driver, at, awaited } = state;
    if (driver.told.length === 0 || driver.freeAtMs >= nextMs) return;
    while (driver.told[0] && driver.freeAtMs < nextMs) {
      const [stop, ...told] = driver.told as [ToldStop, ...ToldStop[]];
      const deed = this.#deed(driver, at, stop);
      this.deeds.push(deed);
      const { rules } = this.#shape;
      const isPickingUp = deed.kind === 'pickup';
      const freeAtMs = deed.atMs + (isPickingUp ? rules.pickupAfterMs : rules.dropoffAfterMs);
      if (!deed.isSameStop) awaited = undefined;
      if (isPickingUp) awaited = this.#awaited(deed, driver, awaited);
      at = deed.to;
      driver = { ...driver, place: at.point, freeAtMs, isPickingUp, told };
    }
    this.#put({ ...state, driver, at, awaited }, nowMs);
  }

  /** What is known of the end of a pickup; of several at one stop the last one that is ready counts. */
  #awaited(
    { order, from, to, leftMs, isSameStop }: Deed,
    { metersPerMinute }: PlannedDriver,
    before?: Awaited,
  ): Awaited {
    const { rules } = this.#shape;
    const wayMs = from === to ? 0 : rules.travelMs(from, to, metersPerMinute);
    const arriveMs = isSameStop ? leftMs - rules.pickupAfterMs : leftMs + wayMs + rules.pickupBeforeMs;
    const { readyMs } = order as DayOrder;
    return {
      readyMs: Math.max(before?.readyMs ?? 0, readyMsOf(order as DayOrder)),
      expectedMs: Math.max(before?.expectedMs ?? 0, Math.max(arriveMs, readyMs) + rules.pickupAfterMs),
    };
  }

  #deed(driver: PlannedDriver, from: Place, { kind, order: { id } }: ToldStop): Deed {
    const { rules } = this.#shape;
    const order = this.#byId.get(id) as DayOrder;
    const to = this.#placeOf(kind === 'pickup' ? order.pickup : order.dropoff);
    const leftMs = driver.freeAtMs;
    const isSameStop = kind === 'pickup' && driver.isPickingUp && from === to;
    const beforeMs = kind === 'pickup' ? rules.pickupBeforeMs : rules.dropoffBeforeMs;
    const wayMs = from === to ? 0 : rules.travelMs(from, to, driver.metersPerMinute);
    let atMs = isSameStop ? leftMs - rules.pickupAfterMs : leftMs + wayMs + beforeMs;
    atMs = Math.max(atMs, kind === 'pickup' ? readyMsOf(order) : (order.doorFromMs ?? 0));
    return { kind, driverId: driver.id, order, from, to, leftMs, atMs, isSameStop };
  }

  #move({ driverId, place }: Wait, nowMs: number): void {
    const state = this.#states.get(driverId) as State;
    if (nowMs < state.movedMs + SETTLED_MS || state.driver.told.length > 0) return;
    const to = this.#placeOf(place);
    const atMs = nowMs + this.#shape.rules.travelMs(state.at, to, state.driver.metersPerMinute);
    this.deeds.push({ kind: 'wait', driverId, from: state.at, to, leftMs: nowMs, atMs, isSameStop: false });
    const driver = { ...state.driver, place: to.point, freeAtMs: atMs, isPickingUp: false };
    this.#put({ driver, at: to, movedMs: atMs }, nowMs);
  }

  #put(state: State, nowMs: number): void {
    const { driver, awaited } = state;
    const isAwaited = awaited !== undefined && awaited.readyMs > nowMs;
    this.#states.set(driver.id, isAwaited ? state : { ...state, awaited: undefined });
    const freeAtMs = isAwaited ? Math.max(awaited.expectedMs, nowMs + this.#shape.everyMs) : driver.freeAtMs;
    this.planner.putDriver({ ...driver, freeAtMs }, nowMs);
  }

  /** The same object for the same place, so that a way within it is none. */
  #placeOf(point: DayOrder['pickup']): Place {
    const key = `${point.lat},${point.lng}`;
    const known = this.#places.get(key) ?? new Place(point);
    this.#places.set(key, known);
    return known;
  }
}
