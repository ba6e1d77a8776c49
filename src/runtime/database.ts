import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Config } from '../config.ts';
import { startEmbeddedPostgres } from '../embedded/postgres.ts';
import { claimService, readLiveService } from '../embedded/service-file.ts';
import { below, LIST_DB_CONNECTIONS, LIST_STATEMENT_MS, MAX_COMMITS_IN_FLIGHT, QUERY_DEADLINE_MS } from '../limits.ts';
import type { Breaker } from '../postgres/breaker.ts';
import { connect, type Sql } from '../postgres/connect.ts';
import { migrateDatabase } from '../postgres/migrate.ts';
import { MigrationRefused } from '../postgres/migration-files.ts';
import { startBreaker } from '../postgres/start-breaker.ts';
import type { Db } from '../store/db.ts';
import { errorFields, type Logger } from '../telemetry.ts';
import type { Closers } from './closers.ts';
import { checkPort } from './port.ts';
import { asDatabaseError, asStartError, StartError } from './start-error.ts';

/** Longest wait for a list of orders, a connection's included. Below QUERY_DEADLINE_MS. */
const LIST_DEADLINE_MS = 2_000;
/** Pause before a migration that failed beside the service is tried again. */
const BESIDE_PAUSE_MS = 60_000;
/** Interval at which an API process without Redis checks that it is the only one. */
const API_LOCK_CHECK_MS = 5_000;

below({ LIST_STATEMENT_MS }, { LIST_DEADLINE_MS });
below({ LIST_DEADLINE_MS }, { QUERY_DEADLINE_MS });

export const MIGRATIONS = fileURLToPath(new URL('../../migrations/', import.meta.url));

export type Database = Db & {
  readonly url: string;
  readonly breaker: Breaker;
  /** Whether the database does not answer; then every statement fails at once, unsent. */
  isAway(): boolean;
};

/**
 * Opens the Postgres of DATABASE_URL, or else the embedded one under DATA_DIR, and migrates it.
 *
 * @param say prints a line for the operator
 * @param mayUse rejects where this start must keep off the database, which is then left as it is
 * @throws {StartError} if it cannot be started or migrated, and what `mayUse` throws
 */
export async function openDatabase(
  config: Config,
  say: (line: string) => void,
  logger: Logger,
  closers: Closers,
  mayUse: (url: string) => Promise<void> = async () => undefined,
): Promise<Database> {
  const processId = randomBytes(6).toString('hex');
  const url = config.databaseUrl ?? (await startEmbedded(config, say, closers));
  // Not before the claim, which says more of a sandbox that runs already.
  checkPort(config);
  await mayUse(url).catch(asDatabaseError);
  const left: string[] = [];
  const leave = (names: readonly string[]) => left.push(...names);
  const applied = await migrateDatabase({ url, dir: MIGRATIONS, leave, tell: say }).catch(asDatabaseError);
  if (applied.length > 0) say(`Applied the migrations ${applied.join(', ')}`);
  if (left.length > 0) closers.add('migrations', migrateBeside({ url, dir: MIGRATIONS }, logger));
  const breaker = startBreaker(url, logger);
  closers.add('breaker', () => breaker.close());
  const sql = connect({ url, applicationName: 'sameday', byIndex: true, breaker });
  // Without a time-out a connection that was lost with a statement on it never ends (postgres 3.4.9).
  closers.add('database', () => sql.end({ timeout: 1 }));
  const commits = connect({
    url,
    applicationName: `sameday commits ${processId}`,
    max: MAX_COMMITS_IN_FLIGHT,
    byIndex: true,
    breaker,
  });
  closers.add('commits', () => commits.end({ timeout: 1 }));
  const lists = connect({
    url,
    applicationName: 'sameday lists',
    max: LIST_DB_CONNECTIONS,
    statementTimeoutMs: LIST_STATEMENT_MS,
    deadlineMs: LIST_DEADLINE_MS,
    breaker,
  });
  closers.add('lists', () => lists.end({ timeout: 1 }));
  return { url, sql, commits, lists, processId, breaker, isAway: breaker.isOpen };
}

/**
 * Runs the migrations that a start leaves, until they are done. What fails is logged and tried again: the service
 * serves without them.
 *
 * @returns stops it; the next start goes on
 */
export function migrateBeside(
  place: { readonly url: string; readonly dir: string },
  logger: Logger,
  pauseMs = BESIDE_PAUSE_MS,
): () => Promise<void> {
  const stop = new AbortController();
  const { signal } = stop;
  const tell = (line: string) => logger.info({}, line);
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        const done = await migrateDatabase({ ...place, tell, stop: signal });
        return logger.info({ migrations: done.join(', ') }, 'the migrations beside the service are done');
      } catch (error) {
        if (signal.aborted) return;
        const because = error instanceof MigrationRefused ? error.message : null;
        logger.error({ err: errorFields(error), because }, 'a migration beside the service failed; it is tried again');
      }
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  };
  const running = run();
  return () => {
    stop.abort();
    return running;
  };
}

