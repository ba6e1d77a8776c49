import { afterAll, beforeAll, expect, test } from 'vitest';
import type { OrderStatus } from '../../src/domain/order.ts';
import { LIST_SCAN_ROWS } from '../../src/limits.ts';
import type { Sql } from '../../src/postgres/connect.ts';
import type { OrderCursor } from '../../src/store/orders-list.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { addStoreRow } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';

const PAST = 2 * LIST_SCAN_ROWS + 500;

let database: FreshDatabase;
/** A store with many delivered orders, and one with as many cancelled ones. */
let delivers: string;
let cancels: string;

/** Adds past orders, each changed a second after the one before, on rows of its own. */
async function addPast(sql: Sql, retailerId: string, status: OrderStatus, count: number, sinceSeconds: number) {
  await sql`
    insert into orders (id, retailer_id, customer_id, dropoff_address_id, driver_id, status, delivery_tier,
      delivery_fee_cents, driver_payout_cents, payment_status, sms_status, tracking_token, pickup_address, pickup_lat,
      pickup_lng, pickup_point_source, created_at, updated_at, expires_at)
    select gen_random_uuid(), ${retailerId}, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), ${status},
      'standard', 799, 550, 'paid', 'none', gen_random_uuid()::text, 'One Test Square', 37.7, -122.4, 'registered',
      t, t, t
    from generate_series(1, ${count}::int) n, lateral (select now() - make_interval(secs => ${sinceSeconds} - n)) x (t)`;
}

beforeAll(async () => {
  // One connection, so that it tells what it has read itself.
  database = await freshDatabase({ max: 1 });
  const { sql } = database;
  delivers = (await addStoreRow(sql)).retailerId;
  cancels = (await addStoreRow(sql)).retailerId;
  await addPast(sql, delivers, 'delivered', PAST, 50_000);
  await addPast(sql, cancels, 'cancelled', PAST, 50_000);
  for (const status of [
    'returned',
    'expired',
    'undeliverable',
    'pending_dispatch',
    'driver_assigned',
    'picked_up',
  ] as const) {
    await addPast(sql, delivers, status, 3, 1_000);
  }
  await sql`analyze orders`;
});
afterAll(() => database.drop());

/** The rows of orders that this connection has read so far. */
async function rowsRead(): Promise<number> {
  await database.sql`select pg_stat_force_next_flush()`;
  await database.sql`select pg_stat_clear_snapshot()`;
  const [row] = await database.sql`
    select (seq_tup_read + idx_tup_fetch)::int as read from pg_stat_user_tables where relname = 'orders'`;
  return row?.read;
}

async function pageOf(retailerId: string, status: OrderStatus | null, cursor: OrderCursor | null = null) {
  const before = await rowsRead();
  const filter = { status, updatedAfter: null, limit: 50, cursor };
  const page = await storeOf(database.sql).listStoreOrders(retailerId, filter);
  return { ...page, read: (await rowsRead()) - before };
}

test.each(['returned', 'expired', 'undeliverable', 'pending_dispatch', 'driver_assigned', 'picked_up'] as const)(
  'the few orders that are %s are one page, found without reading what is past',
  async (status) => {
    const { orders, next, read } = await pageOf(delivers, status);
    expect([orders.length, next]).toEqual([3, null]);
    expect(read).toBeLessThan(100);
  },
);

test('a page ends early, and says that the list goes on, instead of reading everything', async () => {
  const pages = [];
  for (let cursor: OrderCursor | null | undefined; cursor !== null; ) {
    const page = await pageOf(cancels, 'delivered', cursor);
    pages.push(page);
    cursor = page.next;
  }
  expect(pages.map(({ orders }) => orders.length)).toEqual([0, 0, 0]);
  for (const { read } of pages) expect(read).toBeLessThanOrEqual(LIST_SCAN_ROWS);
});

test('pages that end early or are full list each order once, in the order of their change', async () => {
  const { sql } = database;
  const { retailerId } = await addStoreRow(sql);
  await addPast(sql, retailerId, 'delivered', 60, 90_000);
  await addPast(sql, retailerId, 'cancelled', LIST_SCAN_ROWS, 80_000);
  await addPast(sql, retailerId, 'delivered', 60, 1_000);
  const expected = await sql`
    select id from orders where retailer_id = ${retailerId} and status = 'delivered' order by updated_at, id`;
  const listed: string[] = [];
  for (let cursor: OrderCursor | null | undefined; cursor !== null; ) {
    const { orders, next } = await pageOf(retailerId, 'delivered', cursor);
    listed.push(...orders.map((order) => (order as { id: string }).id));
    cursor = next;
  }
  expect(listed).toEqual(expected.map(({ id }) => id));
});

test('a list of every status leaves nothing out', async () => {
  const { orders, next, read } = await pageOf(delivers, null);
  expect([orders.length, next === null]).toEqual([50, false]);
  expect(read).toBeLessThan(100);
});

test('an order on a page has the names of the wire alone', async () => {
  const { orders } = await pageOf(delivers, 'returned');
  expect(Object.keys(orders[0] ?? {}).sort()).toEqual([
    'created_at',
    'delivery_fee',
    'delivery_tier',
    'driver_id',
    'id',
    'payment_status',
    'reason_code',
    'sms_status',
    'status',
    'tracking_token',
    'updated_at',
  ]);
});
