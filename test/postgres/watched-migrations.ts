import { below } from '../../src/limits.ts';
import type { Sql } from '../../src/postgres/connect.ts';
import { MIGRATION_LOCK_TIMEOUT_MS } from '../../src/postgres/migrate.ts';

/** Longest wait of an order for a migration, as docs/deploy.md promises: one that is longer is noticed at a till. */
const MOST_LOCKED_MS = 1_000;
/** Most tables that a file keeps from their writers. It may wait for each while it holds those before. */
const MOST_TABLES_LOCKED = 1;
/**
 * Most rows of a table that a file, or a step of a concurrent one, reads and writes. Busy cores do that in the half
 * second that the wait for the lock leaves.
 */
export const MOST_ROWS = 10_000;

below({ LOCKS_WAITED_FOR_MS: MOST_TABLES_LOCKED * MIGRATION_LOCK_TIMEOUT_MS }, { MOST_LOCKED_MS });

/**
 * Has each migration write down what it did, in its own transaction: the rows that it read and wrote, by table, and the
 * tables that it locked. Unlike times, these are the same on any machine.
 */
export async function watchMigrations(sql: Sql): Promise<void> {
  await sql.unsafe(`
    create table watched (name text, session text, tables oid[], rows jsonb, locked text[]);
    create function watch() returns trigger language plpgsql as $$ begin
      -- What a parallel worker reads is not counted here.
      perform set_config('max_parallel_workers_per_gather', '0', true),
        set_config('max_parallel_maintenance_workers', '0', true);
      insert into watched select new.name, current_setting('application_name'),
        array_agg(oid) from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace
        and oid <> 'schema_migrations'::regclass;
      return null;
    end $$;
    -- The row is the first that a file inserts.
    create trigger watch after insert on schema_migrations for each row execute function watch();
    create function watch_end() returns trigger language plpgsql as $$ begin
      update watched set
        rows = (select jsonb_object_agg(relname, seq_tup_read + coalesce(idx_tup_fetch, 0) + n_tup_ins + n_tup_upd
          + n_tup_del) from pg_stat_xact_user_tables),
        locked = (select coalesce(array_agg(distinct relation::regclass::text), '{}') from pg_locks
          where pid = pg_backend_pid() and relation = any(new.tables)
          and mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'))
      where name = new.name;
      return null;
    end $$;
    -- At the commit, when all is done and nothing is unlocked yet.
    create constraint trigger watch_end after insert on watched deferrable initially deferred
      for each row execute function watch_end()`);
}

/** Why an ordinary migration that was watched may keep an order waiting for longer than MOST_LOCKED_MS. */
export async function whyTooLong(sql: Sql, name: string): Promise<string[]> {
  const { rows, locked } = await readWatched(sql, name);
  const large = Object.entries(rows).filter(([, count]) => count > MOST_ROWS);
  return [
    ...large.map(([table, count]) => `${name} reads or writes ${count} rows of ${table}`),
    ...(locked.length > MOST_TABLES_LOCKED ? [`${name} locks ${locked.join(' and ')}`] : []),
  ];
}

/** The same of a concurrent migration, which took so many steps: none of an index, which keeps nobody waiting. */
export async function whyStepsTooLong(sql: Sql, name: string, steps: number): Promise<string[]> {
  const { session } = await readWatched(sql, name);
  const rows = Number(/: (\d+) rows$/.exec(session)?.[1] ?? 0);
  return rows > steps * MOST_ROWS ? [`${name} changes ${rows} rows in ${steps} steps`] : [];
}

type Watched = { session: string; rows: Record<string, number>; locked: string[] };

async function readWatched(sql: Sql, name: string): Promise<Watched> {
  const [row] = await sql<Watched[]>`select session, rows, locked from watched where name = ${name}`;
  if (row === undefined) throw new Error(`${name} was not watched`);
  return row;
}
