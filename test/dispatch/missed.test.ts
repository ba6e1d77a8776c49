import { beforeEach, expect, test } from 'vitest';
import { Fleet } from '../../src/dispatch/fleet.ts';
import { OrderEvents } from '../../src/dispatch/order-events.ts';
import { createRedispatch } from '../../src/dispatch/redispatch.ts';
import { createSweep } from '../../src/dispatch/sweep.ts';
import { UnknownOutcomes } from '../../src/dispatch/unknown-outcomes.ts';
import { FIRST_ID } from '../../src/domain/ids.ts';
import { POSITION_FRESH_MS } from '../../src/limits.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import type { Store } from '../../src/store/store.ts';
import { createLogger } from '../../src/telemetry.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow, orderRow, PICKUP } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';

const { sql } = await useFreshDatabase();
const store = await addStoreRow(sql);
beforeEach(async () => {
  await sql`truncate orders, drivers, driver_positions`;
});

/** A driver on duty by the store, with the age of their position. */
async function standing(ageMs = 0): Promise<string> {
  const driverId = await addDriverRow(sql);
  await storeOf(sql).writePositions([{ driverId, ...PICKUP, atMs: Date.now() - ageMs }]);
  return driverId;
}
const isOverdue = (orderId: string) =>
  sql`update orders set expires_at = now() - interval '1 second' where id = ${orderId}`;

/** The matching part of a process on the real tables, without notices. */
async function openProcess() {
  let tries = 0;
  const tables: Store = {
    ...storeOf(sql, 'me'),
    assignWaiting(orderId, driver) {
      tries++;
      return storeOf(sql, 'me').assignWaiting(orderId, driver);
    },
    findSilent: async () => [],
  };
  const matcher = new Matcher(await tables.loadTiers());
  const events = new OrderEvents();
  const clock = { now: Date.now };
  const fleet = new Fleet(matcher, tables, events);
  const unknownOutcomes = new UnknownOutcomes(60_000, 10, clock.now, events);
  const relay = { relay: () => undefined };
  const logger = createLogger('silent');
  const parts = { store: tables, matcher, fleet, unknownOutcomes, relay, events, clock, logger };
  const redispatch = createRedispatch(parts);
  const sweep = createSweep({ ...parts, redispatch });
  await fleet.rebuild();
  return { matcher, redispatch, sweep, tries: () => tries };
}

test('waiting orders and available drivers are matchable', async () => {
  const { orderId: waits } = await addOrder(sql, store);
  const { orderId: overdue } = await addOrder(sql, store);
  await isOverdue(overdue);
  const free = await standing();
  await standing(POSITION_FRESH_MS + 1_000);
  await addDriverRow(sql);
  await storeOf(sql, 'test').setDriverDuty(await standing(), false);
  await storeOf(sql, 'test').deactivateDriver(await standing());
  await addOrder(sql, store, { driverId: await standing() });
  expect(await storeOf(sql).findMatchable(10, POSITION_FRESH_MS)).toMatchObject({
    orderIds: [waits],
    driverIds: [free],
  });
  expect((await storeOf(sql).findMatchable(0, POSITION_FRESH_MS)).orderIds).toEqual([]);
});

test('each read looks at one part of many drivers, until all were looked at', async () => {
  for (const _ of Array(3)) await standing();
  const { driverIds: all } = await storeOf(sql).findMatchable(0, POSITION_FRESH_MS);
  const seen: string[] = [];
  let parts = 0;
  for (let after: string = FIRST_ID; ; parts++) {
    const { driverIds, nextAfter } = await storeOf(sql).findMatchable(0, POSITION_FRESH_MS, after, 2);
    seen.push(...driverIds);
    if (nextAfter === FIRST_ID) break;
    after = nextAfter;
  }
  expect(parts).toBeGreaterThan(0);
  expect(seen.toSorted()).toEqual([...all].toSorted());
});

test('a driver next to an order whose time is up gets the next order after one attempt', async () => {
  const { orderId: overdue } = await addOrder(sql, store);
  const { orderId: next } = await addOrder(sql, store);
  await sql`update orders set created_at = created_at - interval '1 hour' where id = ${overdue}`;
  const driverId = await standing();
  const { matcher, redispatch, sweep, tries } = await openProcess();
  await isOverdue(overdue);
  await redispatch.matchDriver(driverId);
  expect(await orderRow(sql, next)).toMatchObject({ status: 'driver_assigned', driver_id: driverId });
  expect(tries()).toBe(2);
  expect(matcher.waitingCount()).toBe(0);
  await sweep.run();
  expect(await orderRow(sql, overdue)).toMatchObject({ status: 'expired' });
});

test('a sweep matches orders and drivers that changed in the tables without a notice', async () => {
  const { orderId: gone } = await addOrder(sql, store);
  const { matcher, sweep } = await openProcess();
  expect(matcher.isWaiting(gone)).toBe(true);
  await sql`update orders set status = 'cancelled' where id = ${gone}`;
  const { orderId } = await addOrder(sql, store);
  const driverId = await standing();
  await sweep.run();
  expect(await orderRow(sql, orderId)).toMatchObject({ status: 'driver_assigned', driver_id: driverId });
  expect(matcher.waitingCount()).toBe(0);
  expect(matcher.driver(driverId)).toMatchObject({ carried: [{ orderId }] });
});
