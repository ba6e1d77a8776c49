import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import { migrateDatabase } from '../../src/postgres/migrate.ts';
import type { StandIn } from '../../src/sandbox/stand-in.ts';
import type { Payment, Refund } from '../../src/sandbox/stripe-objects.ts';
import { type StripeStandIn, startStripeStandIn } from '../../src/sandbox/stripe-stand-in.ts';
import { startTwilioStandIn, type TwilioStandIn } from '../../src/sandbox/twilio-stand-in.ts';
import { removeFolder } from '../harness/folders.ts';
import { type BenchStore, makeOrderWorld } from '../harness/order-world.ts';
import { type FreshRedis, freshRedis } from '../harness/redis.ts';
import { type Environment, newDataDir, type Running, startBuiltService } from '../harness/service.ts';
import { fillWorld } from '../harness/stack-world.ts';
import type { EventRow, OrderRow, PayoutRow, Records } from './checker.ts';
import { type History, openHistory, readHistory } from './history.ts';
import { later, POLL_MS, until } from './later.ts';
import { openPostgres, type Postgres } from './postgres.ts';

const MIGRATIONS = fileURLToPath(new URL('../../migrations/', import.meta.url));
const DRAIN_MS = 180_000;
const OWED_SHOWN = 10;
/** More than any row makes: what a stand-in forgot would count as never done. */
const MAX_RECORDS = 1_000_000;
const READY_MS = 30_000;

/** A process of the service, which can be killed and started again. */
export type Process = {
  readonly name: string;
  /** Its address; for one that is down, the last one. */
  url(): string;
  pid(): number;
  /** Its output since it was last started. */
  output(): string;
  kill(): Promise<void>;
  /** Stops it as an operator does; resolves with its exit code or a signal's name. */
  stop(): Promise<number | string>;
  /** Starts it with these additional settings, or the build of another folder. */
  start(env?: Environment, root?: string): Promise<void>;
  /** Whether it ended without being killed. */
  hasEnded(): boolean;
};

export type World = {
  readonly sql: Sql;
  /** The world's own; one on another database has none. */
  readonly postgres: Postgres;
  readonly stores: readonly BenchStore[];
  readonly stripe: StripeStandIn;
  readonly twilio: TwilioStandIn;
  readonly redis: FreshRedis | undefined;
  readonly apis: readonly Process[];
  readonly workers: readonly Process[];
  readonly history: History;
  /** Waits until every API process, or each of these, accepts requests. */
  untilReady(some?: readonly Process[]): Promise<void>;
  /** Waits until no job is owed; false where that takes too long. */
  untilDone(): Promise<boolean>;
  /** The jobs and events that are owed, and since when, for a row that waited in vain. */
  owed(): Promise<string[]>;
  records(): Promise<Records>;
  /** Names of the processes that ended without being killed. */
  ended(): string[];
  /** Whether the row is over. Clients of a broken row end with it, and take no time of the next one. */
  isClosed(): boolean;
  /** Does something when the world closes. */
  atClose(work: () => void): void;
  close(): Promise<void>;
};

export type WorldSizes = {
  readonly drivers: number;
  readonly stores: number;
  /** Processes of each role; without Redis one process has both roles. */
  readonly apis: number;
  readonly workers: number;
  /** A folder with the built version before, of which a process of each role runs too. It needs Redis. */
  readonly beside?: string | undefined;
  /** The folder of the build that the processes run at first, where it is not this one. */
  readonly root?: string | undefined;
  /** Ports of the API processes and then of the workers; without it any. */
  readonly ports?: readonly number[];
  /** Additional settings of the processes. */
  readonly env?: Readonly<Record<string, string>>;
  /** The URL of a superuser on an empty database, instead of the world's own Postgres. */
  readonly databaseUrl?: string;
  /** The service's URL for its database, where it is not the database's own. */
  readonly way?: (databaseUrl: string) => Promise<string>;
  /** Whether one process runs on queues in Postgres, though there is a Redis. */
  readonly withoutRedis?: boolean;
  /** The Redis in place of the world's own, which the world stops. */
  readonly redis?: FreshRedis;
};

/** Does something again and again, until it is stopped or its world closes. */
export function keepOn({ isClosed }: Pick<World, 'isClosed'>, pauseMs: number, act: () => Promise<unknown>) {
  let isStopped = false;
  const run = async (): Promise<void> => {
    for (; !isStopped && !isClosed(); await later(pauseMs)) await act();
  };
  const running = run();
  return {
    /** Resolves when the last one is over. */
    async stop(): Promise<void> {
      isStopped = true;
      await running;
    },
  };
}

