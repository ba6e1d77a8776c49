import { fileURLToPath } from 'node:url';
import type { Config } from '../config.ts';
import { driverActionRoutes } from '../driver-app/action-routes.ts';
import type { DriverAllowances } from '../driver-app/allowance.ts';
import { driverDayRoute, driverDutyRoutes } from '../driver-app/duty-routes.ts';
import { driverPageRoutes } from '../driver-app/page.ts';
import { PhotoTurns } from '../driver-app/photo-turns.ts';
import { driverPushRoutes } from '../driver-app/push-routes.ts';
import { driverSignInRoute } from '../driver-app/sign-in-route.ts';
import { trackerRoutes } from '../driver-app/tracker-routes.ts';
import type { EventCursors } from '../events/event-cursors.ts';
import type { EventWaits } from '../events/event-waits.ts';
import { eventsRoute } from '../events/events-list.ts';
import { webhookDeliveryRoutes } from '../events/webhook-deliveries.ts';
import { webhookTestRoute } from '../events/webhook-test.ts';
import { webhookRoutes } from '../events/webhooks.ts';
import { createAuthenticator } from '../http/credentials.ts';
import { withoutQuery } from '../http/input.ts';
import { createListTurns } from '../http/list-turns.ts';
import { driversDocument, storesDocument } from '../http/openapi/document.ts';
import { served } from '../http/openapi/served.ts';
import { createReaders, createStoresOnly } from '../http/readers.ts';
import { createReplays } from '../http/replays.ts';
import { type AccountSettings, accountRoute } from '../http/routes/account.ts';
import { docsRoutes } from '../http/routes/docs.ts';
import { healthzRoute } from '../http/routes/healthz.ts';
import { metricsRoute } from '../http/routes/metrics.ts';
import { ordersBatch } from '../http/routes/orders-batch.ts';
import { ordersCancel } from '../http/routes/orders-cancel.ts';
import { ordersCancellation } from '../http/routes/orders-cancellation.ts';
import { ordersCreate } from '../http/routes/orders-create.ts';
import { ordersGet } from '../http/routes/orders-get.ts';
import { ordersList } from '../http/routes/orders-list.ts';
import { quotesRoute } from '../http/routes/quotes.ts';
import { readyzRoute } from '../http/routes/readyz.ts';
import { createReadRates, createStoreRates } from '../http/store-rate.ts';
import type { Matcher } from '../matcher/matcher.ts';
import { loadAssets } from '../pages/assets.ts';
import { cardPageRoutes } from '../payments/card-pages.ts';
import { ordersCharge } from '../payments/orders-charge.ts';
import type { Photos } from '../photos/open-photos.ts';
import { ordersPhoto } from '../photos/orders-photo.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { ServiceParts } from '../runtime/parts.ts';
import { watchCallbacks, watchVendor } from '../runtime/vendor-watch.ts';
import { createAdvance } from '../sandbox/advance.ts';
import { advanceRoute } from '../sandbox/advance-route.ts';
import type { Store } from '../store/store.ts';
import { twilioRoutes } from '../texts/twilio-route.ts';
import { trackingRoutes } from '../tracking/routes.ts';
import type { Route } from '../transport/route.ts';
import { retryLater } from '../vendors/retry-later.ts';
import type { WebhookClient } from '../vendors/webhook-client.ts';
import type { CredentialCaches } from './credential-caches.ts';
import type { Dispatch } from './dispatch.ts';
import { twilioAddresses, twilioToken } from './vendors.ts';

const WEB = fileURLToPath(new URL('../../dist/web/', import.meta.url));

/** The routes of every process that listens. Outside the sandbox metrics are there only with a token. */
export function healthRoutes(
  { metricsToken, sandbox }: Pick<Config, 'metricsToken' | 'sandbox'>,
  store: Pick<Store, 'readRefusingVendors'>,
  metricsOf: Metrics,
  isStarted: () => boolean,
): Route[] {
  const readReadiness = async () => {
    const misconfigured = await store.readRefusingVendors();
    return { ready: isStarted(), misconfigured };
  };
  const hasMetrics = sandbox || metricsToken !== null;
  return [
    healthzRoute(),
    readyzRoute(readReadiness),
    ...(hasMetrics ? [metricsRoute(metricsOf.registry, metricsToken)] : []),
  ];
}

