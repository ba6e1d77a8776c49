import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import { migrateDatabase, pendingMigrations } from '../../src/postgres/migrate.ts';
import { type Migration, readMigrations } from '../../src/postgres/migration-files.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { addOrder, addStoreRow, type TestStore } from '../harness/orders.ts';
import { RUN_MS } from '../harness/patience.ts';
import { findPostgis, type Postgis, startPostgis } from '../harness/postgis.ts';
import { openTransaction } from '../store/transaction.ts';
import { addStoreBefore, besideOrders, fillOrders } from './orders-before.ts';
import { MOST_ROWS, watchMigrations, whyStepsTooLong, whyTooLong } from './watched-migrations.ts';

const OURS = join(import.meta.dirname, '../../migrations');
/** A build before 0054 starts on no newer database, so that every later file comes while one of those goes on. */
const FIRST = 54;
const ORDERS = 1_000_000;
/** Rows of the other tables that grow with the orders: enough that whoever reads all of one is seen. */
const OTHERS = 2 * MOST_ROWS;
const INDEX = '9002_index.concurrent.sql';
const ROWS = '9003_rows.concurrent.sql';

let database: FreshDatabase;
let dir: string;

beforeAll(async () => {
  database = await freshDatabase({ migrated: false });
  dir = mkdtempSync(join(tmpdir(), 'sameday-migrations-'));
  for (const { id, name } of readMigrations(OURS)) if (id < FIRST) cpSync(join(OURS, name), join(dir, name));
  await migrateDatabase({ url: database.url, dir });
  await addStoreBefore(database.sql);
  await fillOrders(database.url, ORDERS, OTHERS);
  await watchMigrations(database.sql);
}, RUN_MS);
afterAll(async () => {
  rmSync(dir, { recursive: true, force: true });
  await database?.drop();
});

/** Applies the next files beside orders, and says how long one of these waited at most. */
async function migrateBeside(name: string, pause: () => Promise<void>): Promise<void> {
  const { orders, longestMs } = await besideOrders(database.url, async () => {
    expect(await migrateDatabase({ url: database.url, dir, pause })).toEqual([name]);
  });
  console.log(`${name}: of ${orders} orders, one waited for ${Math.round(longestMs)} ms`);
}

/** Applies a file beside orders; returns why one may wait for too long. */
async function reasonsOf({ name, beside }: Pick<Migration, 'name' | 'beside'>): Promise<string[]> {
  let steps = 0;
  await migrateBeside(name, async () => {
    steps += 1;
  });
  return beside === null ? whyTooLong(database.sql, name) : whyStepsTooLong(database.sql, name, steps);
}

/** As {@link reasonsOf}, of a file with this text. */
async function reasonsOfText(name: string, text: string): Promise<string[]> {
  writeFileSync(join(dir, name), text);
  return await reasonsOf({ name, beside: readMigrations(dir).at(-1)?.beside ?? null });
}

describe('with a million orders of the build before, which go on', () => {
  test('no file that ships keeps one waiting', async () => {
    const newer = readMigrations(OURS).filter(({ id }) => id >= FIRST);
    const reasons: string[] = [];
    for (const migration of newer) {
      cpSync(join(OURS, migration.name), join(dir, migration.name));
      reasons.push(...(await reasonsOf(migration)));
    }
    expect(newer).not.toEqual([]);
    expect(reasons).toEqual([]);
  });

  test.each([
    ['8001_index.sql', 'create index planted on orders (created_at);', / reads or writes \d{7} rows of orders$/],
    [
      '8002_rewrite.sql',
      'alter table payments add column planted text default gen_random_uuid()::text;',
      / reads or writes \d{5} rows of payments$/,
    ],
    ['8003_rows.sql', "update messages set status = 'failed';", / reads or writes \d{5} rows of messages$/],
    [
      '8004_tables.sql',
      'alter table orders add column planted int4; alter table payments add column other int4;',
      / locks orders and payments$/,
    ],
    [
      '8005_rows.concurrent.sql',
      'update payments set planted = null where planted is not null;',
      new RegExp(` changes ${OTHERS} rows in 1 steps$`),
    ],
  ])('%s, which may keep one waiting for long, is found', async (name, text, reason) => {
    expect(await reasonsOfText(name, text)).toEqual([expect.stringMatching(reason)]);
  });

  test.each([
    ['8006_column.sql', 'alter table orders add column mark int4 default 7;'],
    ['8007_index.concurrent.sql', 'create index concurrently planted_too on orders (tracking_token, created_at);'],
    [
      '8008_rows.concurrent.sql',
      `update orders set planted = 1
where id in (select id from orders where planted is null and tracking_token like '%00' limit 1000);`,
    ],
  ])('%s keeps none waiting', async (name, text) => {
    expect(await reasonsOfText(name, text)).toEqual([]);
  });
});

