import { expect, onTestFinished, test } from 'vitest';
import { Planner } from '../../src/planner/planner.ts';
import { createRoadTimes, MODEL_TIMES, type RoadTimes } from '../../src/planning/road-times.ts';
import { createRouter } from '../../src/planning/router.ts';
import { startRouterStandIn } from '../../src/sandbox/router-stand-in.ts';
import { at, driver, MINUTE_MS, order, RULES } from '../planner/brute-force.ts';

/** Over a river west of the store, far in the north. */
const BRIDGE = at(-500, 8_000);
const ACROSS = driver('across', { place: at(-1_000, 0) });
const HERE = driver('here', { place: at(4_000, 0) });

async function roadsBy(open = startRouterStandIn): Promise<RoadTimes & { away(): void }> {
  const { url, orderFaults, close } = await open(BRIDGE);
  onTestFinished(close);
  const router = createRouter({ url, timeoutMs: 10_000 });
  const away = () => orderFaults({ each: () => ({ kind: 'status', status: 503, effect: 'before', sticky: false }) });
  return { ...createRoadTimes({ router, logger: { warn: () => {} } }), away };
}

/** Who gets the order, planned again while more roads become known. */
async function chosen(roadTimes: RoadTimes): Promise<string | undefined> {
  const planner = new Planner({ ...RULES, travelMs: roadTimes.travelMs });
  const drivers = [ACROSS, HERE];
  for (const each of drivers) planner.putDriver(each, 0);
  planner.putOrder(order('order', { pickup: at(0, 0), dropoff: at(2_000, 0) }), 0);
  for (let rounds = 0; rounds < 5; rounds++) {
    planner.begin(0);
    roadTimes.noting(() => {
      while (planner.step());
    });
    const tells = roadTimes.noting(() => planner.due(0, MINUTE_MS));
    if (!(await roadTimes.fetchWanted())) return tells[0]?.driverId;
    // A search that found nothing is repeated once the drivers are put again.
    for (const each of drivers) planner.putDriver(each, 0);
  }
  throw new Error('roads without end');
}

test('the driver beyond the river is the nearest, and the one on this bank gets the order', async () => {
  expect(await chosen(MODEL_TIMES)).toBe('across');
  expect(await chosen(await roadsBy())).toBe('here');
});

test('the nearest gets it while the router is away', async () => {
  const roads = await roadsBy();
  roads.away();
  expect(await chosen(roads)).toBe('across');
});
