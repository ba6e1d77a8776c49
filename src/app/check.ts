import { existsSync, statfsSync } from 'node:fs';
import type { Config } from '../config.ts';
import { newId } from '../domain/ids.ts';
import { below, STRIPE_TIMEOUT_MS } from '../limits.ts';
import { openPhotoStorage } from '../photos/open-photos.ts';
import { newPhotoName, photoFailureCause } from '../photos/photo-storage.ts';
import { createRouter } from '../planning/router.ts';
import { connect, type Sql } from '../postgres/connect.ts';
import { mayMigrate, pendingMigrations } from '../postgres/migrate.ts';
import { Closers } from '../runtime/closers.ts';
import { lackOfRoom, makeDataDir } from '../runtime/data-dir.ts';
import { MIGRATIONS } from '../runtime/database.ts';
import { readRedis } from '../runtime/redis-check.ts';
import { databaseRemedy, redisRemedy } from '../runtime/remedies.ts';
import { StartError } from '../runtime/start-error.ts';
import { checkTls } from '../runtime/tls.ts';
import { CREDENTIALS } from '../runtime/vendor-watch.ts';
import { createLogger, errorFields } from '../telemetry.ts';
import { createGeocoder } from '../vendors/geocoder.ts';
import { urlBelow } from '../vendors/get-json.ts';
import { createHttpExchange, type ExchangeReply } from '../vendors/http-exchange.ts';
import type { RetryLater } from '../vendors/retry-later.ts';
import { withTimeout } from '../with-timeout.ts';
import { tryQueuePool } from './queues.ts';
import { openStripe, openTwilio } from './vendors.ts';

/** Most by which this machine's clock may differ from Postgres's: signatures of vendors hold for minutes. */
const MAX_CLOCK_DIFFERENCE_MS = 30_000;
/** Longest check of a setting against what it names. Above STRIPE_TIMEOUT_MS. */
const CHECK_TIMEOUT_MS = 25_000;
/** Longest wait of a check for the service's own public address. Below CHECK_TIMEOUT_MS. */
const PUBLIC_CHECK_MS = 5_000;

below({ STRIPE_TIMEOUT_MS }, { CHECK_TIMEOUT_MS });
below({ PUBLIC_CHECK_MS }, { CHECK_TIMEOUT_MS });

/** What became of the check of a setting, in words that hold no value of a setting. */
export type Check = {
  readonly setting: string;
  /** `unknown`: it could not be tried from here, or not now. */
  readonly status: 'ok' | 'failed' | 'unknown' | 'not_set';
  readonly says: string;
};

/** Something that does not work; the message is for the operator. */
class Failed extends Error {}

/** Nothing can be said yet; the message says why. */
class Unknown extends Error {}

/** Says how well a setting works; nothing where it is not set. */
type Try = (config: Config, isRoll: boolean) => Promise<string> | '' | null;

const TRIES: Readonly<Record<string, Try>> = {
  DATABASE_URL: tryDatabase,
  'the schema': ({ databaseUrl }, isRoll) => databaseUrl && onDatabase(databaseUrl, (sql) => readSchema(sql, isRoll)),
  'the clock': ({ databaseUrl }) => databaseUrl && onDatabase(databaseUrl, compareClocks),
  REDIS_URL: ({ redisUrl }) => redisUrl && tryRedis(redisUrl),
  DATA_DIR: tryDataDir,
  BASE_URL: ({ baseUrl }) => baseUrl && tryPublicAddress(baseUrl),
  TRACKING_URL: ({ trackingUrl }) => trackingUrl && tryPublicAddress(trackingUrl),
  TLS_CERT_FILE: (config) => config.tls && tryTls(config),
  [CREDENTIALS.stripe]: (config) => config.stripe && tryStripe(config),
  [CREDENTIALS.twilio]: (config) => config.twilio && tryTwilio(config),
  GEOCODER_URL: ({ geocoderUrl, supportEmail }) => geocoderUrl && tryGeocoder(geocoderUrl, supportEmail),
  ROUTER_URL: ({ routerUrl }) => routerUrl && tryRouter(routerUrl),
  S3_BUCKET: (config) => config.photoBucket && tryBucket(config),
};

/**
 * Tries every setting against what it names. Nothing is charged, sent or changed; DATA_DIR is made.
 *
 * @param isRoll whether a schema on which the build before does not start is a failure
 */
export function checkSettings(config: Config, isRoll = false): Promise<Check[]> {
  return Promise.all(Object.entries(TRIES).map(([setting, attempt]) => check(setting, attempt, config, isRoll)));
}

