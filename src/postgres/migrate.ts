import { setTimeout as sleep } from 'node:timers/promises';
import { QUERY_DEADLINE_MS, STATEMENT_TIMEOUT_MS } from '../limits.ts';
import {
  applyBeside,
  CONCURRENT_STATEMENT_MS,
  isLockFailure,
  type Pause,
  readProgress,
  type Told,
} from './concurrent-migration.ts';
import { connect, type Sql } from './connect.ts';
import { withDeadline } from './deadline.ts';
import { type Beside, type Migration, MigrationRefused, readMigrations } from './migration-files.ts';

/** Longest statement of a migration, which may rewrite a table. */
const MIGRATION_STATEMENT_TIMEOUT_MS = 10 * 60_000;
/**
 * Longest wait of a migration for the lock on a table. The statements of the service wait behind it meanwhile, so
 * that no reader of the table, however long, keeps them from it for a second.
 */
export const MIGRATION_LOCK_TIMEOUT_MS = 500;
/**
 * Longest wait for a vacuum that Postgres itself makes of a table: above its `deadlock_timeout` of 1 s, after which
 * such a vacuum ends for whoever waits for it.
 */
const MIGRATION_VACUUM_WAIT_MS = 1_500;
/** Pause after a lock that was not to be had, in which the statements that waited behind it run. */
const MIGRATION_LOCK_PAUSE_MS = 1_500;
/** Most attempts at a file's locks: with their pauses 2 minutes, and up to 4 where a vacuum does not end. */
const MIGRATION_TRIES = 60;
/** Longest wait for another migrator at work on the same database. */
const MIGRATION_WAIT_MS = 60_000;

/**
 * Number of the migrators' advisory lock: "same" in ASCII. Any number will do if all versions use the same.
 */
const ADVISORY_LOCK = 0x73616d65;
/** The oldest build of a file that does not name one: the first that starts on a newer database, see migration 0054. */
const FIRST_WITH_OLDEST = 54;

/** `oldest` is null where no build before the file's own may start. */
type Applied = Pick<Migration, 'id' | 'name' | 'sha256' | 'oldest'>;

/**
 * Applies the files of `dir` (`0001_name.sql`, …) that are not applied yet, in order, forward only, on connections
 * of its own.
 *
 * A file and its row in `schema_migrations` are sent as one message, which Postgres runs as one transaction:
 * a lost connection leaves all of it or nothing. The row is inserted first, under a lock, so that one of
 * several migrators applies a file and the others go on after it. A file must not contain `begin`, `commit`
 * or a statement that cannot run in a transaction; `0001_name.concurrent.sql` holds one that does, see
 * {@link applyBeside}.
 *
 * A database that has files which `dir` has not is newer. It is taken as it is where each of them allows the
 * build that ends with the newest file of `dir`.
 *
 * @returns the names of the files applied now
 * @throws MigrationRefused if an applied file was changed or is missing, if the database is newer and does not
 *   allow this build, or if a file fails
 */
export async function migrateDatabase(options: {
  readonly url: string;
  /** See `connect`. */
  readonly socket?: string;
  readonly dir: string;
  /** Is handed the concurrent files that no other file follows, which are then not run; without it they are. */
  readonly leave?: (names: readonly string[]) => void;
  /** Says how a concurrent file goes on. */
  readonly tell?: (line: string) => void;
  /** Ends the connections, and with them the work. */
  readonly stop?: AbortSignal;
  /** For tests. */
  readonly pause?: Pause;
  readonly tries?: number;
}): Promise<string[]> {
  const { url, socket, dir, tell = () => undefined, pause = sleep, tries = MIGRATION_TRIES } = options;
  const place = { url, ...(socket === undefined ? {} : { socket }), max: 1, applicationName: 'sameday migrate' };
  const sql = connect({ ...place, statementTimeoutMs: CONCURRENT_STATEMENT_MS });
  const watch = connect(place);
  const end = (timeout: number) => Promise.all([sql.end({ timeout }), watch.end({ timeout })]);
  const abort = () => void end(0);
  options.stop?.addEventListener('abort', abort, { once: true });
  try {
    return await migrate({ sql, watch, dir, leave: options.leave, told: { tell, pause }, tries });
  } finally {
    options.stop?.removeEventListener('abort', abort);
    await end(1);
  }
}

async function migrate({ sql, watch, dir, leave, told, tries }: Migrator): Promise<string[]> {
  const migrations = readMigrations(dir);
  // With its own deadline: a database that is not there is told at once, and not after that of a long change.
  await withDeadline(sql`select 1`, QUERY_DEADLINE_MS);
  await send(
    sql,
    `create table if not exists schema_migrations (
      id integer primary key, name text not null, sha256 text not null, applied_at timestamptz not null default now()
    )`,
  );
  const done: string[] = [];
  for (;;) {
    const next = nextMigration(migrations, await readApplied(sql));
    if (next === undefined) return done;
    const last = lastOnes(migrations.slice(migrations.indexOf(next)));
    if (leave !== undefined && last.includes(next)) {
      leave(last.map(({ name }) => name));
      return done;
    }
    const refuse = (error: unknown) => Promise.reject(refusal(next, error));
    const isOurs = isBeside(next)
      ? await applyBeside(sql, watch, next, told).catch(refuse)
      : await applyPatiently(sql, next, told.pause, tries);
    if (isOurs) done.push(next.name);
  }
}

