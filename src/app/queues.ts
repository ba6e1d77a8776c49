import { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { Config } from '../config.ts';
import { below, LOSS_REPORT_MS, QUEUE_DB_CONNECTIONS } from '../limits.ts';
import type { Clock } from '../postgres/clock.ts';
import { pgPools } from '../postgres/pg-pool.ts';
import type { QueueBackend } from '../queues/backend.ts';
import type { JobPace } from '../queues/job-pace.ts';
import { createQueues, migrateQueues } from '../queues/queues.ts';
import { createRelay, type Relay } from '../queues/relay.ts';
import { startWriteMarks } from '../queues/write-marks.ts';
import type { Closers } from '../runtime/closers.ts';
import type { Database } from '../runtime/database.ts';
import { refuseWrongRedis } from '../runtime/redis-check.ts';
import { redisCode, redisRemedy } from '../runtime/remedies.ts';
import { asDatabaseError } from '../runtime/start-error.ts';
import { WEBHOOK_QUEUES } from '../store/events/webhook-parts.ts';
import { QUEUES, type QueueName } from '../store/outbox-rows.ts';
import type { Store } from '../store/store.ts';
import { atMostEvery, errorFields, type Logger } from '../telemetry.ts';
import { vendorRates } from './vendors.ts';

/** Silence after which a connection to Redis is opened anew. Above the 10 s for which BullMQ blocks. */
const REDIS_SILENCE_MS = 12_000;
/** Longest pause before a Redis that loads its data is asked again. Its own estimate can be 10 s and more. */
const REDIS_LOADING_RETRY_MS = 500;
/** Longest query of BullMQ on Postgres; then its connection is closed. A cut network would keep it. */
const QUEUE_QUERY_MS = 30_000;
/**
 * Time after which Postgres ends a statement of BullMQ's. Below QUEUE_QUERY_MS: the session of a connection that is
 * closed in the middle of a statement would last as long as the statement, beside the one that follows it.
 */
const QUEUE_STATEMENT_MS = 25_000;
/**
 * Silence after which the system asks whether the other end is there, which takes it 10 s more. BullMQ sets as much
 * itself, but not where the pool has keepAlive.
 */
const QUEUE_KEEPALIVE_MS = 10_000;
/** Time for which BullMQ has Redis block while a worker waits for jobs. */
const BULLMQ_BLOCK_MS = 10_000;
/** Longest wait of a stop for the last mark of what Redis has, so that a silent server leaves time for other parts. */
const LAST_MARK_MS = 500;

const BULLMQ_SCHEMA = 'bullmq';
const QUEUES_NAME = 'sameday-queues';

below({ BULLMQ_BLOCK_MS }, { REDIS_SILENCE_MS });
below({ QUEUE_STATEMENT_MS }, { QUEUE_QUERY_MS });

/**
 * Opens a connection to Redis that reconnects without end; calls on it need deadlines of their own. A
 * connection that owes a reply for REDIS_SILENCE_MS is opened anew, as the server or the network has gone
 * silent.
 */
export function openRedis(url: string, logger: Logger, closers: Closers): Redis {
  const redis = new Redis(url, {
    maxRetriesPerRequest: null,
    socketTimeout: REDIS_SILENCE_MS,
    maxLoadingRetryTime: REDIS_LOADING_RETRY_MS,
    // The server became a replica; its name, or a proxy, leads to the new primary. Redis 6 puts the word into
    // that of a script, as all of BullMQ's writes are.
    reconnectOnError: (error) => error.message.includes('READONLY'),
    // Whoever subscribes does so on each `ready`. Nobody would hear that Redis refuses the client's own attempt.
    autoResubscribe: false,
  });
  closers.add('Redis', () => redis.disconnect());
  redis.on(
    'error',
    atMostEvery(LOSS_REPORT_MS, (error: Error) => {
      const because = redisRemedy(error);
      logger.warn({ err: errorFields(error), code: redisCode(error), because }, 'Redis is not reachable');
    }),
  );
  return redis;
}

/** Opens BullMQ's backend: Redis if it is configured, else the same Postgres with a pool of its own. */
export async function openQueueBackend(
  config: Pick<Config, 'redisUrl'>,
  database: Pick<Database, 'url'>,
  logger: Logger,
  closers: Closers,
): Promise<QueueBackend> {
  if (config.redisUrl) {
    await refuseWrongRedis(config.redisUrl);
    return { kind: 'redis', connection: openRedis(config.redisUrl, logger, closers), prefix: 'sameday' };
  }
  const pools = pgPools(database.url, BULLMQ_SCHEMA);
  // On a pool without a query time-out, because it may wait for another process that migrates.
  await onOne(pools, migrateQueues).catch(asDatabaseError);
  const pool = pools.open({
    application_name: QUEUES_NAME,
    max: QUEUE_DB_CONNECTIONS,
    keepAlive: true,
    keepAliveInitialDelayMillis: QUEUE_KEEPALIVE_MS,
    query_timeout: QUEUE_QUERY_MS,
    statement_timeout: QUEUE_STATEMENT_MS,
  });
  closers.add('queue pool', () => pool.end());
  // Every queue and worker listens for errors; Node would take that many listeners for a leak.
  pool.setMaxListeners(0);
  pool.on('error', (error) => logger.warn({ err: errorFields(error) }, 'a queue connection was lost'));
  return { kind: 'postgres', pool };
}

/** Opens a connection as the queues on Postgres do, and closes it. Rejects where they could not. */
export function tryQueuePool(url: string): Promise<void> {
  return onOne(pgPools(url, BULLMQ_SCHEMA), async (pool) => {
    await pool.query('select 1');
  });
}

/** Works on a pool of one connection, which it closes. */
async function onOne(pools: ReturnType<typeof pgPools>, work: (pool: Pool) => Promise<void>): Promise<void> {
  const pool = pools.open({ application_name: QUEUES_NAME, max: 1 });
  try {
    await onPrimary(() => work(pool), pools.tries);
  } finally {
    await pool.end();
  }
}

/** Each try that fails, as where it meets a standby, makes the next one ask the next host. */
async function onPrimary(work: () => Promise<void>, tries: number): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (tries <= 1) throw error;
    await onPrimary(work, tries - 1);
  }
}

/**
 * Opens the relay of this process.
 *
 * @param isAwaited whether a reply waits for the charge of this order
 */
export function openRelay(
  config: Config,
  backend: QueueBackend,
  store: Pick<Store, 'extendLease' | 'readRedisMark' | 'noteRedisMark'>,
  pace: JobPace,
  isAwaited: (orderId: string) => boolean,
  clock: Clock,
  logger: Logger,
  closers: Closers,
): Relay {
  const marks = startWriteMarks(backend, store, logger);
  closers.add('write marks', () => marks.close(), LAST_MARK_MS);
  const queues = createQueues(backend, marks, logger);
  closers.add('queues', () => Promise.all([...queues.values()].map((queue) => queue.close())));
  const { charges, texts } = vendorRates(config);
  const rates: Partial<Record<QueueName, number>> = { charge: charges, refund: charges, sms: texts, text: texts };
  const limited = charges > 0 || texts > 0;
  // The rate of webhooks is limited by the stores' servers, so they always need fair shares.
  const fair = new Map((limited ? QUEUES : WEBHOOK_QUEUES).map((name) => [name, rates[name] ?? 0]));
  const relay = createRelay(queues, store, fair, pace, isAwaited, clock, logger);
  closers.add('relay', () => relay.close());
  return relay;
}