/** Postgres looks for tables to vacuum each second, and vacuums for minutes. */
const VACUUMS = { autovacuum_naptime: '1s', autovacuum_vacuum_cost_delay: '100ms', autovacuum_vacuum_cost_limit: 1 };

describe.runIf(findPostgis() !== undefined)('while Postgres itself vacuums the table', () => {
  test('a migration ends the vacuum, for which nothing else waits', async () => {
    const server = (await startPostgis(VACUUMS)) as Postgis;
    onTestFinished(() => server.stop());
    const sql = connect({ url: server.url, applicationName: 'test', max: 1 });
    onTestFinished(() => sql.end({ timeout: 5 }));
    const own = mkdtempSync(join(tmpdir(), 'sameday-vacuum-'));
    onTestFinished(() => rmSync(own, { recursive: true, force: true }));
    await sql`create table a as select n from generate_series(1, 100000) n`;
    await sql`delete from a where n % 2 = 0`;
    const vacuums = () => sql`
      select pid from pg_locks where relation = 'a'::regclass and mode = 'ShareUpdateExclusiveLock' and granted`;
    await expect.poll(async () => (await vacuums()).length, { timeout: RUN_MS }).toBe(1);
    writeFileSync(join(own, '0001_b.sql'), 'alter table a add column m int;');
    const pause = () => Promise.resolve();
    expect(await migrateDatabase({ url: server.url, dir: own, pause })).toEqual(['0001_b.sql']);
  });
});

describe('with a million orders, and somebody who reads them for long', () => {
  let store: TestStore;
  /** The service's connection: a statement of it that waits for any lock fails. */
  let hasty: Sql;
  beforeAll(async () => {
    cpSync(OURS, dir, { recursive: true });
    await migrateDatabase({ url: database.url, dir });
    store = await addStoreRow(database.sql);
    hasty = connect({ url: database.url, applicationName: 'test', max: 1 });
    await hasty`set lock_timeout = '1ms'`;
  });
  afterAll(() => hasty?.end({ timeout: 5 }));
  const serves = async () => expect((await addOrder(hasty, store)).orderId).toBeTruthy();

  test('an ordinary migration leaves the table to the service between its attempts', async () => {
    writeFileSync(join(dir, '9001_column.sql'), 'alter table orders add column late_mark integer;');
    const reader = await openTransaction(database);
    await reader.sql`select from orders limit 1`;
    let pauses = 0;
    const pause = async () => {
      await serves();
      if (++pauses === 2) await reader.rollback();
    };
    await migrateBeside('9001_column.sql', pause);
    expect(pauses).toBe(2);
  });

  test('an index is built and rows are changed while the service goes on', async () => {
    writeFileSync(
      join(dir, INDEX),
      'create index concurrently orders_late_mark on orders (late_mark) where late_mark is not null;',
    );
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
      `update orders set late_mark = 1
where id in (select id from orders where late_mark is null and tracking_token like '%000' limit 100);`,
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
