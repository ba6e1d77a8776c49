import { modelTravelMs } from '../../src/planner/place.ts';
import { Planner } from '../../src/planner/planner.ts';
import type { OpenOrder, PlannedDriver } from '../../src/planner/types.ts';
import { offset, seeded } from '../../test/harness/world.ts';
import { percentile } from '../support/percentile.ts';
import { RETAIL_RULES } from './retail.ts';

const MINUTE_MS = 60_000;
const SHAPES = [
  { drivers: 1_000, open: 3_000, reachMeters: Number.POSITIVE_INFINITY },
  { drivers: 20_000, open: 100, reachMeters: Number.POSITIVE_INFINITY },
  { drivers: 20_000, open: 3_000, reachMeters: 0 },
];

/**
 * Times each call of a planner in a city of 40 km: where many orders are open, where most drivers are idle, and
 * where none of many drivers is in reach of any of many orders.
 */
export function runSpeed(): void {
  for (const shape of SHAPES) runShape(shape);
}

function runShape({ drivers, open, reachMeters }: (typeof SHAPES)[number]): void {
  const random = seeded(1);
  const somewhere = () => offset({ lat: 40.7, lng: -74 }, 40_000 * (random() - 0.5), 40_000 * (random() - 0.5));
  const stores = Array.from({ length: 300 }, somewhere);
  const reachOf = () => ({ needs: 0, meters: reachMeters });
  const planner = new Planner({ ...RETAIL_RULES, travelMs: modelTravelMs, reachOf });
  const duty = { onDutyMs: 0, offDutyMs: Number.POSITIVE_INFINITY, room: 5, metersPerMinute: 500, told: [] };
  const driverOf = (i: number): PlannedDriver => {
    const freeAtMs = random() < 1_000 / drivers ? Math.floor(30 * MINUTE_MS * random()) : 0;
    return { id: `driver-${i}`, place: somewhere(), freeAtMs, isPickingUp: false, ...duty };
  };
  const orderOf = (i: number): OpenOrder => {
    const readyMs = Math.floor(60 * random()) * MINUTE_MS;
    const pickup = stores[Math.floor(stores.length * random())] as OpenOrder['pickup'];
    const dueMs = (60 + Math.floor(120 * random())) * MINUTE_MS;
    return { id: `order-${i}`, pickup, dropoff: somewhere(), placedMs: 0, readyMs, dueMs, weight: 1, room: 1 };
  };
  for (let i = 0; i < drivers; i++) planner.putDriver(driverOf(i), 0);
  for (let i = 0; i < open; i++) planner.putOrder(orderOf(i), 0);
  pass(planner, 0);
  const times = (count: number, act: (i: number) => void) => {
    return Array.from({ length: count }, (_, i) => timed(() => act(i)));
  };
  console.log(`\n${drivers} drivers, ${open} open orders${reachMeters === 0 ? ', nobody in reach' : ''}; milliseconds`);
  const inserts = times(2_000, (i) => {
    planner.putOrder(orderOf(open + i), 0);
    planner.dropOrder(`order-${open + i}`, 0);
  });
  tell('an insertion', inserts);
  let second = 0;
  const passes = times(5, () => pass(planner, ++second * 1_000));
  tell('a whole pass', passes);
  const steps: number[] = [];
  for (let i = 0; i < 5; i++) pass(planner, ++second * 1_000, steps);
  tell('a step of it', steps);
  tell(
    'who is due',
    times(200, () => planner.due(20_000, 21_000)),
  );
  tell(
    'who waits where',
    times(200, () => planner.waits(20_000)),
  );
  tell(
    'a driver moves',
    times(2_000, () => planner.putDriver(driverOf(Math.floor(drivers * random())), 0)),
  );
  tell(
    'a second try',
    times(200, () => planner.retry(0, 16, true, () => false)),
  );
}

/** Does a whole pass; times each step of it where they are asked for, which takes longer than most of them. */
function pass(planner: Planner, nowMs: number, stepsMs?: number[]): void {
  planner.begin(nowMs);
  let isGoingOn = true;
  const step = () => {
    isGoingOn = planner.step();
  };
  while (isGoingOn) {
    if (stepsMs) stepsMs.push(timed(step));
    else step();
  }
}

/**
 * The lesser of the time that passes and the CPU time of the process: the first has the work of others on the
 * machine too, the second that of the process' other threads.
 */
function timed(act: () => void): number {
  const beginMs = performance.now();
  const begin = process.cpuUsage();
  act();
  const { user, system } = process.cpuUsage(begin);
  return Math.min((user + system) / 1_000, performance.now() - beginMs);
}

function tell(what: string, ms: readonly number[]): void {
  const [p50, p99, most] = [0.5, 0.99, 1].map((share) => percentile(ms, share).toFixed(3));
  console.log(`${what.padEnd(16)} p50 ${p50}  p99 ${p99}  longest ${most}`);
}