async function check(setting: string, attempt: Try, config: Config, isRoll: boolean): Promise<Check> {
  try {
    const trying = attempt(config, isRoll);
    if (!trying) return { setting, status: 'not_set', says: '' };
    const late = () => new Failed('does not answer in time');
    return { setting, status: 'ok', says: await withTimeout(trying, CHECK_TIMEOUT_MS, late) };
  } catch (error) {
    if (error instanceof Unknown) return { setting, status: 'unknown', says: error.message };
    const known = error instanceof Failed || error instanceof StartError ? error.message : null;
    const { name, code } = errorFields(error);
    return { setting, status: 'failed', says: known ?? `fails: ${name}${code ? ` ${code}` : ''}` };
  }
}

function tryDatabase({ databaseUrl, redisUrl }: Config): Promise<string> | '' | null {
  return (
    databaseUrl &&
    onDatabase(databaseUrl, async (sql) => {
      const says = await readVersion(sql);
      // The queues have a client of their own.
      if (!redisUrl) await tryQueuePool(databaseUrl);
      return says;
    })
  );
}

async function onDatabase(url: string, ask: (sql: Sql) => Promise<string>): Promise<string> {
  // Its file of sslrootcert may be missing.
  let sql: Sql | undefined;
  try {
    sql = connect({ url, max: 1, applicationName: 'sameday check', deadlineMs: CHECK_TIMEOUT_MS });
    return await ask(sql);
  } catch (error) {
    const remedy = error instanceof Failed ? null : databaseRemedy(error);
    throw remedy === null ? error : new Failed(remedy);
  } finally {
    await sql?.end({ timeout: 1 });
  }
}

async function readVersion(sql: Sql): Promise<string> {
  const [row] = await sql`
    select current_setting('server_version') as version, current_setting('server_version_num')::int4 as number`;
  if (row?.number < 150_000) throw new Failed(`is Postgres ${row?.version}: 15 or newer is needed`);
  return `Postgres ${row?.version}`;
}

async function readSchema(sql: Sql, isRoll: boolean): Promise<string> {
  const pending = await pendingMigrations(sql, { dir: MIGRATIONS }).catch((error: Error) => {
    throw error.name === 'MigrationRefused' ? new Failed(error.message) : error;
  });
  const { first, beside, endsBuildBefore, newer } = pending;
  if (newer !== null) return `is that of a newer version, by ${newer}, which takes this one`;
  if (first.length + beside.length === 0) return 'is that of this version';
  if (!(await mayMigrate(sql)))
    throw Object.assign(new Error('The start may not change the tables'), { code: '42501' });
  const changes = first.length > 0 ? [`gets ${first.length} changes at the next start`] : [];
  const files = beside.map(({ name, progress }) => `${name} (${progress ?? 'not begun'})`);
  const said = [...changes, ...(files.length > 0 ? [`gets beside the service ${files.join(', ')}`] : [])].join('; ');
  if (!endsBuildBefore) return said;
  if (isRoll) throw new Failed(`${said}, on which the build before does not start: stop every process first`);
  return `${said}, on which the build before does not start`;
}

async function compareClocks(sql: Sql): Promise<string> {
  const [row] = await sql`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`;
  const aheadMs = Date.now() - row?.ms;
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  if (Math.abs(aheadMs) <= MAX_CLOCK_DIFFERENCE_MS) return 'agrees with that of Postgres';
  throw new Failed(`is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of Postgres: set both by NTP`);
}

/** A delivery ends with its photo on disk, so an almost full one is told before it is full. */
async function tryDataDir(config: Config): Promise<string> {
  makeDataDir(config);
  if (!existsSync(config.dataDir)) return 'is not used';
  const { bavail, bsize } = statfsSync(config.dataDir);
  const lack = lackOfRoom(bavail * bsize);
  if (lack !== null) throw new Failed(lack);
  return 'can be written into';
}

/** Asks for the health of whatever answers at a public address: a proxy, or this service. */
async function tryPublicAddress(url: string): Promise<string> {
  const { status, headers } = await askHealth(url);
  if (status === 200 && headers['x-request-id'] !== undefined) return 'leads to the service';
  if ([502, 503, 504].includes(status)) {
    throw new Unknown(`a proxy answers ${status}: start the service, then check again`);
  }
  throw new Failed(`leads to something else, which answers ${status}: correct the address, or the proxy`);
}

