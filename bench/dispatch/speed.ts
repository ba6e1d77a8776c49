import { modelTravelMs } from '../../src/planner/place.ts';
import { Planner } from '../../src/planner/planner.ts';
import type { OpenOrder } from '../../src/planner/types.ts';
import { offset, seeded } from '../../test/harness/world.ts';
import { percentile } from '../support/tap-support.ts';
import { RETAIL_RULES } from './retail.ts';

const DRIVERS = 1_000;
const OPEN = 3_000;
const MINUTE_MS = 60_000;

/** Times insertions and whole passes among 1,000 drivers with 3,000 open orders in a city of 40 km. */
export function runSpeed(): void {
  const random = seeded(1);
  const somewhere = () => offset({ lat: 40.7, lng: -74 }, 40_000 * (random() - 0.5), 40_000 * (random() - 0.5));
  const stores = Array.from({ length: 300 }, somewhere);
  const planner = new Planner({ ...RETAIL_RULES, travelMs: modelTravelMs });
  const duty = { onDutyMs: 0, offDutyMs: Number.POSITIVE_INFINITY, room: 5, metersPerMinute: 500, told: [] };
  for (let i = 0; i < DRIVERS; i++) {
    const freeAtMs = Math.floor(30 * MINUTE_MS * random());
    planner.putDriver({ id: `driver-${i}`, place: somewhere(), freeAtMs, isPickingUp: false, ...duty }, 0);
  }
  const orderOf = (i: number): OpenOrder => {
    const readyMs = Math.floor(60 * random()) * MINUTE_MS;
    const pickup = stores[Math.floor(stores.length * random())] as OpenOrder['pickup'];
    const dueMs = (60 + Math.floor(120 * random())) * MINUTE_MS;
    return { id: `order-${i}`, pickup, dropoff: somewhere(), placedMs: 0, readyMs, dueMs, weight: 1, room: 1 };
  };
  for (let i = 0; i < OPEN; i++) planner.putOrder(orderOf(i), 0);
  pass(planner, 0);
  const inserts = Array.from({ length: 2_000 }, (_, i) => {
    const order = orderOf(OPEN + i);
    const ms = timed(() => planner.putOrder(order, 0));
    planner.dropOrder(order.id, 0);
    return ms;
  });
  console.log(`\n${DRIVERS} drivers, ${OPEN} open orders; milliseconds of CPU time`);
  tell('an insertion', inserts);
  const passes = [1, 2, 3, 4, 5].map((minute) => pass(planner, minute * 1_000));
  tell(
    'a whole pass',
    passes.map(({ wholeMs }) => wholeMs),
  );
  tell(
    'a step of it',
    passes.flatMap(({ stepsMs }) => stepsMs),
  );
  tell(
    'its begin',
    passes.map(({ beginMs }) => beginMs),
  );
  tell(
    'who is due',
    Array.from({ length: 20 }, () => timed(() => planner.due(10_000, 11_000))),
  );
  tell(
    'who waits where',
    Array.from({ length: 20 }, () => timed(() => planner.waits(10_000))),
  );
}

function pass(planner: Planner, nowMs: number): { beginMs: number; stepsMs: number[]; wholeMs: number } {
  const stepsMs: number[] = [];
  const beginMs = timed(() => planner.begin(nowMs));
  let isGoingOn = true;
  while (isGoingOn) {
    stepsMs.push(
      timed(() => {
        isGoingOn = planner.step();
      }),
    );
  }
  return { beginMs, stepsMs, wholeMs: stepsMs.reduce((sum, each) => sum + each, beginMs) };
}

/** CPU time of the whole process, its collector of garbage included: others on the machine do not count. */
function timed(act: () => void): number {
  const begin = process.cpuUsage();
  act();
  const { user, system } = process.cpuUsage(begin);
  return (user + system) / 1_000;
}

function tell(what: string, ms: readonly number[]): void {
  const [p50, p99, most] = [0.5, 0.99, 1].map((share) => percentile(ms, share).toFixed(2));
  console.log(`${what.padEnd(16)} p50 ${p50}  p99 ${p99}  longest ${most}`);
}
