import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { migrateDatabase, pendingMigrations } from '../../src/postgres/migrate.ts';
import { migrateBeside } from '../../src/runtime/database.ts';
import type { Logger } from '../../src/telemetry.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { openTransaction, untilBlocked } from '../store/transaction.ts';

const INDEX = '0002_i.concurrent.sql';
let database: FreshDatabase;
let dir: string;
let lines: string[];

const write = (level: string) => (fields: object, message: string) => {
  lines.push([level, message, ...Object.values(fields).filter((value) => typeof value === 'string')].join(': '));
};
const logger = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') } as Logger;

beforeEach(async () => {
  database = await freshDatabase({ migrated: false });
  dir = mkdtempSync(join(tmpdir(), 'sameday-migrations-'));
  lines = [];
  writeFileSync(join(dir, '0001_a.sql'), 'create table a (n int); insert into a values (7), (7);');
  await migrateDatabase({ url: database.url, dir });
  writeFileSync(join(dir, INDEX), 'create unique index concurrently a_n on a (n);');
  // After the connections of the test, which are closed then, too.
  onTestFinished(async () => {
    rmSync(dir, { recursive: true, force: true });
    await database.drop();
  });
});

test('what a start leaves is made beside the service, and tried again where it fails', async () => {
  const stop = migrateBeside({ url: database.url, dir }, logger, 1);
  const failed = 'error: a migration beside the service failed; it is tried again: ';
  await expect.poll(() => lines).toContain(`${failed}${INDEX} could not be applied: 23505`);
  await database.sql`delete from a where ctid = (select max(ctid) from a)`;
  await expect.poll(() => lines.at(-1)).toBe(`info: the migrations beside the service are done: ${INDEX}`);
  await stop();
});

test('a stop does not wait for it, nor does its lock for its statement, and the next start goes on', async () => {
  await database.sql`delete from a`;
  const writer = await openTransaction(database);
  await writer.sql`insert into a values (1)`;
  const stop = migrateBeside({ url: database.url, dir }, logger);
  await untilBlocked(database);
  await stop();
  const builders = () => database.sql`
    select from pg_stat_activity where datname = current_database() and application_name = 'sameday migrate'`;
  await expect.poll(builders).toEqual([]);
  await writer.rollback();
  expect(await migrateDatabase({ url: database.url, dir })).toEqual([INDEX]);
  expect(await pendingMigrations(database.sql, { dir })).toMatchObject({ first: [], beside: [] });
  expect(lines.filter((line) => !line.startsWith('info'))).toEqual([]);
});