/**
 * The built service on its own Postgres and Redis. Its vendors' stand-ins are in this process, so that their
 * records survive whatever dies.
 */
export async function openWorld(sizes: WorldSizes): Promise<World> {
  const folder = newDataDir();
  // Root's Postgres runs as another user, which must be able to enter.
  chmodSync(folder.dataDir, 0o755);
  const { dataDir } = folder;
  const own = sizes.databaseUrl === undefined ? await openPostgres(dataDir) : undefined;
  const databaseUrl = sizes.databaseUrl ?? (own?.url as string);
  const sql = connect({ url: databaseUrl, applicationName: 'faults', max: 4 });
  const world = makeOrderWorld(sizes.drivers, sizes.stores);
  delete process.env.REDIS_URL;
  const redis = sizes.withoutRedis ? undefined : (sizes.redis ?? (await freshRedis()));
  const stripe = await startStripeStandIn({ ledgerFile: join(dataDir, 'stripe.jsonl'), maxRecords: MAX_RECORDS });
  const twilio = await startTwilioStandIn({ ledgerFile: join(dataDir, 'twilio.jsonl'), maxRecords: MAX_RECORDS });
  const file = join(dataDir, 'history.jsonl');
  const history = openHistory(file);
  let isClosed = false;
  const closing: (() => void)[] = [];
  const env = {
    DATABASE_URL: (await sizes.way?.(databaseUrl)) ?? databaseUrl,
    ...(redis ? { REDIS_URL: redis.url } : {}),
    DATA_DIR: dataDir,
    LOG_LEVEL: 'silent',
    TRACKING_URL: 'http://sameday.test',
    PAYMENT_WAIT_MS: '0',
    // Few drivers do what many would.
    RELEASES_PER_HOUR: '0',
    ...vendorSettings(stripe, twilio),
    ...sizes.env,
  };
  const openOne = (name: string, roles: string, first?: string, port?: number) =>
    openProcess(name, (more, root = first) => {
      return startBuiltService({ ...env, ROLES: roles, ...(port ? { PORT: String(port) } : {}), ...more }, root);
    });
  const ports = [...(sizes.ports ?? [])];
  const open = (count: number, name: string, roles: string) =>
    Promise.all(Array.from({ length: count }, (_, i) => openOne(`${name} ${i + 1}`, roles, sizes.root, ports.shift())));
  const before = await openBefore(sizes.beside, databaseUrl, openOne);
  await migrateDatabase({ url: databaseUrl, dir: sizes.root ? join(sizes.root, 'migrations/') : MIGRATIONS });
  await fillWorld(sql, { ...world, phones: 0 });
  await sql`select pg_notify('sameday', 'faults:everything:')`;
  const apis = redis
    ? [...(await open(sizes.apis, 'api', 'api')), ...before.apis]
    : await open(1, 'service', 'api,worker');
  const workers = redis ? [...(await open(sizes.workers, 'worker', 'worker')), ...before.workers] : [];
  return {
    sql,
    get postgres() {
      if (own === undefined) throw new Error('This world has no Postgres of its own');
      return own;
    },
    stores: world.stores,
    stripe,
    twilio,
    redis,
    apis,
    workers,
    history,
    untilReady: (some = apis) => untilReady(some),
    untilDone: () => untilDone(sql),
    owed: () => readOwed(sql),
    records: () => readAtRest(sql, () => readRecords(sql, stripe, twilio, file)),
    ended: () => [...apis, ...workers].filter((each) => each.hasEnded()).map(({ name }) => name),
    isClosed: () => isClosed,
    atClose: (work) => void closing.push(work),
    async close() {
      isClosed = true;
      for (const work of closing) work();
      await Promise.all([...apis, ...workers].map((each) => each.kill()));
      history.close();
      await sql.end({ timeout: 5 });
      await Promise.all([own?.stop(), redis?.stop(), stripe.close(), twilio.close()]);
      if (own) removeFolder(own.folder);
      folder.remove();
    },
  };
}

/** Starts processes of the version before on its own schema, as they would not start on a newer one. */
async function openBefore(
  root: string | undefined,
  url: string,
  openOne: (name: string, roles: string, root: string) => Promise<Process>,
): Promise<{ apis: readonly Process[]; workers: readonly Process[] }> {
  if (root === undefined) return { apis: [], workers: [] };
  await migrateDatabase({ url, dir: join(root, 'migrations/') });
  return {
    apis: [await openOne('api before', 'api', root)],
    workers: [await openOne('worker before', 'worker', root)],
  };
}