type Migrator = {
  readonly sql: Sql;
  readonly watch: Sql;
  readonly dir: string;
  readonly leave: ((names: readonly string[]) => void) | undefined;
  readonly told: Told;
  readonly tries: number;
};

const isBeside = (migration: Migration): migration is Migration & { beside: Beside } => migration.beside !== null;

/** The concurrent files that no other file follows: a start does not wait for them. */
function lastOnes(migrations: readonly Migration[]): Migration[] {
  const ordinary = migrations.findLastIndex(({ beside }) => beside === null);
  return migrations.slice(ordinary + 1);
}

/** What the next start will do: apply files, and run others while the service serves, with how far that is. */
type Pending = {
  readonly first: readonly string[];
  readonly beside: readonly { readonly name: string; readonly progress: string | null }[];
  /** Whether the build that ends with the newest migration applied so far does not start on them. */
  readonly endsBuildBefore: boolean;
  /** The newest file of a later build on this database, which takes this build; null where there is none. */
  readonly newer: string | null;
};

/**
 * The files that are not applied yet.
 *
 * @throws MigrationRefused where the next start will refuse, see {@link migrateDatabase}
 */
export async function pendingMigrations(sql: Sql, { dir }: { readonly dir: string }): Promise<Pending> {
  const migrations = readMigrations(dir);
  const [row] = await sql`select to_regclass('schema_migrations') is not null as there`;
  const applied = row?.there === true ? await readApplied(sql) : [];
  nextMigration(migrations, applied);
  const seen = new Set(applied.map(({ id }) => id));
  const pending = migrations.filter(({ id }) => !seen.has(id));
  const last = lastOnes(pending);
  const beside: { name: string; progress: string | null }[] = [];
  for (const migration of last) beside.push({ name: migration.name, progress: await readProgress(sql, migration) });
  const before = applied.at(-1)?.id;
  const endsBuildBefore = before !== undefined && pending.some(({ oldest }) => before < (oldest ?? FIRST_WITH_OLDEST));
  const first = pending.filter((migration) => !last.includes(migration)).map(({ name }) => name);
  const newest = applied.at(-1);
  const isOurs = newest === undefined || migrations.some(({ id }) => id === newest.id);
  return { first, beside, endsBuildBefore, newer: isOurs ? null : newest.name };
}

/** Whether this user may add to the schema and change its tables, which take rights of their owner. */
export async function mayMigrate(sql: Sql): Promise<boolean> {
  const [row] = await sql`
    select has_schema_privilege(current_schema(), 'create') and coalesce(
      (select pg_has_role(relowner, 'usage') from pg_class where oid = to_regclass('schema_migrations')), true) as may`;
  return row?.may === true;
}

async function readApplied(sql: Sql): Promise<Applied[]> {
  // The column is missing before migration 0054.
  return await sql<Applied[]>`
    select id, name, sha256, (to_jsonb(m) ->> 'oldest')::int4 as oldest from schema_migrations m order by id`;
}

/** The first file that is not applied; undefined if all are. */
function nextMigration(migrations: readonly Migration[], applied: readonly Applied[]): Migration | undefined {
  const byId = new Map(migrations.map((migration) => [migration.id, migration]));
  const newestKnown = migrations.at(-1);
  for (const { id, name, sha256, oldest } of applied) {
    const file = byId.get(id);
    if (file === undefined && newestKnown !== undefined && id > newestKnown.id) {
      if (oldest !== null && newestKnown.id >= oldest) continue;
      throw new MigrationRefused(whyTooOld(name, oldest, newestKnown.id));
    }
    if (file === undefined) throw new MigrationRefused(`${name} was applied to the database, but its file is missing.`);
    if (file.sha256 !== sha256) {
      throw new MigrationRefused(`${file.name} was changed after it was applied. Restore it and change by a new file.`);
    }
  }
  const newestApplied = applied.at(-1);
  const seen = new Set(applied.map(({ id }) => id));
  const next = migrations.find(({ id }) => !seen.has(id));
  if (next !== undefined && newestApplied !== undefined && next.id < newestApplied.id) {
    throw new MigrationRefused(`${next.name} has a lower number than ${newestApplied.name}, which is applied already.`);
  }
  return next;
}