/** Every route of the `api` role. */
export function apiRoutes(
  parts: ServiceParts & {
    readonly credentials: CredentialCaches;
    readonly dispatch: Dispatch;
    readonly matcher: Matcher;
    readonly allowances: DriverAllowances;
    /** The public key of pushes to drivers' phones. */
    readonly pushKey: string;
    readonly photos: Photos;
    readonly eventWaits: EventWaits;
    readonly eventCursors: EventCursors;
    /** Sends tests of webhooks. */
    readonly webhookClient: WebhookClient;
    readonly failed: (error: unknown) => void;
  },
): Route[] {
  const { config, store, dispatch, matcher, allowances, photos, trackingUrl, failed } = parts;
  const mode = config.sandbox ? 'test' : 'live';
  const stores = createAuthenticator('api_key', parts.credentials.stores, mode);
  const organizations = createAuthenticator('organization_key', parts.credentials.organizations, mode);
  const readers = createReaders(stores, organizations);
  const storesOnly = createStoresOnly(stores, organizations);
  const drivers = createAuthenticator('driver_token', parts.credentials.drivers);
  const rates = createStoreRates(config.storeRate);
  const replays = createReplays(createStoreRates(config.storeRate), dispatch.findReplays);
  const reads = createReadRates(config.readRate);
  const turns = createListTurns();
  const { actions, positions } = dispatch;
  const photoTurns = new PhotoTurns(() => performance.now());
  const assets = loadAssets(WEB);
  const { tileUrl, tileAttribution, sandbox } = config;
  const routes = [
    ...healthRoutes(config, store, parts.metrics, parts.isStarted),
    ordersCreate({ stores, rates, reads, replays, dispatch, store, trackingUrl, isSandbox: sandbox }),
    ordersBatch({
      stores: storesOnly,
      rates,
      replays,
      dispatch,
      trackingUrl,
      isSandbox: sandbox,
      logger: parts.logger,
    }),
    quotesRoute({ stores: storesOnly, reads, dispatch, isSandbox: sandbox }),
    ordersGet({ stores: readers, reads, store, matcher, trackingUrl, now: parts.clock.now }),
    ordersList({ stores: readers, reads, turns, store, matcher, now: parts.clock.now }),
    ordersCancel({ stores: storesOnly, rates: createStoreRates(config.storeRate, 'cancels'), dispatch }),
    ordersCancellation({ stores: storesOnly, reads, store }),
    ordersCharge({ stores: storesOnly, reads, dispatch }),
    ordersPhoto({ stores: storesOnly, reads, photos }),
    accountRoute({ stores: storesOnly, reads, store, settings: accountSettings(config) }),
    ...(sandbox
      ? [
          advanceRoute({
            stores: storesOnly,
            advance: createAdvance({ ...dispatch, store, photos, clock: parts.clock }),
          }),
        ]
      : []),
    eventsRoute({ stores: readers, reads, turns, store, waits: parts.eventWaits, cursors: parts.eventCursors }),
    ...webhookRoutes({ stores: readers, reads, store, sandbox }),
    ...webhookDeliveryRoutes({ stores: readers, reads, turns, store }),
    webhookTestRoute({ stores: readers, store, client: parts.webhookClient, now: parts.clock.now }),
    ...driverDutyRoutes({ drivers, actions, positions, store, allowances, clock: parts.clock }),
    driverDayRoute({ drivers, store, allowances }),
    ...trackerRoutes({ trackers: parts.credentials.trackers, positions, allowances }),
    ...driverPushRoutes({ drivers, store, allowances, publicKey: parts.pushKey, sandbox }),
    driverSignInRoute({ store }),
    ...driverActionRoutes({ drivers, actions, photos, allowances, photoTurns }),
    ...cardPageRoutes({ assets, publicUrl: config.baseUrl }),
    ...driverPageRoutes({ assets, sandbox, publicUrl: config.baseUrl }),
    ...twilioRoutes({
      ...parts,
      authToken: twilioToken(config),
      addressesOf: twilioAddresses(config),
      senderSeen: watchVendor(
        'twilio_sender',
        parts,
      )(async (works: boolean) => (works ? { kind: 'delivered' } : retryLater('misconfigured'))),
      observe: watchCallbacks(parts),
    }),
    ...trackingRoutes({
      store,
      matcher,
      photos,
      assets,
      changeDropoff: dispatch.changeDropoff,
      settings: { tileUrl, tileAttribution, sandbox },
      publicUrl: config.trackingUrl ?? config.baseUrl,
      now: parts.clock.now,
      failed,
    }),
  ];
  const documents = { stores: served(storesDocument(routes)), drivers: served(driversDocument(routes)) };
  return [...routes.map(withoutQuery), ...docsRoutes({ documents, assets, sandbox })];
}

function accountSettings({ sandbox, unpaidOrdersAllowed, storeRate, readRate }: Config): AccountSettings {
  return { mode: sandbox ? 'sandbox' : 'live', unpaidOrdersAllowed, storeRate, readRate };
}
