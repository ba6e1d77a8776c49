import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { OrderEvents } from '../dispatch/order-events.ts';
import { createPaymentWait } from '../dispatch/payment-wait.ts';
import { createRedispatchJob, REDISPATCH_CONCURRENCY } from '../dispatch/redispatch-job.ts';
import { removeServiceFile, writeServiceFile } from '../embedded/service-file.ts';
import { atMost, below, MAX_REQUESTS_IN_FLIGHT } from '../limits.ts';
import { createDatabaseClock } from '../postgres/clock.ts';
import { JobPace } from '../queues/job-pace.ts';
import { JOB_FINISH_MS } from '../queues/queues.ts';
import { CLOSE_ALL_MS, CLOSE_DEADLINE_MS, CLOSE_FLOOR_MS, Closers, MAX_PARTS } from '../runtime/closers.ts';
import { makeDataDir } from '../runtime/data-dir.ts';
import { checkApiLock, holdApiLock, openDatabase } from '../runtime/database.ts';
import { openMetrics } from '../runtime/metrics.ts';
import type { ServiceParts } from '../runtime/parts.ts';
import { asStartError } from '../runtime/start-error.ts';
import { checkTls } from '../runtime/tls.ts';
import { openStore } from '../store/store.ts';
import { createGatheringLogger, createLogger, type Logger } from '../telemetry.ts';
import { createRequestLog, type NoteRequest } from '../transport/request-log.ts';
import { createServer, type HttpServer } from '../transport/server.ts';
import { openTransport } from '../transport/transport.ts';
import { buildApi } from './api.ts';
import { openQueueBackend, openRelay } from './queues.ts';
import { healthRoutes } from './routes.ts';
import { keepOffRealStores, openSandbox, type Sandbox, withGeocoder, withRouter } from './sandbox.ts';
import { tellOfEvents, withStripe } from './stripe.ts';
import { openWorkers, startWorkers } from './worker.ts';

/** Most failed requests a second that get a line each, about 200 bytes; the others are counted in one. */
const MAX_FAILED_LINES = 500;
/** Most of them in the sandbox, whose terminal a person reads. Below MAX_FAILED_LINES. */
const MAX_SANDBOX_FAILED_LINES = 10;
/** Most replies that wait for a charge; one more says `processing` at once. Below MAX_REQUESTS_IN_FLIGHT. */
const MAX_PAYMENT_WAITERS = 2_000;
/** Waits in a row without a result after which replies stop waiting, until one probe has a result. */
const PAYMENT_WAIT_MISSES = 5;
/** Longest wait of a stop for requests in flight. Leaves JOB_FINISH_MS and the floors of CLOSE_ALL_MS. */
const DRAIN_MS = 3_500;

below({ MAX_SANDBOX_FAILED_LINES }, { MAX_FAILED_LINES });
below({ MAX_PAYMENT_WAITERS }, { MAX_REQUESTS_IN_FLIGHT });
below({ JOB_FINISH_MS }, { CLOSE_DEADLINE_MS });
atMost(
  { 'DRAIN_MS, JOB_FINISH_MS and the floors': DRAIN_MS + JOB_FINISH_MS + CLOSE_FLOOR_MS * MAX_PARTS },
  { CLOSE_ALL_MS },
);

export type Service = {
  /** Its URL on this machine; null for a worker that does not listen. */
  readonly url: string | null;
  readonly sandbox: Sandbox | null;
  /**
   * Gives notice, stops accepting requests, finishes those in flight, closes everything. Closing twice is safe.
   *
   * @param withinMs longest time in milliseconds; by default the notice and CLOSE_ALL_MS
   */
  close(withinMs?: number): Promise<void>;
};

/**
 * Builds and starts the service. If it throws, what was opened is closed again.
 *
 * @param say prints a line for the operator
 * @param ended called when the service cannot go on, because another process took its place
 * @throws {StartError} if the operator has to change something first
 */
export async function startService(
  config: Config,
  say: (line: string) => void,
  ended: (reason: string) => void,
): Promise<Service> {
  const logger = createLogger(config.logLevel);
  const closers = new Closers(logger);
  try {
    return await start(config, say, ended, logger, closers);
  } catch (error) {
    await closers.closeAll();
    throw error;
  }
}

