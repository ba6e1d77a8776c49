import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import { migrateDatabase } from '../../src/postgres/migrate.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';

const MIGRATIONS = join(import.meta.dirname, '../../migrations');

/**
 * Functions that stand before Postgres's own in the path: the clock is a setting of the session, and a notice is
 * a row, so that whoever runs the statements decides when it is heard.
 */
const FUNCTIONS = `
  create table model_notices (id bigint generated always as identity, payload text not null);
  create function public.now() returns timestamptz language sql stable as $$
    select coalesce(to_timestamp(nullif(current_setting('model.now', true), '')::float8 / 1000), pg_catalog.now())
  $$;
  create function public.clock_timestamp() returns timestamptz language sql stable as $$ select public.now() $$;
  create function public.pg_notify(channel text, payload text) returns void language plpgsql as $$
    begin insert into public.model_notices (payload) values (payload); end
  $$;`;

const PATH = 'public, pg_catalog';

export type ModelDatabase = {
  /** One connection, so that statements run one after another. */
  readonly sql: Sql;
  /** Sets the clock of the database. */
  setNow(ms: number): void;
  /** Writes until when the right to plan is held. */
  extendLease(untilMs: number): void;
  /** The notices of what was committed since the last call, oldest first. */
  takeNotices(): Promise<string[]>;
  /** Removes every row but those of tiers, which are as the migrations made them. */
  empty(): Promise<void>;
  close(): Promise<void>;
};

/** A database with every migration, whose clock is set by hand. */
async function openModelDatabase(): Promise<ModelDatabase> {
  const fresh = await freshDatabase({ migrated: false, max: 1 });
  await prepare(fresh);
  const sql = connect({ url: fresh.url, applicationName: 'model', max: 1 });
  const script = `${(await emptyTables(sql)).map((name) => `delete from "${name}";`).join('\n')}
    delete from tiers; insert into tiers select * from tiers_made;`;
  let setMs = Number.NaN;
  return {
    sql,
    setNow(ms) {
      if (ms === setMs) return;
      setMs = ms;
      void sql`select set_config('model.now', ${String(ms)}, false)`.catch(() => undefined);
    },
    extendLease(untilMs) {
      void sql`update planner_leases set expires_at = to_timestamp(${untilMs}::float8 / 1000)`.catch(() => undefined);
    },
    async takeNotices() {
      const rows = await sql`delete from model_notices returning id, payload`;
      return rows.sort((a, b) => Number(a.id) - Number(b.id)).map(({ payload }) => payload as string);
    },
    async empty() {
      await sql.unsafe(script);
    },
    async close() {
      await sql.end({ timeout: 5 });
      await fresh.drop();
    },
  };
}

/** Opens one for a file of tests, and closes it after them. */
export function useModelDatabase(): () => ModelDatabase {
  let database: ModelDatabase;
  beforeAll(async () => {
    database = await openModelDatabase();
  });
  afterAll(() => database?.close());
  return () => database;
}

async function prepare({ url, sql }: FreshDatabase): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  await sql`alter database ${sql(name)} set search_path = ${sql.unsafe(PATH)}`;
  await sql.unsafe(FUNCTIONS);
  await migrateDatabase({ url, dir: MIGRATIONS });
  await sql.unsafe('create table tiers_made as select * from tiers; analyze');
}

/** The tables that are empty after the migrations. */
async function emptyTables(sql: Sql): Promise<string[]> {
  const tables = await sql`select relname as name from pg_stat_user_tables where schemaname = 'public' order by 1`;
  const names: string[] = [];
  for (const { name } of tables) {
    const [row] = await sql`select exists (select from ${sql(name)}) as has_rows`;
    if (!row?.has_rows) names.push(name);
  }
  return names;
}
