import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { MAX_EXPIRIES_PER_SWEEP, REDISPATCH_SWEEP_MS } from '../../src/dispatch/sweep.ts';
import { MAX_WAITING_ORDERS } from '../../src/limits.ts';
import { displaced } from '../geo/places.ts';
import { seeded } from '../harness/world.ts';
import { type Process, startProcess } from './city.ts';
import { addDriver, addOrder, STORE, Tables } from './tables.ts';

/** Time within which each waiting order is tried again, whatever else happens. */
const PROMISE_MS = 30_000;
/** Time of a statement each way, by the virtual clock. */
const STATEMENT_MS = 2;

/** Time of a slow statement, longer than many sweeps. */
const SLOW_MS = 600_000;
const NONE = /^$/;

let tables: Tables;
let running: Process[];
/** The slow statements and the failing ones. */
let slow: RegExp;
let failing: RegExp;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval'] });
  tables = new Tables();
  running = [];
  slow = NONE;
  failing = NONE;
});
afterEach(async () => {
  slow = NONE;
  const closed = Promise.all(running.map((process) => process.close()));
  tables.turn = async () => undefined;
  await vi.advanceTimersByTimeAsync(SLOW_MS);
  await closed;
  vi.useRealTimers();
});

/** Advances the virtual clock and runs what follows. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 10) {
    await vi.advanceTimersByTimeAsync(10);
    await nextTurn();
  }
}

/** Processes that get no notices of what changes in the tables. */
async function startUnaware(count: number): Promise<Process[]> {
  tables.swallowsNotices = true;
  for (let i = 0; i < count; i++) running.push(await startProcess(tables, `process${i}`));
  tables.turn = async (what) => {
    await new Promise((done) => setTimeout(done, slow.test(what) ? SLOW_MS : STATEMENT_MS));
    if (failing.test(what)) throw new Error('the tables do not answer');
  };
  return running;
}
function standAt(id: string, north: number): void {
  addDriver(tables, { id, position: { ...displaced(STORE, north, 0), atMs: tables.now() } });
}

it('an order whose radius grows to reach a driver gets the driver without any event', async () => {
  const [process] = await startUnaware(1);
  // The radius of 3 km grows by 600 m a minute, and is long enough after 2 minutes.
  addOrder(tables, 'order', 60_000);
  standAt('driver', 4_000);
  await pass(PROMISE_MS);
  expect(process?.matcher.isWaiting('order')).toBe(true);
  expect(tables.waiting()).toHaveLength(1);
  tables.pass(60_000);
  standAt('driver', 4_000);
  await pass(PROMISE_MS);
  expect(tables.carried('driver')?.id).toBe('order');
});

it('waiting orders do not wait for thousands of expiries and releases', async () => {
  const [process] = await startUnaware(1);
  tables.overdue = Array.from({ length: MAX_EXPIRIES_PER_SWEEP }, (_, i) => `overdue-${i}`);
  tables.silent = tables.overdue.map((orderId, i) => ({ orderId, driverId: `silent-${i}` }));
  slow = /expire|release from/;
  await pass(2 * REDISPATCH_SWEEP_MS);
  for (let round = 0; round < 4; round++) {
    addOrder(tables, `order-${round}`);
    standAt(`driver-${round}`, 100);
    await pass(PROMISE_MS);
    expect(tables.carried(`driver-${round}`)?.id).toBe(`order-${round}`);
  }
  expect(process?.errors).toEqual([]);
});

it('a failed read is repeated by the next sweep', async () => {
  await startUnaware(1);
  failing = /states|fleet/;
  addOrder(tables, 'order');
  standAt('driver', 100);
  await pass(REDISPATCH_SWEEP_MS + 1_000);
  expect(tables.waiting()).toHaveLength(1);
  failing = NONE;
  await pass(REDISPATCH_SWEEP_MS);
  expect(tables.carried('driver')?.id).toBe('order');
});

it(`of ${MAX_WAITING_ORDERS} orders each one that a free driver can reach is tried within 30 s`, async () => {
  const random = seeded(3);
  const around = () => displaced(STORE, (random() * 2 - 1) * 30_000, (random() * 2 - 1) * 30_000);
  for (let i = 0; i < MAX_WAITING_ORDERS; i++) addOrder(tables, `order-${i}`, random() * 600_000, around());
  const [process] = await startUnaware(1);
  const drivers = Array.from({ length: 300 }, (_, i) => `driver-${i}`);
  for (const id of drivers) addDriver(tables, { id, position: { ...around(), atMs: tables.now() } });
  await pass(PROMISE_MS);
  const given = [...tables.orders.values()].filter(({ driverId }) => driverId !== null);
  expect(new Set(given.map(({ driverId }) => driverId)).size).toBe(drivers.length);
  expect(process?.matcher.waitingCount()).toBe(MAX_WAITING_ORDERS - drivers.length);
});
