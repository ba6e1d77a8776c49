import { ANYONE, type Rules } from '../../src/planner/types.ts';
import { seeded } from '../../test/harness/world.ts';
import { loadTestTiers } from '../support/tiers.ts';
import { type Doors, planInstance } from './day.ts';
import type { Courier, Instance, Ordered, Place } from './instance.ts';
import { Day } from './rule-day.ts';

const STORES = 40;
const PARCELS = 4_000;
const PROMISE_HOURS = [1, 3, 8];
const MINUTE_MS = 60_000;
/** 30 km/h on roads 1.35 times as long as the straight line. */
const METERS_PER_MINUTE = 370;
const LATE_SHARE = 0.01;
/** Hardly more than the fewest who bring the parcels of the day in time, so that each detour shows. */
const DOOR_DRIVERS = 80;

/** What the costs of a planner of parcels with promises are: to be in time, and then with few drivers. */
export const RETAIL_COSTS = { hurryMs: 120 * MINUTE_MS, lateCost: 40, driverCost: 1 };

/** The same for a world that is none of the instances'. */
export const RETAIL_RULES: Omit<Rules, 'travelMs'> = {
  ...RETAIL_COSTS,
  headStartMs: 0,
  staysInShift: true,
  reachOf: () => ANYONE,
  mayCarry: () => true,
  pickupBeforeMs: 90_000,
  pickupAfterMs: 90_000,
  dropoffBeforeMs: 90_000,
  dropoffAfterMs: 90_000,
};

type Result = { readonly lateShare: number; readonly kilometersPerParcel: number; readonly seconds: number };

/**
 * A day of same-day retail: 40 stores of a city of 20 km, 4,000 parcels from 9 to 19 o'clock that are ready when they are
 * ordered, promised in turn within 1, 3 and 8 hours, drivers from 9 to 24 o'clock with room for 6. Prints the
 * fewest drivers who bring at most 1 % late, beside today's rule with one parcel a trip.
 */
export function runRetail(): void {
  console.log(`\na day of same-day retail: ${STORES} stores, ${PARCELS} parcels, promises of 1, 3 and 8 hours`);
  console.log('rule                      drivers    late  km/parcel  run s');
  const rules = { planned, 'nearest at once': nearest };
  for (const [name, rule] of Object.entries(rules)) fewest(name, rule);
}

/** The same day with DOOR_DRIVERS drivers, whose doors are known at once, found later, or never. */
export function runRetailDoors(): void {
  console.log(
    `\nthe same with ${DOOR_DRIVERS} drivers, where the centre of a ZIP code stands for a door until it is found`,
  );
  console.log('doors                     drivers    late  km/parcel  run s');
  for (const doors of ['exact', 'late', 'never'] as const) show(doors, DOOR_DRIVERS, planned(DOOR_DRIVERS, doors));
}

function show(name: string, count: number, { lateShare, kilometersPerParcel, seconds }: Result): void {
  const late = `${(100 * lateShare).toFixed(2)} %`.padStart(8);
  console.log(
    `${name.padEnd(24)}${String(count).padStart(9)}${late}${kilometersPerParcel.toFixed(2).padStart(11)}${seconds.toFixed(0).padStart(7)}`,
  );
}

/** Halves the interval until the fewest drivers are known; more drivers are taken to be never later. */
function fewest(name: string, rule: (drivers: number) => Result): void {
  let [tooFew, enough] = [PARCELS / 64, PARCELS / 32];
  let best = rule(enough);
  for (; best.lateShare > LATE_SHARE; best = rule(enough)) [tooFew, enough] = [enough, 2 * enough];
  while (enough - tooFew > 1) {
    const count = Math.floor((tooFew + enough) / 2);
    const result = rule(count);
    show(name, count, result);
    if (result.lateShare > LATE_SHARE) tooFew = count;
    else [enough, best] = [count, result];
  }
  show(`${name}: fewest`, enough, best);
}

function planned(drivers: number, doors: Doors = 'exact'): Result {
  const begin = performance.now();
  const day = dayOf(drivers);
  const { deliveries, deeds } = planInstance(day, 'ready', {
    waits: false,
    doors,
    rules: RETAIL_COSTS,
    room: 6,
    everyMinutes: 2,
    dueAt: dueAt,
  });
  let meters = 0;
  for (const { from, to } of deeds) meters += way(from.point as unknown as Place, to.point as unknown as Place);
  const late = deliveries.filter(({ order, doorAt }) => doorAt === null || doorAt > dueAt(order)).length;
  return resultOf(late, meters, begin);
}

function nearest(drivers: number): Result {
  const begin = performance.now();
  const tier = loadTestTiers().get('standard');
  if (!tier) throw new Error('There is no tier "standard"');
  const day = new Day(dayOf(drivers), tier);
  const late = day
    .run()
    .filter(({ order, doorAfter }) => doorAfter === null || order.placedAt + doorAfter > dueAt(order));
  return resultOf(late.length, day.meters, begin);
}

const resultOf = (late: number, meters: number, begin: number): Result => ({
  lateShare: late / PARCELS,
  kilometersPerParcel: meters / 1_000 / PARCELS,
  seconds: (performance.now() - begin) / 1_000,
});

const way = (from: Place, to: Place) => Math.hypot(from.x - to.x, from.y - to.y);

/** Minutes of the day by when an order is promised. */
function dueAt({ id, placedAt }: Ordered): number {
  return placedAt + 60 * (PROMISE_HOURS[Number(id.slice(1)) % PROMISE_HOURS.length] as number);
}

function dayOf(drivers: number): Instance {
  const random = seeded(4);
  const somewhere = (spread: number, around: Place = { x: 10_000, y: 10_000 }): Place => ({
    x: Math.round(around.x + spread * (random() + random() - 1)),
    y: Math.round(around.y + spread * (random() + random() - 1)),
  });
  const stores = Array.from({ length: STORES }, (_, i) => ({ id: `r${i}`, place: somewhere(10_000) }));
  const orders = Array.from({ length: PARCELS }, (_, i): Ordered => {
    const store = stores[Math.floor(STORES * random() ** 1.5)] as (typeof stores)[0];
    const placedAt = Math.floor(9 * 60 + 600 * random());
    const dropoff = somewhere(7_000, store.place);
    return { id: `o${i}`, store: store.id, pickup: store.place, dropoff, placedAt, readyAt: placedAt };
  });
  const couriers = Array.from({ length: drivers }, (_, i): Courier => {
    return { id: `c${i}`, start: somewhere(10_000), onAt: 9 * 60, offAt: 24 * 60 };
  });
  return { name: 'retail', metersPerMinute: METERS_PER_MINUTE, pickupMinutes: 3, dropoffMinutes: 3, orders, couriers };
}
