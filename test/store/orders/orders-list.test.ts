import { expect, test } from 'vitest';
import type { OrderStatus } from '../../../src/domain/order.ts';
import type { OrderFilter } from '../../../src/store/orders/orders-list.ts';
import { LIST_SCAN_ROWS } from '../../../src/store/orders/orders-list.ts';
import type { Cursor } from '../../../src/store/pages.ts';
import { useFreshDatabase } from '../../harness/database.ts';
import { addStoreRow } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';

const PAST = 2 * LIST_SCAN_ROWS + 500;

/** Statuses of few orders among many. */
const FEW = ['returned', 'expired', 'undeliverable', 'pending_dispatch', 'driver_assigned', 'picked_up'] as const;

// One connection, so that it tells what it has read itself.
const { sql } = await useFreshDatabase({ max: 1 });
const tables = storeOf(sql);
/** A store with many delivered orders, and one with as many cancelled ones. */
const [delivers, cancels] = [await newStore(), await newStore()];
await addPast(delivers, 'delivered', PAST, 50_000);
await addPast(cancels, 'cancelled', PAST, 50_000);
for (const status of FEW) await addPast(delivers, status, 3, 1_000);
await sql`analyze orders`;

async function newStore(): Promise<string> {
  return (await addStoreRow(sql)).retailerId;
}

/** Adds past orders, each changed a second after the one before, on rows of its own. */
async function addPast(
  retailerId: string,
  status: OrderStatus,
  count: number,
  sinceSeconds: number,
  externalId: string | null = null,
) {
  await sql`
    insert into orders (id, retailer_id, customer_id, dropoff_address_id, driver_id, status, delivery_tier,
      delivery_fee_cents, driver_payout_cents, payment_status, sms_status, tracking_token, pickup_address, pickup_lat,
      pickup_lng, pickup_point_source, created_at, updated_at, expires_at, external_id)
    select gen_random_uuid(), ${retailerId}, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), ${status},
      'standard', 799, 550, 'paid', 'none', gen_random_uuid()::text, 'One Test Square', 37.7, -122.4, 'registered',
      t, t, t, ${externalId}
    from generate_series(1, ${count}::int) n, lateral (select now() - make_interval(secs => ${sinceSeconds} - n)) x (t)`;
}

/** The rows of orders that this connection has read so far. */
async function rowsRead(): Promise<number> {
  await sql`select pg_stat_force_next_flush()`;
  await sql`select pg_stat_clear_snapshot()`;
  const [row] = await sql`
    select (seq_tup_read + idx_tup_fetch)::int as read from pg_stat_user_tables where relname = 'orders'`;
  return row?.read;
}

const EVERY = { status: null, externalId: null, createdAfter: null, createdBefore: null, updatedAfter: null };

async function pageOf(
  retailerId: string,
  status: OrderStatus | null,
  cursor: Cursor | null = null,
  more: Partial<OrderFilter> = {},
) {
  const before = await rowsRead();
  const filter = { ...EVERY, status, limit: 50, cursor, ...more };
  const page = await tables.listStoreOrders(retailerId, filter);
  return { ...page, read: (await rowsRead()) - before };
}

/** All pages of a list: the ids, and the rows that each page read. */
async function wholeList(retailerId: string, status: OrderStatus | null, more: Partial<OrderFilter> = {}) {
  const ids: string[] = [];
  const reads: number[] = [];
  for (let cursor: Cursor | null | undefined; cursor !== null; ) {
    const page = await pageOf(retailerId, status, cursor, more);
    ids.push(...page.orders.map(({ id }) => id));
    reads.push(page.read);
    cursor = page.next;
  }
  return { ids, reads, mostRead: Math.max(...reads) };
}

test.each(FEW)('the few orders that are %s are one page, found without reading what is past', async (status) => {
  const { orders, next, read } = await pageOf(delivers, status);
  expect([orders.length, next]).toEqual([3, null]);
  expect(read).toBeLessThan(100);
});

test('a page ends early, and says that the list goes on, instead of reading everything', async () => {
  const { ids, reads, mostRead } = await wholeList(cancels, 'delivered');
  expect([ids, reads.length]).toEqual([[], 3]);
  expect(mostRead).toBeLessThanOrEqual(LIST_SCAN_ROWS);
});

