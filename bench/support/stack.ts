import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/embedded/postgres.ts';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import { migrateDatabase } from '../../src/postgres/migrate.ts';
import { type FreshRedis, findRedisServer, freshRedis } from '../../test/harness/redis.ts';
import { type Running, startBuiltService } from '../../test/harness/service.ts';
import { fillWorld, resetOrders, type StackWorld } from '../../test/harness/stack-world.ts';
import { newCluster } from './cluster.ts';
import { coreSeconds, coreSecondsOfFamily, parentOf } from './orders-cpu.ts';
import { startPart } from './part.ts';
import { keeper, type Stoppable, stopAll } from './stop-all.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const STATEMENT_MS = 600_000;
const DRAIN_POLL_MS = 50;

/**
 * What runs beside the API. `none`: jobs go into the queues and stay there. `vendors`: the service's own worker,
 * with SDKs that talk to the stand-ins in a process of theirs.
 */
export type Setup = {
  readonly worker: 'none' | 'vendors';
  /** Without Redis the API cannot run apart, so one process does both. */
  readonly redis?: boolean;
  /** API processes; more than one needs Redis. */
  readonly apis?: number;
  readonly env?: Readonly<Record<string, string>>;
};

export type Started = {
  /** The address of each API process, the first one's also as `url`. */
  readonly urls: readonly string[];
  readonly url: string;
  /** The processes of the service by their part. */
  readonly pids: Readonly<Record<string, number>>;
  /** Sets the time that Stripe's stand-in takes for each answer. */
  stripeTakes(ms: number): Promise<void>;
  /** Core-seconds of each part so far. */
  cpu(): Record<string, number>;
  /** Processes that ended and should still run. */
  ended(): string[];
};

/** Jobs since the service was started. */
export type Jobs = { readonly owed: number; readonly done: number };

export type Stack = {
  readonly sql: Sql;
  readonly databaseUrl: string;
  readonly hasRedis: boolean;
  readonly redisUrl: string | undefined;
  readonly versions: Readonly<Record<string, string>>;
  /** Starts the built service; `prepare` runs before, on tables with the world and no order. */
  start(setup: Setup, prepare?: (sql: Sql) => Promise<void>): Promise<Started>;
  /** Stops the service and leaves its servers running. Idempotent. */
  halt(): Promise<void>;
  /** Stops the service and removes every order. */
  reset(): Promise<void>;
  /** Jobs that are not done, besides those that wait for a waiting order's end. */
  backlog(): Promise<number>;
  jobs(): Promise<Jobs>;
  /** Whether the last job is done in time. */
  drained(withinMs: number): Promise<boolean>;
  close(): Promise<void>;
};

type StackOptions = {
  /** Whether Postgres has pg_stat_statements, which costs some per cent. */
  readonly countsStatements?: boolean;
  /** The folder of the built service, with its migrations; this one by default. */
  readonly root?: string | undefined;
};

/**
 * Starts servers for the built service: the embedded Postgres with every commit on disk, and Redis where
 * there is one. Nothing of them is left where it fails, or where `signal` stops it.
 */
export async function openStack(world: StackWorld, signal?: AbortSignal, options: StackOptions = {}): Promise<Stack> {
  const opened: Stoppable[] = [];
  try {
    return await fillStack(world, opened, options, signal);
  } catch (error) {
    await stopAll(opened).catch(() => undefined);
    throw error;
  }
}

/** Adds whatever must be stopped to `opened`, on the line after it was started. */
async function fillStack(
  world: StackWorld,
  opened: Stoppable[],
  { countsStatements = false, root = ROOT }: StackOptions,
  signal?: AbortSignal,
): Promise<Stack> {
  const keep = keeper(opened, signal);
  const redis = findRedisServer() === undefined ? undefined : await ownRedis();
  if (redis) keep(redis);
  const { dataDir, quit } = keep(newCluster());
  const start = () => startEmbeddedPostgres({ dataDir, log: () => undefined, superuser: true });
  const first = await start();
  if (countsStatements) await loadCounter(first);
  const server = countsStatements ? await start() : first;
  keep(server);
  keep({ stop: quit });
  await migrateDatabase({ url: server.url, dir: join(root, 'migrations') });
  const bounds = { statementTimeoutMs: STATEMENT_MS, deadlineMs: STATEMENT_MS };
  const sql = connect({ url: server.url, applicationName: 'bench', max: 2, ...bounds });
  keep({ stop: () => sql.end({ timeout: 5 }) });
  await fillWorld(sql, world);
  const connection = redis && new Redis(redis.url);
  // Redis may be stopped first.
  connection?.on('error', () => undefined);
  keep({ stop: async () => connection?.disconnect() });
  const parts: Stoppable[] = [];
  // The service first, while the servers it uses are still there.
  const halt = (): Promise<void> => stopAll(parts);
  keep({ stop: halt });
  const reset = async (): Promise<void> => {
    await halt();
    await resetOrders(sql);
    await connection?.flushdb();
  };
  const pids = await serverPids(sql, connection);
  const servers = { root, dataDir, databaseUrl: server.url, redisUrl: redis?.url, phones: world.phones };
  return {
    sql,
    databaseUrl: server.url,
    hasRedis: redis !== undefined,
    redisUrl: redis?.url,
    versions: await versionsOf(sql, connection),
    halt,
    reset,
    async start(setup, prepare) {
      await reset();
      await prepare?.(sql);
      return startParts(setup, servers, pids, keeper(parts, signal));
    },
    backlog: async () => (await countJobs(sql)).owed,
    jobs: () => countJobs(sql),
    async drained(withinMs) {
      const untilMs = performance.now() + withinMs;
      while ((await countJobs(sql)).owed > 0) {
        signal?.throwIfAborted();
        if (performance.now() > untilMs) return false;
        await new Promise((later) => setTimeout(later, DRAIN_POLL_MS));
      }
      return true;
    },
    close: () => stopAll(opened),
  };
}

