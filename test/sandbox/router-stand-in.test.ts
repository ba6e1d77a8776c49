import { expect, onTestFinished, test } from 'vitest';
import { distanceMeters } from '../../src/geo/point.ts';
import { ARRIVAL_DETOUR, CAR_METERS_PER_MINUTE, ROAD_TABLE_PLACES } from '../../src/limits.ts';
import { createRouter } from '../../src/planning/router.ts';
import { startRouterStandIn } from '../../src/sandbox/router-stand-in.ts';

const STORE = { lat: 37.76415, lng: -122.41957 };
const NEAR = { lat: 37.7685, lng: -122.4124 };
const ACROSS = { lat: 37.7645, lng: -122.3995 };

async function standIn() {
  const started = await startRouterStandIn();
  onTestFinished(() => started.close());
  return { ...started, router: createRouter({ url: started.url, timeoutMs: 10_000 }) };
}

const modelMs = (meters: number) => ((meters * ARRIVAL_DETOUR) / CAR_METERS_PER_MINUTE) * 60_000;

test('answers the real client with plausible times, the same for the same places', async () => {
  const { router } = await standIn();
  const table = { places: [STORE, NEAR, ACROSS], sources: [0, 1], destinations: [1, 2, 0] };
  const answer = await router.table(table);
  if (answer.kind !== 'found') throw new Error(answer.kind);
  const [[near = 0, across = 0, itself = 1] = []] = answer.durationsMs as number[][];
  expect(near / modelMs(distanceMeters(STORE, NEAR))).toBeCloseTo(1, 0);
  expect(itself).toBe(0);
  // Over the bridge, 3 km to the north and back.
  expect(across).toBeGreaterThan(2.5 * modelMs(distanceMeters(STORE, ACROSS)));
  expect(await router.table(table)).toEqual(answer);
});

test('refuses what OSRM refuses', async () => {
  const { router, url } = await standIn();
  const places = Array.from({ length: ROAD_TABLE_PLACES + 1 }, () => STORE);
  expect(await router.table({ places, sources: [0], destinations: [1] })).toEqual({ kind: 'refused' });
  expect(await router.table({ places: [STORE], sources: [0], destinations: [1] })).toEqual({ kind: 'refused' });
  expect(await router.table({ places: [{ lat: 91, lng: 0 }], sources: [0], destinations: [0] })).toEqual({
    kind: 'refused',
  });
  expect((await fetch(`${url}/route/v1/driving/1,1;2,2`)).status).toBe(404);
});