async function askHealth(base: string): Promise<ExchangeReply> {
  const { protocol, hostname, port, pathname } = urlBelow(base, '/healthz');
  const place = { host: hostname.replace(/^\[|\]$/g, ''), port, path: pathname, method: 'GET', headers: {} };
  const exchange = createHttpExchange();
  try {
    return await exchange.send({ ...place, protocol: protocol as 'http:' | 'https:', timeoutMs: PUBLIC_CHECK_MS });
  } catch (error) {
    const { code = '' } = errorFields(error);
    if (code === 'ENOTFOUND') throw new Failed('has a host that the DNS does not know: correct it, or enter it there');
    if (/CERT|ISSUER|SIGNATURE/.test(code)) throw new Failed(`has a certificate that is not trusted (${code})`);
    throw new Unknown(`does not answer from here (${code}): look at its name in the DNS, the service and its proxy`);
  } finally {
    exchange.close();
  }
}

const NOT_KEPT =
  'answers, but has neither appendonly nor a save: when it restarts, queued jobs are lost and come late. Nothing ' +
  'owed is lost, as the outbox in Postgres hands it over again. Set appendonly yes';

async function tryRedis(url: string): Promise<string> {
  const { memoryPolicy, isKept } = await readRedis(url).catch((error: unknown) => {
    const remedy = redisRemedy(error);
    throw remedy === null ? error : new Failed(remedy);
  });
  if (memoryPolicy !== undefined && memoryPolicy !== 'noeviction') {
    throw new Failed(`has maxmemory-policy ${memoryPolicy}, by which jobs are lost: set noeviction`);
  }
  return isKept === false ? NOT_KEPT : 'answers';
}

/** Looks for the charge of an order that there is not. */
const tryStripe = ({ stripe: settings, sandbox }: Config): Promise<string> =>
  withClosers(async (closers) => {
    const stripe = await openStripe(settings, closers);
    const found = await stripe.findCharge(newId());
    if (found.kind === 'retry_later') throw new Failed(refusalOf(found));
    const isTest = settings?.secretKey.includes('_test_') ?? false;
    return isTest && !sandbox ? 'a key of the test mode: no store is charged' : 'is accepted';
  });

/** Looks for a text to the sending number, which gets none. */
const tryTwilio = (config: Config): Promise<string> =>
  withClosers(async (closers) => {
    const texts = await openTwilio(config, closers);
    const found = await texts.find({ to: config.twilio?.from ?? '', ending: newId(), sinceMs: Date.now() });
    const sender = await texts.findSender();
    for (const looked of [found, sender]) if (looked.kind === 'retry_later') throw new Failed(refusalOf(looked));
    if (sender.kind === 'not_found') throw new Failed('TWILIO_FROM is no number of this account that may text');
    return 'are accepted; whether carriers take the number shows with the first text';
  });

const refusalOf = ({ reason }: RetryLater): string =>
  reason === 'misconfigured' ? 'refused: correct the setting' : `no usable answer (${reason})`;

async function tryTls(config: Config): Promise<string> {
  const endsAt = checkTls(config);
  if (endsAt !== null && endsAt.getTime() <= Date.now()) throw new Failed(`ended on ${dayOf(endsAt)}: renew it`);
  return endsAt === null ? 'fits its key' : `fits its key, and ends on ${dayOf(endsAt)}`;
}

/** As `2026-01-31`, in UTC. */
const dayOf = (time: Date): string => time.toISOString().slice(0, 10);

async function tryGeocoder(url: string, contact: string): Promise<string> {
  const geocoder = createGeocoder({ url, contact, timeoutMs: CHECK_TIMEOUT_MS });
  const { kind } = await geocoder.geocode('San Francisco, CA', 'check');
  if (kind === 'unavailable' || kind === 'busy') throw new Failed('gives no usable answer');
  return 'answers';
}

async function tryRouter(url: string): Promise<string> {
  const router = createRouter({ url, timeoutMs: CHECK_TIMEOUT_MS });
  const places = [
    { lat: 37.7749, lng: -122.4194 },
    { lat: 37.7793, lng: -122.4193 },
  ];
  const { kind } = await router.table({ places, sources: [0], destinations: [1] });
  router.close();
  // A map of elsewhere refuses these places.
  if (kind === 'unavailable') throw new Failed('gives no usable answer');
  return 'answers';
}

/** Looks for a photo that there is not. */
const tryBucket = (config: Config): Promise<string> =>
  withClosers(async (closers) => {
    const storage = await openPhotoStorage(config, closers);
    await storage.get(newPhotoName()).catch((error: unknown) => {
      const cause = photoFailureCause(error);
      throw cause === null ? error : new Failed(`${cause} (${errorFields(error).code})`);
    });
    return 'answers; whether the key may read and write shows with the first photo';
  });

async function withClosers(work: (closers: Closers) => Promise<string>): Promise<string> {
  const closers = new Closers(createLogger('silent'));
  try {
    return await work(closers);
  } finally {
    await closers.closeAll();
  }
}