function vendorSettings(stripe: StandIn, twilio: StandIn): Record<string, string> {
  return {
    STRIPE_SECRET_KEY: 'sk_test_faults',
    STRIPE_API_BASE: stripe.url,
    TWILIO_ACCOUNT_SID: `AC${'0'.repeat(32)}`,
    TWILIO_AUTH_TOKEN: 'faults',
    TWILIO_FROM: '+15005550006',
    TWILIO_API_BASE: twilio.url,
  };
}

type Begin = (env?: Environment, root?: string) => Promise<Running>;

async function openProcess(name: string, begin: Begin): Promise<Process> {
  let running = await begin();
  let isUp = true;
  return {
    name,
    url: () => running.url,
    pid: () => running.pid,
    output: () => running.output(),
    async kill() {
      if (isUp) await running.stop('SIGKILL');
      isUp = false;
    },
    async stop() {
      isUp = false;
      return running.stop();
    },
    async start(more, root) {
      running = await begin(more, root);
      isUp = true;
    },
    hasEnded: () => isUp && !isRunning(running.pid),
  };
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function untilReady(apis: readonly Process[]): Promise<void> {
  await Promise.all(apis.map((api) => until(`${api.name} is ready`, () => isReady(api.url()), READY_MS)));
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(3_000) })).ok;
  } catch {
    return false;
  }
}

/**
 * Waits until nothing is owed; false once what is owed has not become less for DRAIN_MS. A webhook that found
 * its receiver busy waits for up to half its age more, so that the last of a burst take minutes.
 */
async function untilDone(sql: Sql): Promise<boolean> {
  let least = Number.POSITIVE_INFINITY;
  let untilMs = performance.now() + DRAIN_MS;
  while (performance.now() < untilMs) {
    const [row] = await sql`
      select (select count(*) from outbox where done_at is null and run_at < now() + interval '1 hour')::int
        + (select count(*) from unnumbered_events)::int as owed`;
    if (row?.owed === 0) return true;
    if (row?.owed < least) untilMs = performance.now() + DRAIN_MS;
    least = Math.min(least, row?.owed);
    await later(POLL_MS * 5);
  }
  return false;
}

async function readOwed(sql: Sql): Promise<string[]> {
  const jobs = await sql`
    select queue || ' ' || order_id || ' (due in ' || round(extract(epoch from run_at - now()))
      || ' s, lease of ' || round(extract(epoch from lease_until - now())) || ' s, relays ' || relays || ')' as owed
    from outbox where done_at is null and run_at < now() + interval '1 hour' order by run_at limit ${OWED_SHOWN}`;
  const [events] = await sql`select count(*)::int as count from unnumbered_events`;
  return [...jobs.map(({ owed }) => String(owed)), ...(events?.count > 0 ? [`${events?.count} events`] : [])];
}

/**
 * Reads until nothing changes any more: a waiting order may get its driver between the reading of the orders
 * and of the rest.
 */
async function readAtRest<Read>(sql: Sql, read: () => Promise<Read>): Promise<Read> {
  const countEvents = async (): Promise<unknown> => (await sql`select count(*) as events from order_events`)[0]?.events;
  const untilMs = performance.now() + DRAIN_MS;
  for (;;) {
    const before = await countEvents();
    const records = await read();
    if (performance.now() > untilMs || before === (await countEvents())) return records;
    await untilDone(sql);
  }
}

async function readRecords(sql: Sql, stripe: StandIn, twilio: StandIn, file: string): Promise<Records> {
  const orders = await sql`
    select o.id, o.retailer_id as "retailerId", o.idempotency_key as key, o.status, o.driver_id as "driverId",
      o.delivery_fee_cents as "feeCents", o.payment_status as "paymentStatus", o.sms_status as "smsStatus",
      o.tracking_token as "trackingToken", c.name as customer, o.driver_slot as slot
    from orders o left join customers c on c.id = o.customer_id`;
  const events = await sql`
    select order_id as "orderId", sequence, type, data ->> 'driver_id' as "driverId",
      extract(epoch from at)::float8 * 1000 as "atMs"
    from order_events`;
  const payouts = await sql`select order_id as "orderId", driver_id as "driverId", status, reasons from payouts`;
  const drivers = await sql`select id, capacity from drivers`;
  const entries = stripe.entries() as readonly (Payment | Refund)[];
  return {
    ...readHistory(file),
    orders: orders as unknown as OrderRow[],
    events: events as unknown as EventRow[],
    payouts: payouts as unknown as PayoutRow[],
    payments: entries.filter((entry): entry is Payment => entry.type === 'payment'),
    refunds: entries.filter((entry): entry is Refund => entry.type === 'refund'),
    texts: twilio.entries() as readonly { body: string }[],
    capacities: new Map(drivers.map(({ id, capacity }) => [id, capacity])),
  };
}

export { later, lookUntil } from './later.ts';