function whyTooOld(name: string, oldest: number | null, own: number): string {
  const named = `The database is newer than this version: it has ${name}`;
  if (oldest === null) return `${named}. Start the newer version.`;
  const builds = `takes no build before ${numbered(oldest)}; this is ${numbered(own)}`;
  return `${named}, which ${builds}. Start the newer version.`;
}

const numbered = (id: number): string => String(id).padStart(4, '0');

/**
 * Applies a file, again where it lost a deadlock or did not get its locks in time: it left nothing.
 *
 * @returns false if another migrator has applied it meanwhile
 */
async function applyPatiently(sql: Sql, migration: Migration, pause: Pause, most: number): Promise<boolean> {
  const { id, name, sha256, text, oldest } = migration;
  // Nothing to escape: the name matches FILE_NAME, and the checksum is hexadecimal.
  const record = `insert into schema_migrations (id, name, sha256) values (${id}, '${name}', '${sha256}');`;
  // Afterwards, because 0054 makes the column.
  const named = oldest === null ? '' : `\n;update schema_migrations set oldest = ${oldest} where id = ${id}`;
  for (let tries = 1; ; tries++) {
    try {
      await send(sql, `${tries === 1 ? '' : END_VACUUMS}${record}\n${text}${named}`);
      return true;
    } catch (error) {
      const { code, constraint_name } = error as { code?: string; constraint_name?: string };
      if (code === '23505' && constraint_name === 'schema_migrations_pkey') return false;
      if (!isLockFailure(error)) throw refusal(migration, error);
      if (tries === most) throw await lockedOut(sql, migration, tries, error);
    }
    await pause(MIGRATION_LOCK_PAUSE_MS);
  }
}

function refusal({ name }: Migration, error: unknown): MigrationRefused {
  if (error instanceof MigrationRefused) return error;
  const { code, message } = error as { code?: string; message: string };
  // Messages of class 42 hold names of the schema; others may quote stored data.
  const reason = code?.startsWith('42') ? `${message} (${code})` : code;
  return new MigrationRefused(`${name} could not be applied: ${reason}`, { cause: error });
}

/** Names the transaction that is open for longest, which mostly holds what is missing. */
async function lockedOut(sql: Sql, { name }: Migration, tries: number, cause: unknown): Promise<MigrationRefused> {
  const [oldest] = await sql`
    select pid, application_name, extract(epoch from clock_timestamp() - xact_start)::int4 as seconds
    from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null
    order by xact_start limit 1`;
  const whose = oldest && `process ${oldest.pid} (${oldest.application_name}), open for ${oldest.seconds} s`;
  const who = whose ? ` The oldest transaction is that of ${whose}.` : '';
  return new MigrationRefused(
    `${name} did not get the lock on a table in ${tries} attempts. End what holds it, and start again.${who}`,
    { cause },
  );
}

/**
 * Ends Postgres' own vacuums of this schema's tables, and keeps them away to the end of the transaction: they go on
 * for longer than a file waits for its table. Readers and writers do not wait for this lock, nor behind it. A vacuum
 * that somebody asked for, or one against wraparound, does not end and is left. The order of the tables is random, so
 * that such a one does not hide others in each attempt.
 */
const END_VACUUMS = `set local lock_timeout = ${MIGRATION_VACUUM_WAIT_MS};
do $$ declare vacuumed regclass; began timestamptz := clock_timestamp(); begin
  for vacuumed in
    select c.oid::regclass from pg_locks l join pg_class c on c.oid = l.relation
    join pg_namespace n on n.oid = c.relnamespace and n.nspname = current_schema()
    where l.mode = 'ShareUpdateExclusiveLock' and l.granted and l.pid <> pg_backend_pid() and c.relkind = 'r'
      and pg_has_role(c.relowner, 'usage')
      and l.database = (select oid from pg_database where datname = current_database())
    order by random()
  loop
    exit when clock_timestamp() > began + interval '${MIGRATION_VACUUM_WAIT_MS} ms';
    begin
      execute format('lock table %s in share update exclusive mode', vacuumed);
    exception when lock_not_available or undefined_table then null;
    end;
  end loop;
end $$;
set local lock_timeout = ${MIGRATION_LOCK_TIMEOUT_MS};
`;

/** Several statements in one message are one transaction (PostgreSQL manual, 54.2.2.1). */
async function send(sql: Sql, statements: string): Promise<void> {
  const message = `set local lock_timeout = ${MIGRATION_WAIT_MS}; set local statement_timeout = ${MIGRATION_WAIT_MS};
select pg_advisory_xact_lock(${ADVISORY_LOCK});
set local lock_timeout = ${MIGRATION_LOCK_TIMEOUT_MS}; set local statement_timeout = ${MIGRATION_STATEMENT_TIMEOUT_MS};
${statements}`;
  await withDeadline(sql.unsafe(message), MIGRATION_WAIT_MS + MIGRATION_STATEMENT_TIMEOUT_MS + STATEMENT_TIMEOUT_MS);
}
