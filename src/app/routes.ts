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
import type { Sql } from '../postgres/connect.ts';
import { findDriverState } from '../store/drivers.ts';
import { findStoreOrder } from '../store/orders.ts';
import { listStoreOrders } from '../store/orders-list.ts';
import { isKeyGood } from '../store/retailers.ts';
import { findTrackedByToken } from '../store/tracked.ts';
import { createTrackingRoutes } from '../tracking/routes.ts';
import type { KnownPosition } from '../tracking/view.ts';
import type { Route } from '../transport/route.ts';
import type { CredentialCaches } from './credential-caches.ts';
import type { Dispatch } from './dispatch.ts';
import type { Metrics } from './metrics.ts';
import type { Photos } from './photos.ts';

const WEB = fileURLToPath(new URL('../../dist/web/', import.meta.url));

/** The routes that any process answers that listens at all. */
export function healthRoutes(sql: Sql, metricsOf: Metrics): Route[] {
  const isReady = async () => {
    await sql`select 1`;
    return true;
  };
  return [healthzRoute(), readyzRoute(isReady), metricsRoute(metricsOf.registry)] as Route[];
}

/** Every route of the `api` role. */
export function apiRoutes(parts: {
  readonly config: Config;
  readonly sql: Sql;
  readonly credentials: CredentialCaches;
  readonly dispatch: Dispatch;
  readonly matcher: Matcher;
  readonly positionOf: (driverId: string) => KnownPosition | null;
  readonly now: () => number;
  readonly metrics: Metrics;
  readonly photos: Photos;
  readonly failed: (error: unknown) => void;
}): Route[] {
  const { config, sql, dispatch, matcher, now, photos } = parts;
  const authenticateStore = authenticateBy('api_key', parts.credentials.stores);
  const authenticateDriver = authenticateBy('driver_token', parts.credentials.drivers);
  const assets = loadAssets(WEB);
  const pages = createTrackingRoutes({
    findByToken: (token) => findTrackedByToken(sql, token),
    positionOf: parts.positionOf,
    now,
    failed: parts.failed,
    assets,
    settings: { tileUrl: config.tileUrl, tileAttribution: config.tileAttribution, sandbox: config.sandbox },
    publicUrl: config.trackingUrl ?? config.baseUrl,
  });
  return [
    ...healthRoutes(sql, parts.metrics),
    ordersCreate({
      authenticate: authenticateStore,
      placeOrder: dispatch.placeOnce,
      rateOf: createStoreRates(config.storeRate),
      isRemembered: isRemembered('api_key', parts.credentials.stores),
      admission: dispatch.admission,
      isKeyGood: (key) => isKeyGood(sql, key),
    }),
    ordersGet({
      authenticate: authenticateStore,
      findOrder: (orderId, retailerId) => findStoreOrder(sql, orderId, retailerId),
      whyWaiting: (orderId) => matcher.whyWaiting(orderId),
    }),
    ordersList({
      authenticate: authenticateStore,
      listOrders: (retailerId, filter) => listStoreOrders(sql, retailerId, filter),
    }),
    ordersCancel({ authenticate: authenticateStore, cancelOrder: dispatch.cancelOrder }),
    ...driverRoutes({
      authenticate: authenticateDriver,
      setDuty: dispatch.actions.setDuty,
      report: dispatch.positions.report,
      findState: (driverId) => findDriverState(sql, driverId),
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
