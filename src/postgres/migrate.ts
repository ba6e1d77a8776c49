import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { STATEMENT_TIMEOUT_MS } from '../limits.ts';
import { connect, type Sql } from './connect.ts';
import { withDeadline } from './deadline.ts';

/** Longest statement of a migration, which may rewrite a table. */
const MIGRATION_STATEMENT_TIMEOUT_MS = 10 * 60_000;
/** Most attempts of a migration that loses a deadlock with statements at work, or does not get its locks in time. */
const MIGRATION_TRIES = 5;
/** Longest wait of a migration for the lock on a table; statements queue up behind it meanwhile. */
const MIGRATION_LOCK_TIMEOUT_MS = 10_000;
/** Longest wait for another migrator at work on the same database. */
const MIGRATION_WAIT_MS = 60_000;

/**
 * Number of the migrators' advisory lock: "same" in ASCII. Any number will do if all versions use the same.
 */
const ADVISORY_LOCK = 0x73616d65;
const FILE_NAME = /^(\d{4})_[a-z0-9_-]+\.sql$/;

type Migration = { readonly id: number; readonly name: string; readonly text: string; readonly sha256: string };
type Applied = { readonly id: number; readonly name: string; readonly sha256: string };

/** A database and a folder of migrations do not fit together. The message is for the operator. */
export class MigrationRefused extends Error {
  override readonly name = 'MigrationRefused';
}

/**
 * Migrates a database on a connection of its own, with time-outs long enough to rewrite a table.
 *
 * @returns the names of the files applied now
 * @throws MigrationRefused, see {@link migrate}
 */
export async function migrateDatabase(options: { readonly url: string; readonly dir: string }): Promise<string[]> {
  const sql = connect({
    url: options.url,
    max: 1,
    applicationName: 'sameday migrate',
    statementTimeoutMs: MIGRATION_STATEMENT_TIMEOUT_MS,
  });
  try {
    return await migrate(sql, options);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/**
 * Applies the files of `dir` (`0001_name.sql`, …) that are not applied yet, in order, forward only.
 *
 * A file and its row in `schema_migrations` are sent as one message, which Postgres runs as one transaction:
 * a lost connection leaves all of it or nothing. The row is inserted first, under a lock, so that one of
 * several migrators applies a file and the others go on after it. A file must not contain `begin`, `commit`
 * or a statement that cannot run in a transaction.
 *
 * @returns the names of the files applied now
 * @throws MigrationRefused if an applied file was changed or is missing, if the database is newer than the
 *   files, or if a file fails
 */
export async function migrate(sql: Sql, { dir }: { readonly dir: string }): Promise<string[]> {
  const migrations = readMigrations(dir);
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
    if (await applyPatiently(sql, next)) done.push(next.name);
  }
}

/**
 * The names of the files that the next start will apply.
 *
 * @throws MigrationRefused where it will refuse, see {@link migrate}
 */
export async function pendingMigrations(sql: Sql, { dir }: { readonly dir: string }): Promise<string[]> {
  const migrations = readMigrations(dir);
  const [row] = await sql`select to_regclass('schema_migrations') is not null as there`;
  const applied = row?.there === true ? await readApplied(sql) : [];
  nextMigration(migrations, applied);
  const seen = new Set(applied.map(({ id }) => id));
  return migrations.filter(({ id }) => !seen.has(id)).map(({ name }) => name);
}

/** Whether this user may add to the schema and change its tables, which take rights of their owner. */
export async function mayMigrate(sql: Sql): Promise<boolean> {
  const [row] = await sql`
    select has_schema_privilege(current_schema(), 'create') and coalesce(
      (select pg_has_role(relowner, 'usage') from pg_class where oid = to_regclass('schema_migrations')), true) as may`;
  return row?.may === true;
}

function readMigrations(dir: string): Migration[] {
  const names = readdirSync(dir).filter((name) => name.endsWith('.sql'));
  const migrations = names.sort().map((name): Migration => {
    const id = Number(FILE_NAME.exec(name)?.[1]);
    if (!(id > 0)) throw new MigrationRefused(`${name} is not named like a migration (0001_name.sql).`);
    // A checkout with other line endings is the same migration.
    const text = readFileSync(join(dir, name), 'utf8').replaceAll('\r\n', '\n');
    return { id, name, text, sha256: createHash('sha256').update(text).digest('hex') };
  });
  migrations.forEach((migration, index) => {
    const before = migrations[index - 1];
    if (before?.id === migration.id)
      throw new MigrationRefused(`${before.name} and ${migration.name} have one number.`);
  });
  return migrations;
}

async function readApplied(sql: Sql): Promise<Applied[]> {
  return await sql<Applied[]>`select id, name, sha256 from schema_migrations order by id`;
}

/** The first file that is not applied; undefined if all are. */
function nextMigration(migrations: readonly Migration[], applied: readonly Applied[]): Migration | undefined {
  const byId = new Map(migrations.map((migration) => [migration.id, migration]));
  const newestKnown = migrations.at(-1)?.id ?? 0;
  for (const { id, name, sha256 } of applied) {
    const file = byId.get(id);
    if (file === undefined && id > newestKnown) {
      throw new MigrationRefused(`The database is newer than this version: it has ${name}. Start the newer version.`);
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

/**
 * Applies a file, again where it lost a deadlock or did not get its locks in time: it left nothing, and the
 * statements that it met are over.
 */
async function applyPatiently(sql: Sql, migration: Migration): Promise<boolean> {
  for (let tries = 1; ; tries++) {
    try {
      return await apply(sql, migration);
    } catch (error) {
      const { code } = (error as Error).cause as { code?: string };
      if (tries === MIGRATION_TRIES || (code !== '40P01' && code !== '55P03')) throw error;
    }
  }
}

/** False if another migrator has applied it meanwhile. */
async function apply(sql: Sql, { id, name, sha256, text }: Migration): Promise<boolean> {
  try {
    // Nothing to escape: the name matches FILE_NAME, and the checksum is hexadecimal.
    await send(
      sql,
      `insert into schema_migrations (id, name, sha256) values (${id}, '${name}', '${sha256}');\n${text}`,
    );
    return true;
  } catch (error) {
    const failure = error as { code?: string; constraint_name?: string; message: string; position?: string };
    if (failure.code === '23505' && failure.constraint_name === 'schema_migrations_pkey') return false;
    // Messages of class 42 hold names of the schema; others may quote stored data.
    const reason = failure.code?.startsWith('42') ? `${failure.message} (${failure.code})` : failure.code;
    throw new MigrationRefused(`${name} could not be applied: ${reason}`, { cause: error });
  }
}

/** Several statements in one message are one transaction (PostgreSQL manual, 54.2.2.1). */
async function send(sql: Sql, statements: string): Promise<void> {
  const message = `set local lock_timeout = ${MIGRATION_WAIT_MS}; set local statement_timeout = ${MIGRATION_WAIT_MS};
select pg_advisory_xact_lock(${ADVISORY_LOCK});
set local lock_timeout = ${MIGRATION_LOCK_TIMEOUT_MS}; set local statement_timeout = ${MIGRATION_STATEMENT_TIMEOUT_MS};
${statements}`;
  await withDeadline(sql.unsafe(message), MIGRATION_WAIT_MS + MIGRATION_STATEMENT_TIMEOUT_MS + STATEMENT_TIMEOUT_MS);
}
