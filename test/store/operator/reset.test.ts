import { expect, test } from 'vitest';
import { useFreshDatabase } from '../../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';
import { failCharges } from '../../harness/unpaid.ts';
import { openAttempt, openText } from '../../harness/vendor-rows.ts';
import { noticesDuring, openTransaction, untilBlocked } from '../transaction.ts';

/** What stays: who takes part, what it costs, and the record of migrations. */
const KEPT = [
  'api_keys',
  'driver_positions',
  'driver_sign_ins',
  'drivers',
  'event_head',
  'organization_keys',
  'organizations',
  'planner_leases',
  'push_keys',
  'push_subscriptions',
  'redis_mark',
  'refused_credentials',
  'retailer_applications',
  'retailers',
  'schema_migrations',
  'text_counts',
  'text_opt_outs',
  'tiers',
  'told_events',
  'webhooks',
];

const database = await useFreshDatabase();
const { sql } = database;

/** The tables with rows, by name. */
async function filled(): Promise<string[]> {
  const tables = await sql`select tablename as name from pg_tables where schemaname = 'public' order by 1`;
  const counts = await Promise.all(
    tables.map(async ({ name }) => {
      const [row] = await sql`select exists (select from ${sql(name)}) as filled`;
      return row?.filled ? [name as string] : [];
    }),
  );
  return counts.flat();
}

/** An order under way with every kind of row that an order can have. */
async function wholeOrder(): Promise<string> {
  const store = await addStoreRow(sql);
  await storeOf(sql).setWebhook(store.retailerId, 'https://store.test/hook', 'whsec_c2VjcmV0');
  const driverId = await addDriverRow(sql);
  const { orderId } = await addOrder(sql, store, { driverId });
  await storeOf(sql).writePositions([{ driverId, lat: 1, lng: 2, atMs: Date.now() }]);
  await openAttempt(sql, orderId);
  await openText(sql, orderId);
  await failCharges(sql, store, 1);
  await addOrder(sql, store, { driverId: await addDriverRow(sql) });
  await storeOf(sql).setTextKinds(store.retailerId, ['on_the_way']);
  await storeOf(sql).pickUpOrder(orderId, driverId, { actionId: 'tap', capturedAt: null });
  await sql`insert into payouts (order_id, driver_id, amount_cents, status) values (${orderId}, ${driverId}, 1, 'owed')`;
  await sql`
    insert into refunds (order_id, amount_cents, reason, status) values (${orderId}, 1, 'cancelled', 'sending')`;
  await sql`insert into charge_retries (order_id, due_at) values (${orderId}, now())`;
  await sql`
    insert into plans (order_id, driver_id, pickup_at, door_at, said_at, epoch)
    values (${orderId}, ${driverId}, now(), now(), now(), 1)`;
  // Some events with numbers and webhooks, some without.
  await storeOf(sql).numberEvents(true, 2);
  await storeOf(sql).noteStripeRefund(orderId, { refundId: `re_${orderId}`, amountCents: 1, status: 'pending' });
  const dispute = { amountCents: 1, reason: 'fraudulent', status: 'open' } as const;
  await storeOf(sql).noteDispute(orderId, { disputeId: `du_${orderId}`, ...dispute }, new Date());
  await storeOf(sql).recordLostReplies([{ fingerprint: 'fingerprint', orderId }]);
  await sql`insert into driver_waits (driver_id, lat, lng, epoch) values (${driverId}, 1, 2, 1)`;
  return orderId;
}

test('every table of orders is emptied, the others keep their rows, and all processes are told', async () => {
  await wholeOrder();
  await wholeOrder();
  await storeOf(sql).resolveUnknown([{ id: '01920000-0000-7000-8000-000000000001' }]);
  const before = await filled();
  const notices = await noticesDuring(database, async () => {
    // The tombstone is no order.
    expect(await storeOf(sql, 'cli-1').removeAllOrders()).toBe(6);
  });
  expect(notices).toEqual(['cli-1:everything:orders']);
  expect(await storeOf(sql).loadHolds()).toEqual([]);
  const after = await filled();
  expect(after).toEqual(before.filter((name) => KEPT.includes(name)));
  const emptied = before.filter((name) => !KEPT.includes(name));
  const all = await sql`select tablename as name from pg_tables where schemaname = 'public'`;
  // A new table belongs to one of the two lists.
  expect([...emptied, ...KEPT].sort()).toEqual(all.map(({ name }) => name).sort());
  expect(await storeOf(sql, 'cli-1').removeAllOrders()).toBe(0);
});

test('many orders are counted by the estimate of Postgres', async () => {
  const store = await addStoreRow(sql);
  for (let i = 0; i < 3; i++) await addOrder(sql, store);
  await sql`analyze orders`;
  for (let i = 0; i < 2; i++) await addOrder(sql, store);
  expect(await storeOf(sql).removeAllOrders(4)).toBe(4);
  for (let i = 0; i < 3; i++) await addOrder(sql, store);
  await sql`analyze orders`;
  expect(await storeOf(sql).removeAllOrders(2)).toBe(3);
});

test('a job’s id is not given again, as its queue may still hold the old one', async () => {
  const store = await addStoreRow(sql);
  const { jobs: earlier } = await addOrder(sql, store);
  await storeOf(sql).removeAllOrders();
  const { jobs: later } = await addOrder(sql, store);
  expect(later.redispatch?.id).toBeGreaterThan(earlier.redispatch?.id ?? Number.POSITIVE_INFINITY);
});

test('an order that is being committed is either removed or made afterwards', async () => {
  const store = await addStoreRow(sql);
  await storeOf(sql).removeAllOrders();
  const other = await openTransaction(database);
  await addOrder(other.sql, store);
  const reset = storeOf(sql).removeAllOrders();
  await untilBlocked(database);
  const later = addOrder(sql, store);
  await other.commit();
  expect(await reset).toBe(1);
  const { orderId } = await later;
  expect([...(await sql`select id from orders`)]).toEqual([{ id: orderId }]);
  expect([...(await sql`select distinct order_id from outbox`)]).toEqual([{ order_id: orderId }]);
});