/** Has the server load pg_stat_statements at its next start, and stops it. */
async function loadCounter(server: EmbeddedPostgres): Promise<void> {
  const sql = connect({ url: server.url, applicationName: 'bench', max: 1 });
  await sql`alter system set shared_preload_libraries = 'pg_stat_statements'`;
  await sql.end({ timeout: 5 });
  await server.stop();
}

/** Jobs besides those that wait for a waiting order's end. */
async function countJobs(sql: Sql): Promise<Jobs> {
  const [row] = await sql`
    select count(*) filter (where done_at is null)::int as owed, count(*) filter (where done_at is not null)::int as done
    from outbox where queue <> 'redispatch'`;
  return { owed: row?.owed as number, done: row?.done as number };
}

type Servers = {
  readonly root: string;
  readonly dataDir: string;
  readonly databaseUrl: string;
  readonly redisUrl: string | undefined;
  readonly phones: number;
};
type Pids = { readonly postgres: number; readonly redis: number | undefined };

async function startParts(
  { worker, redis = true, apis: count = 1, env = {} }: Setup,
  { root, dataDir, databaseUrl, redisUrl, phones }: Servers,
  pids: Pids,
  keep: ReturnType<typeof keeper>,
): Promise<Started> {
  const usesRedis = redis && redisUrl !== undefined;
  const shared = { DATABASE_URL: databaseUrl, ...(usesRedis ? { REDIS_URL: redisUrl as string } : {}) };
  const settings = { ...shared, DATA_DIR: dataDir, LOG_LEVEL: 'warn', PAYMENT_WAIT_MS: '0', ...env };
  const ledgers = join(dataDir, 'vendors');
  mkdirSync(ledgers, { recursive: true });
  const vendors = worker === 'vendors' ? keep(await startPart('bench/peers/vendors.ts', { LEDGERS: ledgers })) : null;
  const [stripe = '', twilio = ''] = vendors?.said.split(' ').slice(1) ?? [];
  const accounts = vendors ? vendorSettings(stripe, twilio) : {};
  const roles = usesRedis ? 'api' : 'api,worker';
  const apis: Running[] = [];
  while (apis.length < count) {
    apis.push(keep(await startBuiltService({ ...settings, ...accounts, ROLES: roles }, root)));
  }
  const api = apis[0] as Running;
  const jobs =
    usesRedis && worker === 'vendors'
      ? keep(await startBuiltService({ ...settings, ...accounts, ROLES: 'worker', PORT: '' }, root))
      : null;
  const feed =
    phones > 0 ? keep(await startPart('bench/peers/phones.ts', { URL: api.url, PHONES: String(phones) })) : null;
  return {
    urls: apis.map(({ url }) => url),
    url: api.url,
    pids: { [usesRedis ? 'API' : 'API and worker']: api.pid, ...(jobs ? { worker: jobs.pid } : {}) },
    async stripeTakes(latencyMs) {
      const body = JSON.stringify({ latencyMs });
      const headers = { 'Content-Type': 'application/json' };
      const answer = await fetch(`${stripe}/_control/faults`, { method: 'POST', headers, body });
      if (!answer.ok) throw new Error(`the stand-in refused its order with ${answer.status}`);
    },
    cpu() {
      return {
        [usesRedis ? 'API' : 'API and worker']: apis.reduce((sum, { pid }) => sum + coreSeconds(pid), 0),
        ...(jobs ? { worker: coreSeconds(jobs.pid) } : {}),
        Postgres: coreSecondsOfFamily(pids.postgres),
        ...(usesRedis && pids.redis ? { Redis: coreSeconds(pids.redis) } : {}),
        ...(vendors ? { 'stand-ins': coreSeconds(vendors.pid) } : {}),
        ...(feed ? { "drivers' phones": coreSeconds(feed.pid) } : {}),
        'load generator': coreSeconds(process.pid),
      };
    },
    ended: () => (feed && !isAlive(feed.pid) ? ["the drivers' phones ended"] : []),
  };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function vendorSettings(stripe: string, twilio: string): Record<string, string> {
  return {
    STRIPE_SECRET_KEY: 'sk_test_bench',
    STRIPE_API_BASE: stripe,
    TWILIO_ACCOUNT_SID: `AC${'0'.repeat(32)}`,
    TWILIO_AUTH_TOKEN: 'bench',
    TWILIO_FROM: '+15005550006',
    TWILIO_API_BASE: twilio,
  };
}

/** Never a server in use by others, as it is emptied between rounds. */
function ownRedis(): Promise<FreshRedis | undefined> {
  delete process.env.REDIS_URL;
  return freshRedis();
}

async function serverPids(sql: Sql, redis: Redis | undefined): Promise<Pids> {
  const [row] = await sql`select pg_backend_pid() as pid`;
  const info = await redis?.info('server');
  return { postgres: parentOf(row?.pid), redis: info ? Number(/process_id:(\d+)/.exec(info)?.[1]) : undefined };
}

async function versionsOf(sql: Sql, redis: Redis | undefined): Promise<Record<string, string>> {
  const [row] = await sql`select current_setting('server_version') as version`;
  const info = await redis?.info('server');
  return { postgres: row?.version, ...(info ? { redis: /redis_version:(\S+)/.exec(info)?.[1] ?? '' } : {}) };
}
