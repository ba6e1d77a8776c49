import { createPositionBus, type PositionBus } from '../bus/positions.ts';
import { LoadedTiers } from '../dispatch/loaded-tiers.ts';
import type { PaymentWait } from '../dispatch/payment-wait.ts';
import { createDriverAllowances } from '../driver-app/allowance.ts';
import { createDriverLive, type DriverLive } from '../driver-app/live.ts';
import { openPushes } from '../driver-app/open-pushes.ts';
import type { Pushes } from '../driver-app/pushes.ts';
import { EventCursors } from '../events/event-cursors.ts';
import { openEventWaits } from '../events/open-waits.ts';
import { atMost, LOSS_REPORT_MS, WEBHOOK_TIMEOUT_MS } from '../limits.ts';
import { Matcher } from '../matcher/matcher.ts';
import { createPhotos, openPhotoStorage } from '../photos/open-photos.ts';
import { openRoadTimes } from '../planning/open-roads.ts';
import { listenAnew } from '../postgres/connect.ts';
import { connectionsWithin, readLimits } from '../runtime/open-files.ts';
import type { ServiceParts } from '../runtime/parts.ts';
import { SANDBOX_MAX_WAIT_SECONDS, SANDBOX_ORDERS_PER_DRIVER, startTidying } from '../sandbox/tidying.ts';
import { atMostEvery, errorFields } from '../telemetry.ts';
import { createTracking, type Tracking } from '../tracking/live.ts';
import { createServer, type HttpServer } from '../transport/server.ts';
import { openTransport } from '../transport/transport.ts';
import { createWebhookClient } from '../vendors/webhook-client.ts';
import { followChanges } from './change-feed.ts';
import { openCredentialCaches } from './credential-caches.ts';
import { buildDispatch, type Dispatch } from './dispatch.ts';
import { openRedis } from './queues.ts';
import { apiRoutes } from './routes.ts';
import { openStripeRoutes } from './stripe.ts';

/** Longest test of a webhook. At most WEBHOOK_TIMEOUT_MS, so that a delivery has the time that a test had. */
const WEBHOOK_TEST_TIMEOUT_MS = 5_000;

atMost({ WEBHOOK_TEST_TIMEOUT_MS }, { WEBHOOK_TIMEOUT_MS });

export type Api = { readonly server: HttpServer } & Pick<Dispatch, 'stopPlanning' | 'redispatch'>;

/** Builds the `api` role: HTTP, sockets, matcher, operations and change feed. */
export async function buildApi(parts: ServiceParts): Promise<Api> {
  const { config, database, store, paymentWait, clock, logger, closers } = parts;
  const matcher = new Matcher(await store.loadTiers(), true);
  const tiers = new LoadedTiers(store, matcher, config.simulatedDrivers > 0 ? SANDBOX_MAX_WAIT_SECONDS : undefined);
  const dispatch = withTidying(
    parts,
    matcher,
    buildDispatch({ ...parts, matcher, tiers, roadTimes: openRoadTimes(parts) }),
  );
  const reportDeaf = atMostEvery(LOSS_REPORT_MS, () => logger.warn({}, 'notices do not arrive; listening begins anew'));
  const credentials = openCredentialCaches(store, () => {
    reportDeaf();
    listenAnew(database.sql);
  });
  const failed = (error: unknown) => logger.warn({ err: errorFields(error) }, 'a live page could not be updated');
  const transport = openTransport(config.tls ?? undefined);
  closers.add('transport', () => transport.close());
  const tracking = createTracking({ store, matcher, transport, now: clock.now, failed });
  closers.add('tracking', () => tracking.close());
  const allowances = createDriverAllowances(() => performance.now());
  const { drivers } = credentials;
  const driverLive = createDriverLive({ ...dispatch, drivers, store, allowances, now: clock.now, clock, failed });
  closers.add('driver sockets', () => driverLive.close());
  const positionBus = await openPositionBus(parts, dispatch);
  const pushes = await openPushes(parts);
  subscribe(parts, { tracking, driverLive, positionBus, pushes, paymentWait, dispatch });

  const eventWaits = await openEventWaits(parts);
  const eventCursors = new EventCursors(await store.readCursorKey());
  const photos = createPhotos(await openPhotoStorage(config, closers), store, logger, parts.metrics.observePhoto);
  const webhookClient = createWebhookClient({ sandbox: config.sandbox, timeoutMs: WEBHOOK_TEST_TIMEOUT_MS });
  const server = createServer(transport, {
    routes: [
      ...apiRoutes({
        ...parts,
        credentials,
        dispatch,
        matcher,
        allowances,
        pushKey: pushes.publicKey,
        photos,
        eventWaits,
        eventCursors,
        webhookClient,
        failed,
      }),
      ...(await openStripeRoutes(parts)),
    ],
    sockets: [tracking.behaviour, driverLive.behaviour],
    logger,
    mode: config.sandbox ? 'sandbox' : 'live',
    supportEmail: config.supportEmail,
    trustProxy: config.trustProxy,
    // In the sandbox it would hold for every port of localhost, whatever listens there.
    httpsOnly: config.tls !== null && !config.sandbox,
    limits: { maxOpenConnections: connectionsWithin(readLimits(), logger, config.sandbox ? 'info' : 'warn') },
    stopping() {
      eventWaits.close();
      webhookClient.close();
      paymentWait.end();
    },
    observe: parts.metrics.observeRequest,
    noteRequest: parts.noteRequest,
  });
  closers.add('sockets', () => server.close());
  parts.metrics.watch(matcher, dispatch.backlog, tracking, server);

  await followChanges({ ...parts, ...dispatch, tiers, credentials, secrets: credentials.feed });
  dispatch.startPlanning();
  return { server, stopPlanning: dispatch.stopPlanning, redispatch: dispatch.redispatch };
}

