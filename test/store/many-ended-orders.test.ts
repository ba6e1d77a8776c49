import { expect, test } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import { runs } from '../harness/counts.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow } from '../harness/orders.ts';
import { TEST_MS } from '../harness/patience.ts';
import { reading } from './transaction.ts';

/*
 * Rows that are read are counted, so that a few show a scan; of a million Postgres may choose another way. They take by
 * far the most of the file: one statement inserts them without a log, triggers and most indexes, which are built
 * afterwards.
 */
const ENDED = runs(30_000, 1_000_000);
/** The one that inserts them all takes long. */
const PATIENCE = { statementTimeoutMs: TEST_MS, deadlineMs: TEST_MS };
/** Above all that is open here, and far below what has ended. */
const MOST_ROWS_READ = 100;
const TABLES = ['orders', 'payouts', 'store_events'];

const database = await useFreshDatabase();
const store = await addStoreRow(database.sql);
const patient = connect({ url: database.url, applicationName: 'test', max: 1, ...PATIENCE });
await addEnded(patient);
await patient.end({ timeout: 5 });
await addOpen(database.sql);

/**
 * Orders that ended two days ago and before: of ten, six delivered and one returned, which are paid out, one
 * cancelled and refunded, one cancelled after its charge had failed, and one expired.
 */
async function addEnded(sql: Sql): Promise<void> {
  await sql`set session_replication_role = replica`;
  await sql`set maintenance_work_mem = '128MB'`;
  for (const table of TABLES) await sql`alter table ${sql(table)} set unlogged`;
  const indexes = await sql`
    select indexname as name, indexdef as definition from pg_indexes i
    where tablename = 'orders' and not exists (select from pg_constraint c where c.conname = i.indexname)`;
  for (const { name } of indexes) await sql`drop index ${sql(name)}`;
  await sql`
    insert into orders (id, retailer_id, customer_id, dropoff_address_id, driver_id, status, delivery_tier,
      delivery_fee_cents, driver_payout_cents, payment_status, sms_status, tracking_token, pickup_address, pickup_lat,
      pickup_lng, pickup_point_source, created_at, updated_at, ended_at, expires_at)
    select (lpad(to_hex(ms), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid, ${store.retailerId}::uuid,
      ${newId()}::uuid, ${newId()}::uuid, ${newId()}::uuid,
      case when n % 10 < 6 then 'delivered' when n % 10 < 8 then 'cancelled' when n % 10 < 9 then 'expired'
        else 'returned' end, 'standard', 799, 550,
      case n % 10 when 6 then 'refunded' when 7 then 'failed' when 8 then 'not_charged' else 'paid' end, 'sent',
      lpad(n::text, 7, '0'), 'One Test Square', 37.7, -122.4, 'registered', at, at, at, at
    from generate_series(1, ${ENDED}::int) n
    cross join lateral (select now() - interval '2 days' - (${ENDED} - n) * interval '5 seconds' as at) t
    cross join lateral (select (extract(epoch from at) * 1000)::int8 as ms) i`;
  await sql`
    insert into payouts (order_id, driver_id, amount_cents, status, paid_at)
    select id, driver_id, driver_payout_cents, 'paid', ended_at from orders where status in ('delivered', 'returned')`;
  for (const { definition } of indexes) await sql.unsafe(definition);
  await sql`
    insert into store_events (number, order_id, sequence, retailer_id, type, at, status, payment_status)
    select row_number() over (order by ended_at), id, 1, retailer_id, 'order.delivered', ended_at, status,
      payment_status
    from orders where status = 'delivered'`;
  await sql`update event_head set number = (select max(number) from store_events)`;
  await sql`vacuum (analyze) orders, payouts, store_events`;
}