async function startEmbedded(config: Config, say: (line: string) => void, closers: Closers): Promise<string> {
  const claim = claimService(config.dataDir);
  if (claim.kind === 'held') {
    const live = readLiveService(config.dataDir);
    const where = live ? `at ${Object.values(live.urls)[0]}` : 'and is starting';
    throw new StartError(`Sameday is running already on ${config.dataDir} ${where} (process ${claim.pid}).`);
  }
  closers.add('claim', () => claim.release());
  const postgres = await startEmbeddedPostgres({ dataDir: config.dataDir, log: say }).catch(asStartError);
  closers.add('embedded Postgres', () => postgres.stop());
  return postgres.url;
}

/** Number of the advisory lock: the first eight bytes of the SHA-256 of "sameday api" as a signed integer. */
const API_LOCK = '6595811084077347712';

/**
 * Seconds after which Postgres asks a silent holder of the lock whether it is there, and between two such questions. By
 * the system's own, two hours in Linux, a machine that lost its power would keep the next one out for as long.
 */
const LOCK_KEEPALIVE_SECONDS = 5;
/** Questions without an answer after which the holder is gone. */
const LOCK_KEEPALIVE_COUNT = 3;

/** Settings of this session, which a pooler passes on as it passes statements on. A socket on this machine has none. */
const keepAlive = (sql: Sql) => sql`
  set_config('tcp_keepalives_idle', ${`${LOCK_KEEPALIVE_SECONDS}`}, false),
  set_config('tcp_keepalives_interval', ${`${LOCK_KEEPALIVE_SECONDS}`}, false),
  set_config('tcp_keepalives_count', ${`${LOCK_KEEPALIVE_COUNT}`}, false)`;

function besideAnother(hasRedis: boolean): StartError {
  const other = `Another API process${hasRedis ? ' without REDIS_URL' : ''} runs on this database.`;
  return new StartError(`${other} Two need one REDIS_URL, which carries driver positions between them.`);
}

/**
 * Looks whether `holdApiLock` would take the lock, and leaves it free, so that a start that is refused has changed
 * nothing.
 *
 * @throws {StartError} if another process holds the lock
 */
export async function checkApiLock(url: string, hasRedis: boolean): Promise<void> {
  const sql = connect({ url, max: 1, applicationName: 'sameday start' });
  const lock = sql(hasRedis ? 'pg_try_advisory_xact_lock_shared' : 'pg_try_advisory_xact_lock');
  try {
    const [row] = await sql`select ${lock}(${API_LOCK}::int8) as free`;
    if (row?.free !== true) throw besideAnother(hasRedis);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

type ApiLock = Pick<Database, 'url' | 'processId'> & { readonly hasRedis: boolean; readonly breaker?: Breaker };

/**
 * Holds the advisory lock of API processes for as long as the process lives, and takes it again after its
 * connection was lost. Without Redis positions do not reach other processes, so a process without it is the
 * only one on its database. Those with Redis share the lock.
 *
 * @param lost called once if another process has taken the lock
 * @throws {StartError} if another process holds the lock
 */
export async function holdApiLock(
  { url, processId, breaker, hasRedis }: ApiLock,
  logger: Logger,
  closers: Closers,
  lost: () => void,
  checkEveryMs = API_LOCK_CHECK_MS,
): Promise<void> {
  const applicationName = `sameday-api-lock ${processId}`;
  const sql = connect({ url, max: 1, applicationName, ...(breaker ? { breaker } : {}) });
  closers.add('API lock', () => sql.end({ timeout: 1 }));
  const lock = sql(hasRedis ? 'pg_try_advisory_lock_shared' : 'pg_try_advisory_lock');
  const take = async () => {
    const [row] = await sql`
      select ${keepAlive(sql)},
        exists (select from pg_locks where locktype = 'advisory' and pid = pg_backend_pid() and granted)
          or ${lock}(${API_LOCK}::int8) as held`;
    return row?.held === true;
  };
  if (!(await take())) throw besideAnother(hasRedis);
  /** Ends this process's own session that a cut network left behind, before Postgres misses it. */
  const endOwn = async () => {
    const ended = await sql`
      select pg_terminate_backend(l.pid) from pg_locks l join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'advisory' and l.granted and a.application_name = ${applicationName}
        and l.pid <> pg_backend_pid()`;
    return ended.length > 0;
  };
  let isLost = false;
  const check = async () => {
    // Tried again, because a session that is just ending shows up in neither query.
    if ((await take()) || (await endOwn()) || (await take()) || isLost) return;
    isLost = true;
    clearInterval(timer);
    lost();
  };
  const timer = setInterval(() => {
    check().catch((error) => logger.warn({ err: errorFields(error) }, 'the API lock could not be checked'));
  }, checkEveryMs);
  closers.add('API lock check', () => clearInterval(timer));
}
