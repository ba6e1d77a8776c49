import type { Place } from '../../src/planner/place.ts';
import { ANYONE, type Rules } from '../../src/planner/types.ts';
import { type DayOrder, type Deed, PlannedDay } from '../../test/harness/planned-day.ts';
import { offset } from '../../test/harness/world.ts';
import type { Instance, Place as Meters, Ordered } from './instance.ts';

/** What became of an order, in minutes of the day; null where it did not happen. */
export type Delivery = { readonly order: Ordered; readonly pickedUpAt: number | null; readonly doorAt: number | null };

/** What the planner knows: each ready time, its store's mean preparation time, or that all is ready when placed. */
export type Known = 'ready' | 'mean' | 'at_placement';

/** Whether the planner knows each door at once, or the centre of its ZIP code: until it is found, or for good. */
export type Doors = 'exact' | 'late' | 'never';

export type PlannedInstance = {
  readonly deliveries: Delivery[];
  readonly deeds: readonly Deed[];
  /** When a courier was told of an order, in minutes of the day. */
  readonly toldAt: ReadonlyMap<string, number>;
};

const MINUTE_MS = 60_000;
/** Most orders that a courier carries at once; the instances bound only how late they may be. */
const ROOM = 4;
const ORIGIN = { lat: 40, lng: -90 };
/** The side of a ZIP code's area in a city, and how long a busy geocoder takes to find a door. */
const ZIP_METERS = 4_000;
const FOUND_MINUTES = 2;

/** A place on the globe that knows its meters in the instance. */
export type MetersPoint = { readonly lat: number; readonly lng: number } & Meters;

export type PlanOptions = {
  readonly waits?: boolean;
  /** `exact` by default. */
  readonly doors?: Doors;
  readonly rules?: Partial<Rules>;
  readonly room?: number;
  readonly everyMinutes?: number;
  /** By when an order is promised, in minutes of the day. */
  readonly dueAt?: (order: Ordered) => number;
};

/**
 * Of a mean preparation time, when a parcel is expected: half of them are ready before the mean, and a courier
 * who waits costs less than a parcel that waits.
 */
const EXPECTED_OF_MEAN = 0.9;
/** How much earlier a courier goes who has nothing else to do. */
const HEAD_START_OF_MEAN_MS = 8 * MINUTE_MS;

/**
 * Runs a day of an instance through the planner, which looks once a minute. As in the service a courier keeps
 * what they were told, in its order, and is told of more on the way where that costs less.
 */
export function planInstance(instance: Instance, known: Known, options: PlanOptions = {}): PlannedInstance {
  const {
    waits = true,
    doors = 'exact',
    rules = {},
    room = ROOM,
    everyMinutes = 1,
    dueAt = () => Number.POSITIVE_INFINITY,
  } = options;
  const { orders, couriers, metersPerMinute } = instance;
  const expected = expectedPreparation(orders);
  const really = (order: Ordered) => (known === 'at_placement' ? order.placedAt : order.readyAt);
  const day = new PlannedDay({
    orders: orders.map((order) => ({
      id: order.id,
      pickup: pointOf(order.pickup),
      dropoff: pointOf(order.dropoff),
      placedMs: order.placedAt * MINUTE_MS,
      readyMs: (known === 'mean' ? order.placedAt + expected(order) : really(order)) * MINUTE_MS,
      reallyReadyMs: really(order) * MINUTE_MS,
      dueMs: dueAt(order) * MINUTE_MS,
      weight: 1,
      room: 1,
      ...doorAtFirst(order, doors),
    })),
    drivers: couriers.map(({ id, start, onAt, offAt }) => {
      const [onDutyMs, offDutyMs] = [onAt * MINUTE_MS, offAt * MINUTE_MS];
      return { id, place: pointOf(start), onDutyMs, offDutyMs, room, metersPerMinute };
    }),
    rules: { ...rulesOf(instance), headStartMs: known === 'mean' ? HEAD_START_OF_MEAN_MS : 0, ...rules },
    everyMs: everyMinutes * MINUTE_MS,
    waits,
  });
  const begin = Math.min(...orders.map(({ placedAt }) => placedAt), ...couriers.map(({ onAt }) => onAt));
  const end = Math.max(...couriers.map(({ offAt }) => offAt));
  day.run(Math.floor(begin) * MINUTE_MS, (end + 120) * MINUTE_MS);
  return {
    deliveries: deliveriesOf(orders, day.deeds),
    deeds: day.deeds,
    toldAt: new Map(Array.from(day.toldMs, ([id, atMs]) => [id, atMs / MINUTE_MS])),
  };
}

