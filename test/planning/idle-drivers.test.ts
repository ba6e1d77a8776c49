import { beforeEach, expect, test, vi } from 'vitest';
import type { FleetDriver } from '../../src/domain/driver.ts';
import type { IdleWait } from '../../src/domain/idle-wait.ts';
import { IDLE_WAIT_METERS } from '../../src/domain/idle-wait.ts';
import { newId } from '../../src/domain/ids.ts';
import type { Lease } from '../../src/domain/plan.ts';
import { IDLE_WAIT_MS, IDLE_WAIT_PAUSE_MS, MAX_WAITS_PER_LOOK, POSITION_FRESH_MS } from '../../src/limits.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import { createIdleDrivers, DEMAND_REFRESH_MS, type IdleDrivers } from '../../src/planning/idle-drivers.ts';
import type { AskedWait } from '../../src/store/planning/driver-waits.ts';
import { createLogger } from '../../src/telemetry.ts';
import { displaced } from '../geo/places.ts';
import { TIERS } from '../matcher/brute-force.ts';
import { carrying, freeDriver, setDuty } from '../matcher/carrying.ts';

const START_MS = 1_790_000_000_000;
const STORE = { lat: 37.76415, lng: -122.41957 };
const OTHER = displaced(STORE, 0, 3_000);
const AWAY = displaced(STORE, 2_000, 0);
const LEASE: Lease = { region: 'all', epoch: 1 };
const DEMAND = [
  { point: { ...STORE, name: 'Corner Market' }, weight: 3 },
  { point: { ...OTHER, name: 'Books' }, weight: 1 },
];

let nowMs: number;
let matcher: Matcher;
/** What was written: who was asked where, and who no longer waits. */
let written: { readonly asked: readonly IdleWait[]; readonly gone: readonly string[] }[];
let idle: IdleDrivers;
const loadDemand = vi.fn(async () => DEMAND);
const loadWaits = vi.fn(async (): Promise<AskedWait[]> => []);
/** The drivers whom the database does not take. */
let refused: Set<string>;
let hasLease: boolean;
/** Whether a write has no answer. */
let isLost: boolean;

const open = (isOn = true): IdleDrivers =>
  createIdleDrivers({
    store: {
      loadDemand,
      loadWaits,
      async writeWaits(_lease, waits, goneIds) {
        if (!hasLease) return null;
        if (isLost) throw new Error('no answer');
        const asked = waits.filter(({ driverId }) => !refused.has(driverId));
        written.push({ asked, gone: goneIds });
        return [...asked.map(({ driverId }) => driverId), ...goneIds];
      },
    },
    matcher,
    isOn,
    clock: { now: () => nowMs },
    logger: createLogger('silent'),
  });

beforeEach(() => {
  nowMs = START_MS;
  matcher = new Matcher(TIERS);
  written = [];
  refused = new Set();
  hasLease = true;
  isLost = false;
  loadDemand.mockReset().mockImplementation(async () => DEMAND);
  loadWaits.mockReset().mockImplementation(async () => []);
  idle = open();
});

function driver(at = AWAY, changes: Partial<FleetDriver> = {}): string {
  const id = newId();
  matcher.putDriver(freeDriver(id, at, nowMs, { capacity: 1, vehicle: 'car', onDutyUntilMs: null, ...changes }));
  return id;
}
const move = (id: string, at: { lat: number; lng: number }) => matcher.moveDriver(id, at, nowMs);
const ask = (ids: readonly string[], place = STORE) =>
  idle.ask(
    ids.map((driverId) => ({ driverId, place })),
    LEASE,
  );

test('asks a free driver to wait at a store, by its name', async () => {
  const id = driver();
  await idle.expected();
  await ask([id]);
  expect(written).toEqual([{ asked: [{ driverId: id, place: { ...STORE, name: 'Corner Market' } }], gone: [] }]);
});

test('where a write has no answer, what was asked is read again', async () => {
  const id = driver();
  isLost = true;
  await expect(ask([id])).rejects.toThrow('no answer');
  isLost = false;
  loadWaits.mockResolvedValueOnce([{ driverId: id, place: STORE, askedMs: nowMs, isOver: false }]);
  await ask([id]);
  expect(written).toEqual([]);
});

test('a place that is no known store has no name', async () => {
  const id = driver();
  await ask([id]);
  expect(written[0]?.asked[0]?.place).toEqual({ ...STORE, name: null });
});

test('asks nobody who is off duty, carries something, has no fresh position, or is there', async () => {
  const carried = [carrying(newId())];
  const silent = driver(AWAY, { position: { ...AWAY, atMs: nowMs - POSITION_FRESH_MS - 1 } });
  const ids = [
    driver(AWAY, { onDuty: false }),
    driver(AWAY, { carried }),
    silent,
    driver(AWAY, { position: null }),
    driver(displaced(STORE, IDLE_WAIT_METERS - 10, 0)),
    newId(),
  ];
  await ask(ids);
  expect(written).toEqual([]);
});

