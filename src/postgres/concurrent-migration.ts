import { below, QUERY_DEADLINE_MS } from '../limits.ts';
import type { Sql } from './connect.ts';
import { withDeadline } from './deadline.ts';
import { type Beside, type Migration, MigrationRefused } from './migration-files.ts';

/** Longest statement of a concurrent migration. One that takes longer waits for a transaction that nobody ends. */
export const CONCURRENT_STATEMENT_MS = 2 * 60 * 60_000;
/** Longest wait of a step for a row, for which it holds its other rows. The service's statements wait as long. */
const STEP_LOCK_TIMEOUT_MS = 500;
/** Pause between two steps, in which the disk and the replicas are the service's. */
const STEP_PAUSE_MS = 50;
/** Most steps of one file: at 1,000 rows each a billion rows. More is a statement that finds its own rows again. */
const MAX_STEPS = 1_000_000;
/** Most steps in a row that lose a deadlock or do not get a row. */
const STEP_TRIES = 20;
/** Interval at which Postgres sees whether the process that runs a file is still there: its lock ends with it. */
const PRESENCE_CHECK_MS = 1_000;
/** Interval at which it is tried whether another process is done with a file. */
const LOOK_MS = 1_000;
/** Looks at another process's work before the wait is given up: 10 minutes. */
const LOOKS = 600;
/** Interval at which progress is told. */
const TELL_MS = 10_000;

below({ QUERY_DEADLINE_MS }, { CONCURRENT_STATEMENT_MS });

/** Number of the advisory lock of concurrent migrations: "side" in ASCII, apart from that of ordinary ones. */
const ADVISORY_LOCK = 0x73696465;

export type Pause = (ms: number) => Promise<unknown>;
export type Told = { readonly tell: (line: string) => void; readonly pause: Pause };

/** Whether an error says that a lock was not to be had: what is left is as before, and it may be tried again. */
export function isLockFailure(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === '40P01' || code === '55P03';
}

/**
 * Runs a concurrent migration outside of a transaction, beside the service. A killed run is gone on with: an index
 * that was left half built is dropped and built again, and a change of rows finds those that are left.
 *
 * One process runs it; others look whether it is done. They do not wait inside of a statement, because the building
 * of an index waits for every statement that began before: each would wait for the other. The lock is the
 * session's, so no transaction is open meanwhile, and a process that dies gives it back.
 *
 * @param sql one connection
 * @returns false if another process has run it
 * @throws MigrationRefused if another process is at work for over 10 minutes; the error of a statement that fails
 */
export async function applyBeside(
  sql: Sql,
  watch: Sql,
  migration: Migration & { readonly beside: Beside },
  { tell, pause }: Told,
): Promise<boolean> {
  const { id, name, sha256, oldest, beside } = migration;
  for (let looks = 0; !(await takeLock(sql)); looks++) {
    if (looks === 0) tell(`Another process is at work on ${name}`);
    if (looks === LOOKS) throw new MigrationRefused(`${name} is another process's work for ${LOOKS} s: wait for it.`);
    await pause(LOOK_MS);
  }
  const timer = setInterval(() => {
    readProgress(watch, migration).then(
      (progress) => progress && tell(`${name}: ${progress}`),
      () => undefined, // The file itself fails where the database is away.
    );
  }, TELL_MS);
  try {
    const [done] = await sql`select from schema_migrations where id = ${id}`;
    if (done) return false;
    await settle(sql);
    tell(`Running ${name}`);
    if (beside.index === null) await changeRows(sql, migration, pause);
    else await buildIndex(sql, beside.statement, beside.index);
    // The column is missing before migration 0054, and has a default.
    const row = { id, name, sha256, ...(oldest === null ? {} : { oldest }) };
    await sql`insert into schema_migrations ${sql(row)} on conflict do nothing`;
    return true;
  } finally {
    clearInterval(timer);
    // A lost connection has given it back.
    await sql`select pg_advisory_unlock(${ADVISORY_LOCK})`.catch(() => undefined);
  }
}

/** How far the process that runs it is, in words; null if none does. */
export async function readProgress(sql: Sql, { id, beside }: Migration): Promise<string | null> {
  const [row] = await sql`
    select coalesce(
      (select phase || case when blocks_total > 0 then ', ' || 100 * blocks_done / blocks_total || ' %' else '' end
       from pg_stat_progress_create_index
       where datname = current_database() and index_relid = to_regclass(${beside?.index ?? null})::oid),
      (select substring(application_name from ': (.*)$') from pg_stat_activity
       where datname = current_database() and application_name like ${`${sessionName(id)}: %`} limit 1)) as progress`;
  return row?.progress ?? null;
}

/** The name of its connection, by which others see what it is at: Postgres keeps 63 characters. */
const sessionName = (id: number): string => `sameday migrate ${id}`;

async function takeLock(sql: Sql): Promise<boolean> {
  const [row] = await sql`select pg_try_advisory_lock(${ADVISORY_LOCK}) as taken`;
  return row?.taken === true;
}

/**
 * Sets the session up for a long statement. The time-out of the connection may be another: a pooler drops it, and the
 * role's own counts then.
 */
async function settle(sql: Sql): Promise<void> {
  await sql.unsafe(`set statement_timeout = ${CONCURRENT_STATEMENT_MS}`);
  await sql.unsafe(`set client_connection_check_interval = ${PRESENCE_CHECK_MS}`).catch((error: unknown) => {
    // A server whose system cannot tell refuses it, and keeps the lock until its statement ends.
    if ((error as { code?: string }).code !== '22023') throw error;
  });
}

async function buildIndex(sql: Sql, statement: string, index: string): Promise<void> {
  const [left] = await sql`select indisvalid from pg_index where indexrelid = to_regclass(${index})`;
  if (left?.indisvalid) return;
  // A name of letters, digits and _ (INDEX of migration-files.ts).
  if (left) await send(sql, `drop index concurrently ${index}`);
  await send(sql, statement);
}

async function changeRows(sql: Sql, { id, name, beside }: Migration, pause: Pause): Promise<void> {
  let rows = 0;
  for (let step = 0, failed = 0; step < MAX_STEPS; step++) {
    try {
      const message = `set local lock_timeout = ${STEP_LOCK_TIMEOUT_MS};
set application_name = '${sessionName(id)}: ${rows} rows';
${beside?.statement}`;
      // Neither of the two settings has a count.
      const { count: changed } = await send(sql, message);
      if (changed === 0) return;
      rows += changed;
      failed = 0;
    } catch (error) {
      failed += 1;
      if (!isLockFailure(error) || failed === STEP_TRIES) throw error;
    }
    await pause(STEP_PAUSE_MS);
  }
  throw new MigrationRefused(`${name} has changed ${rows} rows in ${MAX_STEPS} steps and finds more: correct it.`);
}

const send = (sql: Sql, message: string) =>
  withDeadline(sql.unsafe(message), CONCURRENT_STATEMENT_MS + QUERY_DEADLINE_MS);