async function start(
  settings: Config,
  say: (line: string) => void,
  ended: (reason: string) => void,
  logger: Logger,
  closers: Closers,
): Promise<Service> {
  makeDataDir(settings);
  const tlsEndsAt = checkTls(settings);
  const withMap = await withRouter(await withGeocoder(settings, closers), closers);
  const { config, standIn } = await withStripe(withMap, closers);
  const isApi = config.roles.has('api');
  const hasRedis = config.redisUrl !== null;
  const database = await openDatabase(config, say, logger, closers, async (url) => {
    await keepOffRealStores(config, url);
    if (isApi) await checkApiLock(url, hasRedis);
  });
  const replaced = new AbortController();
  if (isApi) {
    await holdApiLock({ ...database, hasRedis }, logger, closers, () => {
      replaced.abort();
      ended('another API process took over');
    });
  }
  const clock = await createDatabaseClock(database.sql, logger);
  closers.add('clock', () => clock.close());
  const store = openStore(database);
  const metrics = openMetrics(database, store);
  if (tlsEndsAt) metrics.watchTls(tlsEndsAt);
  const backend = await openQueueBackend(config, database, logger, closers);
  const pace = new JobPace(isApi && config.roles.has('worker'));
  const events = new OrderEvents();
  const paymentWait = createPaymentWait(store, config.paymentWaitMs, MAX_PAYMENT_WAITERS, PAYMENT_WAIT_MISSES);
  const relay = openRelay(config, backend, store, pace, paymentWait.isAwaited, clock, logger, closers);
  const shared = { config, database, store, backend, relay, pace, events, paymentWait };
  let url: string | null = null;
  let isStarted = false;
  const trackingUrl = () => config.trackingUrl ?? config.baseUrl ?? url ?? `http://localhost:${config.port}`;
  const noteRequest = openRequestLog(config);
  const told = { clock, metrics, logger, noteRequest, closers };
  const parts: ServiceParts = { ...shared, ...told, isStarted: () => isStarted, trackingUrl };

  const api = isApi ? await buildApi(parts) : null;
  const server = api?.server ?? (config.portIsSet ? openHealthServer(parts) : null);
  // Two processes without Redis must not take orders for the same drivers, not even for the time of a notice.
  if (server && replaced.signal.aborted) server.refuse();
  else if (server) replaced.signal.addEventListener('abort', () => server.refuse());
  url = server ? await listen(server, config) : null;
  const work = config.roles.has('worker')
    ? await startWorkers(parts, trackingUrl(), isApi ? url : null)
    : openWorkers(parts);
  if (api) work('redispatch', createRedispatchJob({ ...api, store }), { concurrency: REDISPATCH_CONCURRENCY });
  if (url) tellOfEvents(standIn, config, url);
  // Closed before the workers, which wait for the jobs that they have begun.
  closers.add('job pace', () => pace.close());
  if (!config.databaseUrl && url) {
    writeServiceFile(config.dataDir, {
      mode: config.sandbox ? 'sandbox' : 'live',
      urls: { api: url, ...(standIn ? { stripe: standIn.url } : {}) },
      databaseUrl: database.url,
      redisUrl: config.redisUrl,
    });
    closers.add('service file', () => removeServiceFile(config.dataDir));
  }
  const sandbox = config.sandbox && api && url ? await openSandbox(config, database, url, logger, closers) : null;
  if (server) closers.add('requests', () => drain(server), DRAIN_MS + CLOSE_DEADLINE_MS);
  const noticeMs = api ? config.stopNoticeSeconds * 1_000 : 0;
  if (!config.sandbox) void tellOfSettings(config, logger);
  isStarted = true;
  const stop = async (withinMs: number) => {
    const untilMs = performance.now() + withinMs;
    // First: balancers read that it is not ready, and another process plans, while nothing is refused yet.
    isStarted = false;
    void api?.stopPlanning();
    // A stop that is late, because it waited for the start, has a shorter notice; a process that lost its lock none.
    const thisNoticeMs = Math.min(noticeMs, Math.max(withinMs - CLOSE_ALL_MS, 0));
    await pause(thisNoticeMs, undefined, { signal: replaced.signal }).catch(() => undefined);
    await closers.closeAll(untilMs - performance.now());
  };
  let stopping: Promise<void> | undefined;
  return {
    url,
    sandbox,
    close(withinMs = noticeMs + CLOSE_ALL_MS) {
      stopping ??= stop(withinMs);
      return stopping;
    },
  };
}

/** Tries every setting once the service runs, which goes on with those that do not work. */
async function tellOfSettings(config: Config, logger: Logger): Promise<void> {
  const { checkSettings } = await import('./check.ts');
  for (const { setting, status, says } of await checkSettings(config)) {
    if (status === 'failed') logger.warn({ setting, says }, 'a setting does not work');
  }
}

function openRequestLog({ requestLog, sandbox }: Config): NoteRequest | undefined {
  if (requestLog === 'off') return undefined;
  const lines = createGatheringLogger();
  const maxFailed = sandbox ? MAX_SANDBOX_FAILED_LINES : MAX_FAILED_LINES;
  return createRequestLog(requestLog, (fields, message) => lines.info(fields, message), maxFailed);
}

/** The health checks and metrics of a worker with a port. */
function openHealthServer(parts: ServiceParts): HttpServer {
  const { config, store, metrics, logger, noteRequest, closers } = parts;
  const server = createServer(openTransport(), {
    routes: healthRoutes(config, store, metrics, parts.isStarted),
    sockets: [],
    logger,
    mode: config.sandbox ? 'sandbox' : 'live',
    supportEmail: config.supportEmail,
    trustProxy: config.trustProxy,
    noteRequest,
  });
  closers.add('health server', () => server.close());
  return server;
}

async function listen(server: HttpServer, config: Config): Promise<string> {
  const { port } = await server.listen(config.host, config.port).catch(asStartError);
  const host = ['0.0.0.0', '::'].includes(config.host) ? 'localhost' : config.host;
  return `${config.tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Refuses new requests, sends the sockets to another process, and waits for the requests in flight. */
async function drain(server: HttpServer): Promise<void> {
  server.stopAccepting();
  await server.drain(DRAIN_MS);
}