test('asks nobody where the operator does not want it', async () => {
  idle = open(false);
  await ask([driver()]);
  expect(written).toEqual([]);
  expect(await idle.expected()).toEqual([]);
  expect(loadDemand).not.toHaveBeenCalled();
});

test('asks one driver at a time to a place, and some at once', async () => {
  const [first, second] = [driver(), driver()];
  await ask([first, second]);
  expect(written[0]?.asked.map(({ driverId }) => driverId)).toEqual([first]);
  await ask([second]);
  await ask([second], displaced(STORE, IDLE_WAIT_METERS - 10, 0));
  expect(written).toHaveLength(1);
  move(first, STORE);
  await ask([second]);
  expect(written[1]).toMatchObject({ asked: [{ driverId: second }], gone: [first] });
  const many = Array.from({ length: MAX_WAITS_PER_LOOK + 3 }, (_, n) => ({
    driverId: driver(),
    place: displaced(OTHER, n * 500, 0),
  }));
  await idle.ask(many, LEASE);
  expect(written[2]?.asked).toHaveLength(MAX_WAITS_PER_LOOK);
});

test('a driver who was asked is asked nothing else for a while, whatever they do', async () => {
  const id = driver();
  await ask([id]);
  move(id, STORE);
  await ask([id], OTHER);
  expect(written).toHaveLength(2);
  expect(written[1]).toEqual({ asked: [], gone: [id] });
  nowMs += IDLE_WAIT_PAUSE_MS - 1;
  move(id, STORE);
  await ask([id], OTHER);
  expect(written).toHaveLength(2);
  nowMs += 1;
  await ask([id], OTHER);
  expect(written[2]).toMatchObject({ asked: [{ driverId: id, place: OTHER }], gone: [] });
});

test.each<[string, (id: string) => void]>([
  ['is there', (id) => move(id, STORE)],
  ['goes off duty', (id) => setDuty(matcher, id, false, nowMs)],
  [
    'had an order meanwhile',
    (id) => {
      nowMs += 1_000;
      setDuty(matcher, id, false, nowMs);
      setDuty(matcher, id, true, nowMs);
    },
  ],
  [
    'does not come',
    () => {
      nowMs += IDLE_WAIT_MS;
    },
  ],
  ['is no driver any more', (id) => matcher.removeDriver(id)],
])('ends it once for a driver who %s', async (_what, happens) => {
  const id = driver();
  await ask([id]);
  await ask([]);
  expect(written).toHaveLength(1);
  happens(id);
  await ask([]);
  await ask([]);
  expect(written.slice(1)).toEqual([{ asked: [], gone: [id] }]);
});

test('a driver whom the database refused may be asked again', async () => {
  const id = driver();
  refused.add(id);
  await ask([id]);
  refused.clear();
  await ask([id]);
  expect(written.map(({ asked }) => asked.length)).toEqual([0, 1]);
});

test('a process that lost the lease changes nothing, and one that gets it knows who was asked', async () => {
  const [id, other] = [driver(), driver()];
  hasLease = false;
  await ask([id]);
  expect(written).toEqual([]);
  hasLease = true;
  nowMs += 60_000;
  loadWaits.mockImplementation(async () => [{ driverId: id, place: OTHER, askedMs: nowMs - 60_000, isOver: false }]);
  await idle.ask(
    [
      { driverId: id, place: STORE },
      { driverId: other, place: OTHER },
    ],
    { ...LEASE, epoch: 2 },
  );
  expect(written).toEqual([]);
  expect(loadWaits).toHaveBeenCalledTimes(2);
});

test('a write that fails is tried again', async () => {
  const id = driver();
  loadWaits.mockRejectedValueOnce(new Error('down'));
  await expect(ask([id])).rejects.toThrow('down');
  await ask([id]);
  expect(written).toHaveLength(1);
});

test('reads where orders are expected now and then, and keeps what it knows where that fails', async () => {
  expect(await idle.expected()).toBe(DEMAND);
  nowMs += DEMAND_REFRESH_MS - 1;
  await idle.expected();
  expect(loadDemand).toHaveBeenCalledTimes(1);
  loadDemand.mockRejectedValue(new Error('down'));
  nowMs += 1;
  expect(await idle.expected()).toBe(DEMAND);
  expect(await idle.expected()).toBe(DEMAND);
  expect(loadDemand).toHaveBeenCalledTimes(2);
  expect(loadDemand).toHaveBeenLastCalledWith(nowMs);
});
