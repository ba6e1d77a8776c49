import { fileURLToPath } from 'node:url';
import type { Config } from '../config.ts';
import { driverStateOnWire } from '../driver-app/live.ts';
import { createDriverPageRoutes } from '../driver-app/page.ts';
import { authenticateBy, isRemembered } from '../http/credentials.ts';
import { driverRoutes } from '../http/routes/driver.ts';
import { driverActionRoutes } from '../http/routes/driver-actions.ts';
import { driverPageRoutes } from '../http/routes/driver-page.ts';
import { healthzRoute } from '../http/routes/healthz.ts';
import { metricsRoute } from '../http/routes/metrics.ts';
import { ordersCancel } from '../http/routes/orders-cancel.ts';
import { ordersCreate } from '../http/routes/orders-create.ts';
import { ordersGet } from '../http/routes/orders-get.ts';
import { ordersList } from '../http/routes/orders-list.ts';
import { readyzRoute } from '../http/routes/readyz.ts';
import { trackingRoutes } from '../http/routes/tracking.ts';
import { createStoreRates } from '../http/store-rate.ts';
import type { Matcher } from '../matcher/matcher.ts';
import { loadAssets } from '../pages/assets.ts';
import type { Clock } from '../postgres/clock.ts';
import type { Store } from '../store/store.ts';
import { createTrackingRoutes } from '../tracking/routes.ts';
import type { KnownPosition } from '../tracking/view.ts';
import type { Route } from '../transport/route.ts';
import type { CredentialCaches } from './credential-caches.ts';
import type { Database } from './database.ts';
import type { Dispatch } from './dispatch.ts';
import type { Metrics } from './metrics.ts';
import type { Photos } from './photos.ts';

const WEB = fileURLToPath(new URL('../../dist/web/', import.meta.url));

/** The routes that any process answers that listens at all. */
export function healthRoutes({ sql }: Pick<Database, 'sql'>, metricsOf: Metrics): Route[] {
  const isReady = async () => {
    await sql`select 1`;
    return true;
  };
  return [healthzRoute(), readyzRoute(isReady), metricsRoute(metricsOf.registry)] as Route[];
}

/** Every route of the `api` role. */
export function apiRoutes(parts: {
  readonly config: Config;
  readonly database: Pick<Database, 'sql'>;
  readonly store: Store;
  readonly credentials: CredentialCaches;
  readonly dispatch: Dispatch;
  readonly matcher: Matcher;
  readonly positionOf: (driverId: string) => KnownPosition | null;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly photos: Photos;
  readonly failed: (error: unknown) => void;
}): Route[] {
  const { config, store, dispatch, matcher, photos } = parts;
  const { now } = parts.clock;
  const authenticateStore = authenticateBy('api_key', parts.credentials.stores);
  const authenticateDriver = authenticateBy('driver_token', parts.credentials.drivers);
  const assets = loadAssets(WEB);
  const pages = createTrackingRoutes({
    findByToken: store.findTrackedByToken,
    positionOf: parts.positionOf,
    now,
    failed: parts.failed,
    assets,
    settings: { tileUrl: config.tileUrl, tileAttribution: config.tileAttribution, sandbox: config.sandbox },
    publicUrl: config.trackingUrl ?? config.baseUrl,
  });
  return [
    ...healthRoutes(parts.database, parts.metrics),
    ordersCreate({
      authenticate: authenticateStore,
      placeOrder: dispatch.placeRequest,
      rateOf: createStoreRates(config.storeRate),
      isRemembered: isRemembered('api_key', parts.credentials.stores),
      admission: dispatch.admission,
      isKeyGood: store.isKeyGood,
    }),
    ordersGet({
      authenticate: authenticateStore,
      findOrder: store.findStoreOrder,
      whyWaiting: (orderId) => matcher.whyWaiting(orderId),
    }),
    ordersList({
      authenticate: authenticateStore,
      listOrders: store.listStoreOrders,
    }),
    ordersCancel({ authenticate: authenticateStore, cancelOrder: dispatch.cancelOrder }),
    ...driverRoutes({
      authenticate: authenticateDriver,
      setDuty: dispatch.actions.setDuty,
      report: dispatch.positions.report,
      findState: store.findDriverState,
      toWire: driverStateOnWire,
    }),
    ...driverActionRoutes({
      authenticate: authenticateDriver,
      actions: dispatch.actions,
      storePhoto: photos.store,
      discardPhoto: photos.discard,
    }),
    ...driverPageRoutes(createDriverPageRoutes({ assets, sandbox: config.sandbox, publicUrl: config.baseUrl })),
    ...trackingRoutes({ ...pages, photo: photos.find }),
  ] as Route[];
}
