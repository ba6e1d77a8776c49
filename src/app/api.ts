import type { Config } from '../config.ts';
import { createPaymentWait } from '../dispatch/payment-wait.ts';
import type { PaymentStatus } from '../domain/order.ts';
import { createRedispatchJob } from '../jobs/redispatch.ts';
import { MAX_PAYMENT_WAITERS, PAYMENT_WAIT_MISSES, REDISPATCH_CONCURRENCY } from '../limits.ts';
import { Matcher } from '../matcher/matcher.ts';
import { type QueueBackend, startWorker } from '../queues/queues.ts';
import type { Relay } from '../queues/relay.ts';
import { finishOutbox } from '../store/outbox.ts';
import { loadPaymentStatuses } from '../store/payments.ts';
import { loadTiers } from '../store/tiers.ts';
import { findTrackedByIds, findTrackedByToken } from '../store/tracked.ts';
import { errorFields, type Logger } from '../telemetry.ts';
import { createTracking } from '../tracking/live.ts';
import { createServer, type HttpServer } from '../transport/server.ts';
import { openTransport } from '../transport/transport.ts';
import { followChanges } from './change-feed.ts';
import type { Closers } from './closers.ts';
import { openCredentialCaches } from './credential-caches.ts';
import type { Database } from './database.ts';
import { buildDispatch, type OrderEvents } from './dispatch.ts';
import { openDriverLive } from './driver-live.ts';
import type { Metrics } from './metrics.ts';
import { createPhotos, openPhotoStorage } from './photos.ts';
import { openPositionBus } from './position-bus.ts';
import { apiRoutes } from './routes.ts';

export type Api = {
  readonly server: HttpServer;
  /** Tells this process what a worker in it did to an order; `payment` where that was settled. */
  readonly settled: (orderId: string, payment: PaymentStatus | null) => void;
};

/** The `api` role: HTTP, sockets, matcher, group commit, relay of its own commits and the redispatch worker. */
export async function buildApi(
  parts: {
    readonly config: Config;
    readonly database: Database;
    readonly backend: QueueBackend;
    readonly relay: Relay;
    readonly origin: string;
    readonly now: () => number;
    readonly metrics: Metrics;
  },
  logger: Logger,
  closers: Closers,
): Promise<Api> {
  const { config, origin, now } = parts;
  const { sql, commits, isAway } = parts.database;
  let tiers = await loadTiers(sql);
  const matcher = new Matcher(tiers);
  const paymentWait = createPaymentWait(
    (orderIds) => loadPaymentStatuses(sql, orderIds),
    config.paymentWaitMs,
    MAX_PAYMENT_WAITERS,
    PAYMENT_WAIT_MISSES,
  );
  const failed = (error: unknown) => logger.warn({ err: errorFields(error) }, 'a page could not be kept current');
  const transport = openTransport(config.tls ?? undefined);
  closers.add('transport', () => transport.close());
  const tracking = createTracking({
    store: {
      findTrackedByToken: (token) => findTrackedByToken(sql, token),
      findTrackedByIds: (orderIds) => findTrackedByIds(sql, orderIds),
    },
    matcher,
    transport,
    now,
    failed,
  });
  closers.add('tracking', () => tracking.close());

  // Whoever is told of changes exists only after the operations that tell; they speak when requests come.
  const announce: OrderEvents = {
    orderChanged(orderId, driverId) {
      void tracking.orderChanged(orderId);
      if (driverId !== null) driverLive.driverChanged(driverId);
    },
    driverChanged: (driverId) => driverLive.driverChanged(driverId),
    driverMoved(_driverId, orderId, position) {
      if (orderId !== null) tracking.driverMoved(orderId, position);
    },
    sharePosition: (position) => positionBus?.share(position),
  };
  const dispatch = buildDispatch(
    {
      config,
      sql,
      commits,
      isAway,
      matcher,
      tiers: () => tiers,
      now,
      origin,
      relay: parts.relay,
      paymentWait,
      announce,
    },
    logger,
    closers,
  );
  const credentials = openCredentialCaches(sql);
  const driverLive = openDriverLive(sql, credentials.drivers, dispatch, now, failed, closers);
  const positionBus = await openPositionBus(config, origin, dispatch.positions.receive, logger, closers);
  const photos = createPhotos(await openPhotoStorage(config, closers), sql, logger);
  const server = createServer(transport, {
    routes: apiRoutes({
      config,
      sql,
      credentials,
      dispatch,
      matcher,
      now,
      metrics: parts.metrics,
      photos,
      failed,
    }),
    sockets: [tracking.behaviour, driverLive.behaviour],
    logger,
    mode: config.sandbox ? 'sandbox' : 'live',
    supportEmail: config.supportEmail,
    trustProxy: config.trustProxy,
    observe: parts.metrics.observeRequest,
  });
  closers.add('sockets', () => server.close());
  parts.metrics.watch(matcher, dispatch.groupCommit, tracking, server);

  // One after another: what was read earlier must not replace what was read later.
  let reloading = Promise.resolve();
  const reloadTiers = (): Promise<void> => {
    reloading = reloading
      .catch(() => undefined)
      .then(async () => {
        tiers = await loadTiers(sql);
        matcher.setTiers(tiers);
      });
    return reloading;
  };
  await followChanges(
    {
      sql,
      origin,
      dispatch,
      announce,
      reloadTiers,
      paymentsMayBeSettled: paymentWait.mayBeSettled,
      everythingChanged() {
        tracking.everythingChanged();
        driverLive.everythingChanged();
      },
    },
    logger,
    closers,
  );
  const redispatchJob = createRedispatchJob({
    expire: dispatch.redispatch.expire,
    finish: (outboxId) => finishOutbox(sql, outboxId, null),
  });
  const concurrency = { concurrency: REDISPATCH_CONCURRENCY, ratePerSecond: 0, isAway };
  const worker = startWorker('redispatch', parts.backend, redispatchJob, concurrency, logger);
  closers.add('redispatch worker', () => worker.close());

  return {
    server,
    settled(orderId, payment) {
      if (payment) paymentWait.settled(orderId, payment);
      void tracking.orderChanged(orderId);
    },
  };
}