/** The centre of the square of ZIP_METERS around a door, until a job has found the door FOUND_MINUTES later. */
function doorAtFirst({ dropoff, placedAt }: Ordered, doors: Doors): Pick<DayOrder, 'doorAtFirst'> {
  if (doors === 'exact') return {};
  const centre = (meters: number) => (Math.floor(meters / ZIP_METERS) + 0.5) * ZIP_METERS;
  const foundMs = doors === 'late' ? (placedAt + FOUND_MINUTES) * MINUTE_MS : Number.POSITIVE_INFINITY;
  return { doorAtFirst: { dropoff: pointOf({ x: centre(dropoff.x), y: centre(dropoff.y) }), foundMs } };
}

/** How long an order is expected to take at its store, by the mean over the day, in whole minutes. */
function expectedPreparation(orders: readonly Ordered[]): (order: Ordered) => number {
  const sums = new Map<string, { minutes: number; count: number }>();
  for (const { store, placedAt, readyAt } of orders) {
    const { minutes, count } = sums.get(store) ?? { minutes: 0, count: 0 };
    sums.set(store, { minutes: minutes + readyAt - placedAt, count: count + 1 });
  }
  return ({ store }) => {
    const { minutes, count } = sums.get(store) as { minutes: number; count: number };
    return Math.round((EXPECTED_OF_MEAN * minutes) / count);
  };
}

function deliveriesOf(orders: readonly Ordered[], deeds: readonly Deed[]): Delivery[] {
  const times = { pickup: new Map<string, number>(), dropoff: new Map<string, number>(), wait: new Map() };
  const sameStops = new Map<string, string[]>();
  for (const { kind, driverId, order, atMs, isSameStop } of deeds) {
    if (!order) continue;
    times[kind].set(order.id, atMs / MINUTE_MS);
    if (kind !== 'pickup') continue;
    // Parcels of one stop are taken over together, when the last of them is ready.
    const sameStop = isSameStop ? [...(sameStops.get(driverId) ?? []), order.id] : [order.id];
    sameStops.set(driverId, sameStop);
    for (const id of sameStop) times.pickup.set(id, atMs / MINUTE_MS);
  }
  return orders.map((order) => {
    return { order, pickedUpAt: times.pickup.get(order.id) ?? null, doorAt: times.dropoff.get(order.id) ?? null };
  });
}

const pointOf = ({ x, y }: Meters): MetersPoint => ({ ...offset(ORIGIN, y, x), x, y });

/** The instance's own rules of way and handling; a cost is a minute to the door and nothing else. */
function rulesOf({ metersPerMinute, pickupMinutes, dropoffMinutes }: Instance): Rules {
  return {
    travelMs: (from: Place, to: Place) => {
      const [a, b] = [from.point as MetersPoint, to.point as MetersPoint];
      return Math.ceil(Math.hypot(a.x - b.x, a.y - b.y) / metersPerMinute) * MINUTE_MS;
    },
    reachOf: () => ANYONE,
    mayCarry: () => true,
    pickupBeforeMs: (pickupMinutes / 2) * MINUTE_MS,
    pickupAfterMs: (pickupMinutes / 2) * MINUTE_MS,
    dropoffBeforeMs: (dropoffMinutes / 2) * MINUTE_MS,
    dropoffAfterMs: (dropoffMinutes / 2) * MINUTE_MS,
    staysInShift: false,
    headStartMs: 0,
    hurryMs: Number.POSITIVE_INFINITY,
    lateCost: 0,
    driverCost: 0,
  };
}