/** Adds what keeps the sandbox usable after a load test. */
function withTidying({ config, clock, logger, closers }: ServiceParts, matcher: Matcher, dispatch: Dispatch): Dispatch {
  if (config.simulatedDrivers === 0) return dispatch;
  const maxWaiting = SANDBOX_ORDERS_PER_DRIVER * config.simulatedDrivers;
  const tidying = startTidying({ matcher, redispatch: dispatch.redispatch, maxWaiting, clock, logger });
  closers.add('tidying', () => tidying.close());
  return { ...dispatch, placeRequest: tidying.heed(dispatch.placeRequest) };
}

/** Opens the bus of positions on Redis; null without Redis, when there is only one API process. */
async function openPositionBus(
  { config, database, logger, closers }: ServiceParts,
  { positions }: Dispatch,
): Promise<PositionBus | null> {
  if (!config.redisUrl) return null;
  const publisher = openRedis(config.redisUrl, logger, closers);
  const subscriber = openRedis(config.redisUrl, logger, closers);
  const bus = await createPositionBus(publisher, subscriber, database.processId, positions.receive, logger);
  closers.add('position bus', () => bus.close());
  return bus;
}

/** Subscribes the parts of this process to its order events. The change feed subscribes when it starts. */
function subscribe(
  { events }: Pick<ServiceParts, 'events'>,
  listeners: {
    readonly tracking: Tracking;
    readonly driverLive: DriverLive;
    readonly positionBus: PositionBus | null;
    readonly pushes: Pushes;
    readonly paymentWait: PaymentWait;
    readonly dispatch: Pick<Dispatch, 'redispatch'>;
  },
): void {
  const { tracking, driverLive, positionBus, pushes, paymentWait, dispatch } = listeners;
  // First, so that a reply that waits for its charge is not delayed by the pages.
  events.subscribe(paymentWait);
  events.subscribe({
    orderChanged(orderId, driverId) {
      void tracking.orderChanged(orderId);
      if (driverId !== null) tracking.driverChanged(driverId);
    },
    // After an order left a driver at another process, of which only the driver is known here.
    driverChanged: (driverId) => tracking.driverChanged(driverId),
    detailsChanged: (orderId) => void tracking.orderChanged(orderId),
    paymentRecorded: (orderId) => void tracking.orderChanged(orderId),
    everythingChanged: () => tracking.everythingChanged(),
    driverMoved(position, orderId) {
      if (orderId !== null) tracking.driverMoved(orderId, position);
    },
  });
  events.subscribe({
    orderChanged(_orderId, driverId) {
      if (driverId !== null) driverLive.driverChanged(driverId);
    },
    driverChanged: (driverId) => driverLive.driverChanged(driverId),
    driverFreed: (driverId) => driverLive.driverChanged(driverId),
    // Whether the position came over the socket, by a request, from a tracking app or from another process.
    driverMoved: (position) => driverLive.driverMoved(position),
    tokenChanged: (driverId) => driverLive.driverChanged(driverId),
    everythingChanged: () => driverLive.everythingChanged(),
  });
  events.subscribe({ driverFreed: (driverId) => dispatch.redispatch.driverAvailable(driverId) });
  events.subscribe({
    orderGiven: (driverId) => pushes.tell(driverId, 'given'),
    orderTaken: (driverId) => pushes.tell(driverId, 'taken'),
  });
  events.subscribe({ positionReported: (position) => positionBus?.share(position) });
}
