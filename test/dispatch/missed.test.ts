import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Fleet } from '../../src/dispatch/fleet.ts';
import { createRedispatch } from '../../src/dispatch/redispatch.ts';
import { FIRST_ID } from '../../src/domain/ids.ts';
import { POSITION_FRESH_MS } from '../../src/limits.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import { deactivateDriver, loadFleet, setDriverDuty, writePositions } from '../../src/store/drivers.ts';
import { assignWaiting, expireOrder } from '../../src/store/orders.ts';
import { loadTiers } from '../../src/store/tiers.ts';
import { findMatchable, findOverdue, loadOrderStates, loadWaiting } from '../../src/store/waiting.ts';
import { createLogger } from '../../src/telemetry.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow, orderRow, PICKUP, type TestStore } from '../harness/orders.ts';

let database: FreshDatabase;
let store: TestStore;
beforeAll(async () => {
  database = await freshDatabase();
  store = await addStoreRow(database.sql);
});
afterAll(() => database.drop());
beforeEach(async () => {
  await database.sql`truncate orders, drivers, driver_positions`;
});

/** A driver on duty by the store, whose position was taken so long ago. */
async function standing(ageMs = 0): Promise<string> {
  const driverId = await addDriverRow(database.sql);
  await writePositions(database.sql, [{ driverId, ...PICKUP, atMs: Date.now() - ageMs }]);
  return driverId;
}
const isOverdue = (orderId: string) =>
  database.sql`update orders set expires_at = now() - interval '1 second' where id = ${orderId}`;

/** The part of a process that matches, on the tables; it hears no notices. */
async function openProcess() {
  const { sql } = database;
  const matcher = new Matcher(await loadTiers(sql));
  const fleet: Fleet = new Fleet(
    matcher,
    {
      loadFleet: (ids) => loadFleet(sql, ids),
      loadWaiting: (limit) => loadWaiting(sql, limit),
      loadOrderStates: (ids) => loadOrderStates(sql, ids),
      findMatchable: (limit, after) => findMatchable(sql, limit, POSITION_FRESH_MS, after),
    },
    () => undefined,
  );
  let tries = 0;
  const redispatch = createRedispatch({
    matcher,
    now: Date.now,
    assignWaiting(orderId, driver) {
      tries++;
      return assignWaiting(sql, orderId, driver, 'me');
    },
    expireOrder: (orderId) => expireOrder(sql, orderId, 'me'),
    findOverdue: (limit) => findOverdue(sql, limit),
    findSilent: async () => [],
    releaseFromSilent: async () => null,
    catchUp: () => fleet.catchUp(Date.now),
    refreshDrivers: (ids) => fleet.refreshDrivers(ids),
    refreshOrders: (ids) => fleet.refreshOrders(ids),
    touched: (driverId) => fleet.touched(driverId),
    relay: () => undefined,
    assigned: (_orderId, driverId) => fleet.touched(driverId),
    orderChanged: () => undefined,
    logger: createLogger('silent'),
  });
  await fleet.rebuild();
  return { matcher, redispatch, tries: () => tries };
}

test('what can be matched is named: waiting orders in their time, drivers on duty, heard of and with nothing to carry', async () => {
  const { sql } = database;
  const { orderId: waits } = await addOrder(sql, store);
  const { orderId: overdue } = await addOrder(sql, store);
  await isOverdue(overdue);
  const free = await standing();
  await standing(POSITION_FRESH_MS + 1_000);
  await addDriverRow(sql);
  await setDriverDuty(sql, await standing(), false, 'test');
  await deactivateDriver(sql, await standing(), 'test');
  await addOrder(sql, store, { driverId: await standing() });
  expect(await findMatchable(sql, 10, POSITION_FRESH_MS)).toMatchObject({ orderIds: [waits], driverIds: [free] });
  expect((await findMatchable(sql, 0, POSITION_FRESH_MS)).orderIds).toEqual([]);
});

test('of many drivers a part is looked at each time, until all were', async () => {
  const { sql } = database;
  for (const _ of Array(3)) await standing();
  const { driverIds: all } = await findMatchable(sql, 0, POSITION_FRESH_MS);
  const seen: string[] = [];
  let parts = 0;
  for (let after: string = FIRST_ID; ; parts++) {
    const { driverIds, nextAfter } = await findMatchable(sql, 0, POSITION_FRESH_MS, after, 2);
    seen.push(...driverIds);
    if (nextAfter === FIRST_ID) break;
    after = nextAfter;
  }
  expect(parts).toBeGreaterThan(0);
  expect(seen.toSorted()).toEqual([...all].toSorted());
});

test('a driver beside an order whose time is up is given the next one, after one try', async () => {
  const { sql } = database;
  const { orderId: overdue } = await addOrder(sql, store);
  const { orderId: next } = await addOrder(sql, store);
  await sql`update orders set created_at = created_at - interval '1 hour' where id = ${overdue}`;
  const driverId = await standing();
  const { matcher, redispatch, tries } = await openProcess();
  await isOverdue(overdue);
  await redispatch.driverAvailable(driverId);
  expect(await orderRow(sql, next)).toMatchObject({ status: 'driver_assigned', driver_id: driverId });
  expect(tries()).toBe(2);
  expect(matcher.waitingCount()).toBe(0);
  await redispatch.sweep();
  expect(await orderRow(sql, overdue)).toMatchObject({ status: 'expired' });
});

test('a sweep brings together what came and went in the tables without a word', async () => {
  const { sql } = database;
  const { orderId: gone } = await addOrder(sql, store);
  const { matcher, redispatch } = await openProcess();
  expect(matcher.isWaiting(gone)).toBe(true);
  await sql`update orders set status = 'cancelled' where id = ${gone}`;
  const { orderId } = await addOrder(sql, store);
  const driverId = await standing();
  await redispatch.sweep();
  expect(await orderRow(sql, orderId)).toMatchObject({ status: 'driver_assigned', driver_id: driverId });
  expect(matcher.waitingCount()).toBe(0);
  expect(matcher.driver(driverId)).toMatchObject({ orderId });
});
