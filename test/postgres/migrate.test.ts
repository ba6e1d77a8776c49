import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { migrateDatabase, pendingMigrations } from '../../src/postgres/migrate.ts';
import { MigrationRefused } from '../../src/postgres/migration-files.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { openTransaction, untilBlocked } from '../store/transaction.ts';

const OURS = join(import.meta.dirname, '../../migrations');
let database: FreshDatabase;
let dir: string;

beforeEach(async () => {
  database = await freshDatabase({ migrated: false });
  dir = mkdtempSync(join(tmpdir(), 'sameday-migrations-'));
  // After the connections of the test, which are closed then, too.
  onTestFinished(async () => {
    rmSync(dir, { recursive: true, force: true });
    await database.drop();
  });
});

const file = (name: string, text: string): void => writeFileSync(join(dir, name), text);
const run = (): Promise<string[]> => migrateDatabase({ url: database.url, dir });

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

  it('takes a newer database that allows this build, and names the oldest build of one that does not', async () => {
    file('0001_a.sql', 'create table a (n int);');
    file('0054_b.sql', 'alter table schema_migrations add column oldest integer not null default 54;');
    await run();
    file('0055_c.sql', 'create table c (n int);');
    file('0056_d.sql', '-- What it is.\n-- oldest: 0055\ncreate table d (n int); -- no more');
    expect(await pendingMigrations(database.sql, { dir })).toMatchObject({
      first: ['0055_c.sql', '0056_d.sql'],
      endsBuildBefore: true,
    });
    await run();
    rmSync(join(dir, '0056_d.sql'));
    expect(await run()).toEqual([]);
    rmSync(join(dir, '0055_c.sql'));
    await expect(run()).rejects.toThrow(
      'it has 0056_d.sql, which takes no build before 0055; this is 0054. Start the newer version.',
    );
    await database.sql`delete from schema_migrations where id = 56`;
    expect(await run()).toEqual([]);
  });

  it('refuses a file that names its oldest build by anything but a number up to its own', async () => {
    for (const said of ['55', '0056', 'the last', '']) {
      file('0055_a.sql', `-- oldest: ${said}`);
      await expect(run()).rejects.toThrow(
        /0055_a\.sql must name its oldest build by four digits, up to its own number/,
      );
    }
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

describe('the lock of a migration', () => {
  it('is let go while it cannot be had, so that the statements behind it run, and is tried for again', async () => {
    file('0001_a.sql', 'create table a (n int);');
    await run();
    file('0002_b.sql', 'alter table a add column m int;');
    const reader = await openTransaction(database);
    await reader.sql`select from a`;
    let pauses = 0;
    const pause = async () => {
      // Nobody waits for the table meanwhile: whoever did would be in its way.
      await database.sql.unsafe("set lock_timeout = '1ms'; select from a; reset lock_timeout").simple();
      if (++pauses === 3) await reader.commit();
    };
    expect(await migrateDatabase({ url: database.url, dir, pause })).toEqual(['0002_b.sql']);
    expect(pauses).toBe(3);
  });

  it('is not waited for without end, and the transaction in its way is named', async () => {
    file('0001_a.sql', 'create table a (n int);');
    await run();
    file('0002_b.sql', 'alter table a add column m int;');
    const reader = await openTransaction(database);
    await reader.sql`select from a`;
    const [{ pid } = { pid: 0 }] = await reader.sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
    const pause = () => Promise.resolve();
    const refused = expect(migrateDatabase({ url: database.url, dir, pause, tries: 2 })).rejects;
    await refused.toThrow(`The oldest transaction is that of process ${pid} (other)`);
  });
});

describe('a concurrent migration', () => {
  const INDEX = '0002_i.concurrent.sql';
  const BACKFILL = `-- Two rows a step.
update a set m = n where n in (select n from a where m is null limit 2);`;
  const isValid = async () =>
    (await database.sql`select indisvalid from pg_index where indexrelid = to_regclass('a_n')`)[0]?.indisvalid;
  beforeEach(async () => {
    file('0001_a.sql', 'create table a (n int, m int); insert into a select generate_series(1, 7);');
    await run();
  });

  it('builds an index while rows are written, and other migrators wait for it outside of a statement', async () => {
    file(INDEX, 'create index concurrently a_n on a (n);');
    const writer = await openTransaction(database);
    await writer.sql`insert into a values (8)`;
    const waits: string[] = [];
    const tell = (line: string) => waits.push(line);
    const runs = Promise.all([1, 2, 3].map(() => migrateDatabase({ url: database.url, dir, tell })));
    await untilBlocked(database);
    await expect.poll(() => waits.filter((line) => line === `Another process is at work on ${INDEX}`).length).toBe(2);
    expect(await pendingMigrations(database.sql, { dir })).toMatchObject({
      first: [],
      beside: [{ name: INDEX, progress: expect.stringMatching(/^waiting for writers before build/) }],
    });
    await database.sql`insert into a values (9)`;
    await writer.commit();
    expect((await runs).flat()).toEqual([INDEX]);
    expect(await isValid()).toBe(true);
  });

  it('drops an index that was left half built, and builds it again', async () => {
    await database.sql`insert into a values (7)`;
    file(INDEX, 'create unique index concurrently a_n on a (n);');
    await expect(run()).rejects.toThrow('0002_i.concurrent.sql could not be applied: 23505');
    expect(await isValid()).toBe(false);
    await database.sql`delete from a where ctid = (select max(ctid) from a)`;
    expect(await run()).toEqual([INDEX]);
    expect(await isValid()).toBe(true);
  });

  it('takes an index that was built before its process could say so', async () => {
    await database.sql`create index a_n on a (n)`;
    file(INDEX, 'create index concurrently a_n on a (n);');
    expect(await run()).toEqual([INDEX]);
  });

  it('changes rows step by step, goes on where it was left, and says how far it is', async () => {
    file('0002_m.concurrent.sql', BACKFILL);
    const progress: unknown[] = [];
    const stop = new AbortController();
    const pause = async () => {
      const { beside } = await pendingMigrations(database.sql, { dir });
      progress.push(beside[0]?.progress);
      if (progress.length === 2) stop.abort();
    };
    const first = migrateDatabase({ url: database.url, dir, pause, stop: stop.signal });
    await expect(first).rejects.toThrow('0002_m.concurrent.sql could not be applied');
    expect(await database.sql`select from a where m is null`).toHaveLength(3);
    expect(await migrateDatabase({ url: database.url, dir, pause })).toEqual(['0002_m.concurrent.sql']);
    expect(await database.sql`select from a where m is distinct from n`).toHaveLength(0);
    expect(progress).toEqual(['0 rows', '2 rows', '0 rows', '2 rows']);
  });

  it('has its own settings, whatever those of the connection', async () => {
    file('0002_s.sql', 'alter table a add column timeout text, add column presence text;');
    file(
      '0003_s.concurrent.sql',
      `update a set timeout = current_setting('statement_timeout'),
         presence = current_setting('client_connection_check_interval') where timeout is null;`,
    );
    await migrateDatabase({ url: `${database.url}?statement_timeout=4500`, dir });
    expect(await database.sql`select distinct timeout, presence from a`).toEqual([{ timeout: '2h', presence: '1s' }]);
  });

  it('is recorded with its oldest build at once', async () => {
    await database.sql.unsafe(`
      alter table schema_migrations add column oldest integer not null default 54;
      create function refuse() returns trigger language plpgsql as $$ begin raise 'written twice'; end $$;
      create trigger refuse before update on schema_migrations for each row execute function refuse()`);
    file('0055_i.concurrent.sql', '-- oldest: 0055\ncreate index concurrently a_n on a (n);');
    expect(await run()).toEqual(['0055_i.concurrent.sql']);
    expect(await database.sql`select oldest from schema_migrations where id = 55`).toEqual([{ oldest: 55 }]);
  });

  it('tries a step again that does not get its rows', async () => {
    file('0002_m.concurrent.sql', BACKFILL);
    const writer = await openTransaction(database);
    await writer.sql`update a set n = n`;
    let pauses = 0;
    const pause = async () => {
      if (++pauses === 2) await writer.rollback();
    };
    expect(await migrateDatabase({ url: database.url, dir, pause })).toEqual(['0002_m.concurrent.sql']);
    expect(await database.sql`select from a where m is null`).toHaveLength(0);
  });

  it('is left to the service where no other file follows it, and only then', async () => {
    file(INDEX, 'create index concurrently a_n on a (n);');
    const left: string[] = [];
    const leave = (names: readonly string[]) => left.push(...names);
    expect(await migrateDatabase({ url: database.url, dir, leave })).toEqual([]);
    expect(left).toEqual([INDEX]);
    file('0003_b.sql', 'create table b (n int);');
    expect(await pendingMigrations(database.sql, { dir })).toMatchObject({ first: [INDEX, '0003_b.sql'], beside: [] });
    expect(await migrateDatabase({ url: database.url, dir, leave })).toEqual([INDEX, '0003_b.sql']);
  });

  it.each([
    'create index a_n on a (n);',
    'create index concurrently on a (n);',
    'create index concurrently a_n on a (n); select 1;',
    'select 1;',
    '',
  ])('refuses a file that is not of its form: %s', async (text) => {
    file(INDEX, text);
    await expect(run()).rejects.toThrow(`${INDEX} is not one statement`);
  });
});
