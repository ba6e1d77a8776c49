import { expect, test } from 'vitest';
import { useFreshDatabase } from '../harness/database.ts';
import { addDriverRow, addStoreRow, draftOrder, orderRow } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';
import { openTransaction, untilBlocked } from './transaction.ts';

const database = await useFreshDatabase();
const { sql } = database;
const store = await addStoreRow(sql);

test('resolving waits for a commit in flight, and returns a created order with its jobs', async () => {
  const order = await draftOrder(sql, store, { driverId: await addDriverRow(sql) });
  const inFlight = await openTransaction(database);
  await storeOf(inFlight.sql, 'me').insertOrders([order]);
  let isResolved = false;
  const resolving = storeOf(sql)
    .resolveUnknown([order])
    .finally(() => {
      isResolved = true;
    });
  await untilBlocked(database);
  expect(isResolved).toBe(false);
  await inFlight.commit();
  const real = (await resolving).get(order.id);
  const row = await orderRow(sql, order.id);
  expect(row.status).toBe('driver_assigned');
  expect(real).toMatchObject({ id: order.id, createdAt: row.created_at, expiresAt: row.expires_at });
  expect(real?.outbox.map(({ queue }) => queue).sort()).toEqual(['charge', 'sms']);
});

test('resolving waits for a commit in flight; if it is rolled back the order is void', async () => {
  const order = await draftOrder(sql, store);
  const inFlight = await openTransaction(database);
  await storeOf(inFlight.sql, 'me').insertOrders([order]);
  const resolving = storeOf(sql).resolveUnknown([order]);
  await untilBlocked(database);
  await inFlight.rollback();
  expect((await resolving).size).toBe(0);
  expect((await orderRow(sql, order.id)).status).toBe('void');
});

test('a void order can never be written, not even by a late statement', async () => {
  const order = await draftOrder(sql, store, { driverId: await addDriverRow(sql) });
  expect((await storeOf(sql).resolveUnknown([order])).size).toBe(0);
  expect((await storeOf(sql, 'me').insertOrders([order])).size).toBe(0);
  expect([...(await storeOf(sql).explainRefused([order])).values()]).toEqual(['voided']);
  expect((await storeOf(sql).resolveUnknown([order])).size).toBe(0);
  const [left] = await sql`
    select (select count(*)::int from outbox where order_id = ${order.id}) as jobs,
      (select count(*)::int from order_events where order_id = ${order.id}) as events,
      (select count(*)::int from customers where id = ${order.customerId}) as customers`;
  expect({ ...left }).toEqual({ jobs: 0, events: 0, customers: 0 });
});

test('a late statement waits for the resolving in flight and then writes nothing', async () => {
  const order = await draftOrder(sql, store);
  const resolving = await openTransaction(database);
  await storeOf(resolving.sql).resolveUnknown([order]);
  const late = storeOf(sql, 'me').insertOrders([order]);
  await untilBlocked(database);
  await resolving.commit();
  expect((await late).size).toBe(0);
});

test('each order of a batch gets its own outcome', async () => {
  const [written, lost] = [await draftOrder(sql, store), await draftOrder(sql, store)];
  await storeOf(sql, 'me').insertOrders([written]);
  expect([...(await storeOf(sql).resolveUnknown([lost, written])).keys()]).toEqual([written.id]);
});

test('no reader sees a void order, and its driver stays free', async () => {
  const driverId = await addDriverRow(sql);
  const order = await draftOrder(sql, store, { driverId });
  await storeOf(sql).resolveUnknown([order]);
  expect(await storeOf(sql).findStoreOrder(order.id, store.retailerId)).toBeNull();
  expect(await storeOf(sql).findStoreOrder(order.id, order.id)).toBeNull();
  expect(await storeOf(sql).findOrderState(order.id)).toBeNull();
  expect(await storeOf(sql).findTrackedByIds([order.id])).toEqual(new Map());
  expect(await storeOf(sql).loadOrderStates([order.id])).toEqual([]);
  expect((await storeOf(sql).loadWaiting(1_000)).map(({ orderId }) => orderId)).not.toContain(order.id);
  expect((await storeOf(sql, 'me').insertOrders([await draftOrder(sql, store, { driverId })])).size).toBe(1);
});
