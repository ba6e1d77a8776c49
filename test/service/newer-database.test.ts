import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrateDatabase, pendingMigrations } from '../../src/postgres/migrate.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { newDataDir } from '../harness/service.ts';
import { startServiceHere } from '../harness/service-here.ts';
import { addFreeDriver, addStore, place } from './clients.ts';

const OURS = join(import.meta.dirname, '../../migrations');
const data = newDataDir();
/** The migrations of a later build. */
const later = join(data.dataDir, 'migrations');
let database: FreshDatabase;

beforeAll(async () => {
  database = await freshDatabase();
  cpSync(OURS, later, { recursive: true });
});
afterAll(async () => {
  await database.drop();
  data.remove();
});

/** The start of this build on the database as a later build leaves it. */
async function startAfter(name: string, text: string) {
  writeFileSync(join(later, name), text);
  await migrateDatabase({ url: database.url, dir: later });
  return startServiceHere({ DATABASE_URL: database.url, DATA_DIR: data.dataDir });
}

test('this build takes orders on the database of a later one whose migrations allow it', async () => {
  const service = await startAfter('9001_more.sql', 'alter table orders add column later_field text;');
  try {
    const store = await addStore(database.sql);
    await addFreeDriver(service, database.sql, store.point);
    expect((await place(service, store)).body.order).toMatchObject({ status: 'driver_assigned' });
    const pending = await pendingMigrations(database.sql, { dir: OURS });
    expect(pending).toEqual({ first: [], beside: [], endsBuildBefore: false, newer: '9001_more.sql' });
  } finally {
    await service.stop();
  }
});

test('this build is refused by the database of a later one that names a later oldest build', async () => {
  const starting = startAfter('9002_less.sql', '-- oldest: 9001\nalter table orders drop column later_field;');
  await expect(starting).rejects.toThrow(
    /^The database is newer than this version: it has 9002_less\.sql, which takes no build before 9001; this is \d{4}\. /,
  );
});
