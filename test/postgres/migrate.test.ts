import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MigrationRefused, migrate, migrateDatabase } from '../../src/postgres/migrate.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';

const OURS = join(import.meta.dirname, '../../migrations');
let database: FreshDatabase;
let dir: string;

beforeEach(async () => {
  database = await freshDatabase({ migrated: false });
  dir = mkdtempSync(join(tmpdir(), 'sameday-migrations-'));
});
afterEach(async () => {
  rmSync(dir, { recursive: true, force: true });
  await database.drop();
});

const file = (name: string, text: string): void => writeFileSync(join(dir, name), text);
const run = (): Promise<string[]> => migrate(database.sql, { dir });

describe('migrate', () => {
  it('applies the files in order, each once', async () => {
    file('0001_a.sql', 'create table a (n int); insert into a values (1);');
    file('0002_b.sql', 'alter table a add column m int default 2;');
    expect(await run()).toEqual(['0001_a.sql', '0002_b.sql']);
    expect(await run()).toEqual([]);
    file('0003_c.sql', 'update a set n = 3;');
    expect(await run()).toEqual(['0003_c.sql']);
    expect(await database.sql`select n, m from a`).toMatchObject([{ n: 3, m: 2 }]);
  });

  it('leaves nothing of a file that fails, and goes on once the file is corrected', async () => {
    file('0001_a.sql', 'create table a (n int); create table b (n int); insert into nowhere values (1);');
    await expect(run()).rejects.toThrow(/0001_a\.sql could not be applied: .*nowhere.*42P01/);
    expect(await database.sql`select to_regclass('a') as a`).toMatchObject([{ a: null }]);
    expect(await database.sql`select 1 from schema_migrations`).toHaveLength(0);
    file('0001_a.sql', 'create table a (n int);');
    expect(await run()).toEqual(['0001_a.sql']);
  });

  it('does not quote stored data when a file fails on it', async () => {
    file('0001_a.sql', "create table a (n text); insert into a values ('+15550001111');");
    await run();
    file('0002_b.sql', 'alter table a alter n type uuid using n::uuid;');
    const error = await run().catch((reason: unknown) => reason as Error);
    expect(String(error)).toContain('22P02');
    expect(String(error)).not.toContain('15550001111');
  });

  it('refuses a file that was changed after it was applied', async () => {
    file('0001_a.sql', 'create table a (n int);');
    await run();
    file('0001_a.sql', 'create table a (n int, m int);');
    await expect(run()).rejects.toThrow(/0001_a\.sql was changed after it was applied/);
  });

  it('accepts other line endings as the same file', async () => {
    file('0001_a.sql', 'create table a\n(n int);\n');
    await run();
    file('0001_a.sql', 'create table a\r\n(n int);\r\n');
    expect(await run()).toEqual([]);
  });

  it('refuses a database that is newer than the files', async () => {
    file('0001_a.sql', 'create table a (n int);');
    file('0002_b.sql', 'create table b (n int);');
    await run();
    rmSync(join(dir, '0002_b.sql'));
    await expect(run()).rejects.toThrow(/newer than this version: it has 0002_b\.sql/);
  });

  it('refuses a missing file, a number below an applied one, two of one number and a wrong name', async () => {
    file('0002_b.sql', 'select 1;');
    await run();
    file('0001_a.sql', 'select 1;');
    await expect(run()).rejects.toThrow(/0001_a\.sql has a lower number than 0002_b\.sql/);
    rmSync(join(dir, '0001_a.sql'));
    rmSync(join(dir, '0002_b.sql'));
    file('0003_c.sql', 'select 1;');
    await expect(run()).rejects.toThrow(/0002_b\.sql was applied .* missing/);
    file('0003_d.sql', 'select 1;');
    await expect(run()).rejects.toThrow(/0003_c\.sql and 0003_d\.sql have one number/);
    file('four.sql', 'select 1;');
    await expect(run()).rejects.toBeInstanceOf(MigrationRefused);
  });

  it('lets one of several migrators at the same moment apply each file', async () => {
    for (let n = 1; n <= 5; n++) file(`000${n}_t.sql`, `create table t${n} (n int); select pg_sleep(0.02);`);
    const runs = await Promise.all([1, 2, 3, 4].map(() => migrateDatabase({ url: database.url, dir })));
    const names = runs.flat().sort();
    expect(names).toEqual([1, 2, 3, 4, 5].map((n) => `000${n}_t.sql`));
  });

  it("builds the service's own schema from nothing, and then has nothing to do", async () => {
    const applied = await migrateDatabase({ url: database.url, dir: OURS });
    expect(applied.length).toBeGreaterThan(0);
    expect(await migrateDatabase({ url: database.url, dir: OURS })).toEqual([]);
    expect(await database.sql`select to_regclass('orders')::text as orders`).toMatchObject([{ orders: 'orders' }]);
  });
});