test('pages that end early or are full list each order once, in the order of their change', async () => {
  const retailerId = await newStore();
  await addPast(retailerId, 'delivered', 60, 90_000);
  await addPast(retailerId, 'cancelled', LIST_SCAN_ROWS, 80_000);
  await addPast(retailerId, 'delivered', 60, 1_000);
  const expected = await sql`
    select id from orders where retailer_id = ${retailerId} and status = 'delivered' order by updated_at, id`;
  const { ids } = await wholeList(retailerId, 'delivered');
  expect(ids).toEqual(expected.map(({ id }) => id));
});

test('a list of every status leaves nothing out', async () => {
  const { orders, next, read } = await pageOf(delivers, null);
  expect([orders.length, next === null]).toEqual([50, false]);
  expect(read).toBeLessThan(100);
});

test('orders of one external id are found among many without reading the others', async () => {
  await addPast(delivers, 'delivered', 2, 40_000, 'A-1');
  await addPast(delivers, 'cancelled', 1, 30_000, 'A-1');
  await addPast(delivers, 'delivered', 1, 30_000, 'A-2');
  const another = await newStore();
  await addPast(another, 'delivered', 1, 30_000, 'A-1');
  const found = async (more: Partial<OrderFilter>, status: OrderStatus | null = null) => {
    const { orders, next, read } = await pageOf(delivers, status, null, { externalId: 'A-1', ...more });
    expect([next, read < 50]).toEqual([null, true]);
    return orders.map((order) => order.status);
  };
  expect(await found({})).toEqual(['delivered', 'delivered', 'cancelled']);
  expect(await found({}, 'cancelled')).toEqual(['cancelled']);
  expect(await found({}, 'pending_dispatch')).toEqual([]);
  expect(await found({ updatedAfter: new Date(Date.now() - 35_000_000) })).toEqual(['cancelled']);
  expect(await found({ createdBefore: new Date(Date.now() - 35_000_000) })).toEqual(['delivered', 'delivered']);
  expect(await found({ externalId: 'a-1' })).toEqual([]);
});

test('an external id that a store gives to all of its orders is listed in pages that end early', async () => {
  const retailerId = await newStore();
  await addPast(retailerId, 'delivered', LIST_SCAN_ROWS + 10, 9_000, 'same');
  await addPast(retailerId, 'cancelled', 3, 1_000, 'same');
  await sql`analyze orders`;
  const { ids, mostRead } = await wholeList(retailerId, 'cancelled', { externalId: 'same' });
  expect([ids.length, mostRead <= LIST_SCAN_ROWS]).toEqual([3, true]);
});

test('each order is created within one of two spans that follow each other', async () => {
  const retailerId = await newStore();
  await addPast(retailerId, 'delivered', 200, 10_000);
  await addPast(retailerId, 'cancelled', 200, 5_000);
  const orders = await sql`select id, created_at from orders where retailer_id = ${retailerId} order by updated_at, id`;
  const middle = orders[150]?.created_at;
  // A change long after puts an order of the first span at the end of the list.
  await sql`update orders set sequence = sequence + 1 where id = ${orders[0]?.id}`;
  const first = await wholeList(retailerId, null, { createdBefore: middle });
  const second = await wholeList(retailerId, null, { createdAfter: middle });
  expect(first.ids).toEqual([...orders.slice(1, 150), orders[0]].map((order) => order?.id));
  expect(second.ids).toEqual(orders.slice(150).map(({ id }) => id));
  const cancelled = await wholeList(retailerId, 'cancelled', { createdAfter: middle, createdBefore: new Date() });
  expect(cancelled.ids).toEqual(orders.slice(200).map(({ id }) => id));
});

test('a list by the time of creation reads no more than any other', async () => {
  const long = new Date(Date.now() - 100_000_000);
  for (const [store, status] of [
    [delivers, null],
    [cancels, 'cancelled'],
    [delivers, 'pending_dispatch'],
  ] as const) {
    const { ids, mostRead } = await wholeList(store, status, { createdBefore: long });
    expect([ids, mostRead <= LIST_SCAN_ROWS]).toEqual([[], true]);
    const { read } = await pageOf(store, status, null, { createdAfter: new Date(Date.now() - 1_000) });
    expect(read).toBeLessThan(100);
  }
});

test('an order on a page has the names of the wire alone', async () => {
  const { orders } = await pageOf(delivers, 'returned');
  expect(Object.keys(orders[0] ?? {}).sort()).toEqual([
    'created_at',
    'delivery_fee',
    'delivery_tier',
    'driver_id',
    'external_id',
    'id',
    'payment_status',
    'reason_code',
    'sms_status',
    'status',
    // What the route makes the promise and the estimate of.
    'times',
    'tracking_token',
    'updated_at',
  ]);
});