/** What a person has to look after, and what is under way. */
async function addOpen(sql: Sql): Promise<void> {
  const driverId = await addDriverRow(sql);
  const add = async (status: string, payment: string, count: number): Promise<string> => {
    const isWaiting = status === 'pending_dispatch';
    let last = '';
    for (let n = 0; n < count; n++) {
      last = (await addOrder(sql, store)).orderId;
      await sql`
        update orders set status = ${status}, payment_status = ${payment}, driver_id = ${isWaiting ? null : driverId},
          ended_at = ${isWaiting ? null : new Date(Date.now() - 3_600_000)} where id = ${last}`;
    }
    return last;
  };
  await add('cancelled', 'paid', 3);
  await add('delivered', 'failed', 4);
  await add('pending_dispatch', 'paid', 2);
  await add('picked_up', 'paid', 1);
  const held = await add('delivered', 'paid', 1);
  await sql`
    insert into payouts (order_id, driver_id, amount_cents, status, reasons)
    values (${held}, ${driverId}, 550, 'held', '{too_fast}')`;
  await sql`update orders set delivered_at = now() - interval '30 minutes' where id = ${held}`;
  await sql`
    with head as (update event_head set number = number + 1 returning number)
    insert into store_events (number, order_id, sequence, retailer_id, type, at, status, payment_status)
    select number, ${held}, 1, ${store.retailerId}, 'order.delivered', now(), 'delivered', 'paid' from head`;
}

test('the figures for the operator are read from what is open and of the last day', async () => {
  const { result, rows, wholeReads } = await reading(database, TABLES, (s) => s.readStats());
  expect(wholeReads).toBe(0);
  expect(rows).toBeLessThan(MOST_ROWS_READ);
  expect(result).toMatchObject({
    refunds_missing: 3,
    failed_charges: 4,
    orders_under_way: { pending_dispatch: 2, picked_up: 1 },
    orders_last_day: { pending_dispatch: 2, picked_up: 1, cancelled: 3, delivered: 5 },
    payments_last_day: { failed: 4, paid: 7 },
    payouts: { held: { count: 1, cents: 550 } },
    payouts_last_day: { held: { count: 1, cents: 550 } },
  });
});

test('how deliveries went is read from those of the last day', async () => {
  const { result, rows, wholeReads } = await reading(database, TABLES, (s) => s.readDeliveryStats());
  expect(result).toMatchObject({ deliveries_per_hour: { last_hour: 1, last_day: 0.04 } });
  expect(wholeReads).toBe(0);
  expect(rows).toBeLessThan(MOST_ROWS_READ);
});

test('what is watched by the metrics is read from what is open', async () => {
  const watched = await reading(database, TABLES, (s) => s.readWatched());
  expect(watched).toMatchObject({
    result: { refundsMissing: 3, failedCharges: 4, webhooksDisabled: 0 },
    wholeReads: 0,
  });
  expect(watched.rows).toBeLessThan(MOST_ROWS_READ);
  const oldest = await reading(database, TABLES, (s) => s.readOldestWaiting());
  expect(oldest).toMatchObject({ result: expect.any(Number), wholeReads: 0 });
  expect(oldest.rows).toBeLessThan(MOST_ROWS_READ);
});

test('the failed charges of a store are found among those that are owed', async () => {
  const { result, rows, wholeReads } = await reading(database, TABLES, (s) => s.showRetailer(store.retailerId));
  expect(result).toMatchObject({ failed_charges: 4, waiting_orders: 2 });
  expect(wholeReads).toBe(0);
  expect(rows).toBeLessThan(MOST_ROWS_READ);
});

test('of failed jobs only charges and refunds have their order looked up', async () => {
  await database.sql`
    insert into outbox (queue, order_id, retailer_id, lease_until, done_at, failure_code)
    select case when n <= 20 then 'charge' else 'webhook' end, id, retailer_id, now(), now(), 'http_500'
    from (select id, retailer_id, row_number() over (order by id) as n from orders limit 1000) o`;
  const backlog = await reading(database, TABLES, (s) => s.readBacklog());
  expect(backlog.result.find(({ queue }) => queue === 'webhook')?.failed).toBe(980);
  const search = { status: null, since: null, until: null, text: null, retailerIds: null };
  const listed = await reading(database, TABLES, (s) => s.listFailedJobs(search, { limit: 10, after: null }));
  expect(listed.result.rows).toHaveLength(10);
  for (const { rows, wholeReads } of [backlog, listed]) {
    expect(wholeReads).toBe(0);
    expect(rows).toBeLessThan(MOST_ROWS_READ);
  }
});
