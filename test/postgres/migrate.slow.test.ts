import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import { migrateDatabase, pendingMigrations } from '../../src/postgres/migrate.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { addOrder, addStoreRow, type TestStore } from '../harness/orders.ts';
import { openTransaction } from '../store/transaction.ts';

const ORDERS = 1_000_000;
const INDEX = '9002_index.concurrent.sql';
const ROWS = '9003_rows.concurrent.sql';

let database: FreshDatabase;
let dir: string;
let store: TestStore;
/** The service's connection: a statement of it that waits for any lock fails. */
let hasty: Sql;

beforeAll(async () => {
  database = await freshDatabase();
  dir = mkdtempSync(join(tmpdir(), 'sameday-migrations-'));
  cpSync(join(import.meta.dirname, '../../migrations'), dir, { recursive: true });
  store = await addStoreRow(database.sql);
  const sql = connect({ url: database.url, applicationName: 'test', max: 1, statementTimeoutMs: 0, deadlineMs: 0 });
  await sql`set session_replication_role = replica`;
  await sql`
    insert into orders (id, retailer_id, customer_id, dropoff_address_id, status, delivery_tier, delivery_fee_cents,
      driver_payout_cents, payment_status, sms_status, tracking_token, pickup_address, pickup_lat, pickup_lng,
      pickup_point_source, created_at, expires_at)
    select gen_random_uuid(), ${store.retailerId}::uuid, gen_random_uuid(), gen_random_uuid(), 'expired', 'standard',
      799, 550, 'not_charged', 'none', n::text, 'One Test Square', 37.7, -122.4, 'registered', now(), now()
    from generate_series(1, ${ORDERS}::int) n`;
  await sql.end({ timeout: 5 });
  hasty = connect({ url: database.url, applicationName: 'test', max: 1 });
  await hasty`set lock_timeout = '1ms'`;
});
afterAll(async () => {
  await hasty?.end({ timeout: 5 });
  rmSync(dir, { recursive: true, force: true });
  await database?.drop();
});

describe('with a million orders, and somebody who reads them for long', () => {
  const serves = async () => expect((await addOrder(hasty, store)).orderId).toBeTruthy();

  test('an ordinary migration leaves the table to the service between its attempts', async () => {
    writeFileSync(join(dir, '9001_column.sql'), 'alter table orders add column mark integer;');
    const reader = await openTransaction(database);
    await reader.sql`select from orders limit 1`;
    let pauses = 0;
    const pause = async () => {
      await serves();
      if (++pauses === 2) await reader.rollback();
    };
    expect(await migrateDatabase({ url: database.url, dir, pause })).toEqual(['9001_column.sql']);
    expect(pauses).toBe(2);
  });

  test('an index is built and rows are changed while the service goes on', async () => {
    writeFileSync(join(dir, INDEX), 'create index concurrently orders_mark on orders (mark) where mark is not null;');
    const reader = await openTransaction(database);
    // Its snapshot is older than the index, which therefore waits for its end.
    await reader.sql.unsafe('set transaction isolation level repeatable read; select from orders limit 1').simple();
    const index = migrateDatabase({ url: database.url, dir });
    const progress = async () => (await pendingMigrations(database.sql, { dir })).beside[0]?.progress;
    await expect.poll(progress).toContain('waiting for old snapshots');
    await serves();
    await reader.rollback();
    expect(await index).toEqual([INDEX]);

    writeFileSync(
      join(dir, ROWS),
      `update orders set mark = 1
where id in (select id from orders where mark is null and tracking_token like '%000' limit 100);`,
    );
    let steps = 0;
    const pause = async () => {
      steps += 1;
      await serves();
    };
    expect(await migrateDatabase({ url: database.url, dir, pause })).toEqual([ROWS]);
    expect(steps).toBe(10);
  });
});
