import { fileURLToPath } from 'node:url';
import type { Config } from '../config.ts';
import { driverActionRoutes } from '../driver-app/action-routes.ts';
import type { DriverAllowances } from '../driver-app/allowance.ts';
import { driverDutyRoutes } from '../driver-app/duty-routes.ts';
import { driverPageRoutes } from '../driver-app/page.ts';
import { PhotoTurns } from '../driver-app/photo-turns.ts';
import { createAuthenticator } from '../http/credentials.ts';
import { driversDocument, storesDocument } from '../http/openapi/document.ts';
import { served } from '../http/openapi/served.ts';
import { docsRoutes } from '../http/routes/docs.ts';
import { healthzRoute } from '../http/routes/healthz.ts';
import { metricsRoute } from '../http/routes/metrics.ts';
import { ordersCancel } from '../http/routes/orders-cancel.ts';
import { ordersCreate } from '../http/routes/orders-create.ts';
import { ordersGet } from '../http/routes/orders-get.ts';
import { ordersList } from '../http/routes/orders-list.ts';
import { readyzRoute } from '../http/routes/readyz.ts';
import { createReadRates, createStoreRates } from '../http/store-rate.ts';
import type { Matcher } from '../matcher/matcher.ts';
import { loadAssets } from '../pages/assets.ts';
import type { Clock } from '../postgres/clock.ts';
import type { Store } from '../store/store.ts';
import { trackingRoutes } from '../tracking/routes.ts';
import type { Route } from '../transport/route.ts';
import type { CredentialCaches } from './credential-caches.ts';
import type { Database } from './database.ts';
import type { Dispatch } from './dispatch.ts';
import type { Metrics } from './metrics.ts';
import type { Photos } from './photos.ts';

const WEB = fileURLToPath(new URL('../../dist/web/', import.meta.url));

/** The routes of every process that listens. Outside the sandbox metrics are there only with a token. */
export function healthRoutes(
  { metricsToken, sandbox }: Pick<Config, 'metricsToken' | 'sandbox'>,
  { sql }: Pick<Database, 'sql'>,
  metricsOf: Metrics,
): Route[] {
  const isReady = async () => {
    await sql`select 1`;
    return true;
  };
  const hasMetrics = sandbox || metricsToken !== null;
  return [
    healthzRoute(),
    readyzRoute(isReady),
    ...(hasMetrics ? [metricsRoute(metricsOf.registry, metricsToken)] : []),
  ];
}

/** Every route of the `api` role. */
export function apiRoutes(parts: {
  readonly config: Config;
  readonly database: Pick<Database, 'sql'>;
  readonly store: Store;
  readonly credentials: CredentialCaches;
  readonly dispatch: Dispatch;
  readonly matcher: Matcher;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly allowances: DriverAllowances;
  readonly photos: Photos;
  readonly failed: (error: unknown) => void;
}): Route[] {
  const { config, store, dispatch, matcher, allowances, photos, failed } = parts;
  const stores = createAuthenticator('api_key', parts.credentials.stores);
  const drivers = createAuthenticator('driver_token', parts.credentials.drivers);
  const reads = createReadRates(config.readRate);
  const { actions, positions } = dispatch;
  const photoTurns = new PhotoTurns(() => performance.now());
  const assets = loadAssets(WEB);
  const { tileUrl, tileAttribution, sandbox } = config;
  const routes = [
    ...healthRoutes(config, parts.database, parts.metrics),
    ordersCreate({ stores, rates: createStoreRates(config.storeRate), dispatch, store }),
    ordersGet({ stores, reads, store, matcher }),
    ordersList({ stores, reads, store, matcher }),
    ordersCancel({ stores, dispatch }),
    ...driverDutyRoutes({ drivers, actions, positions, store, allowances }),
    ...driverActionRoutes({ drivers, actions, photos, allowances, photoTurns }),
    ...driverPageRoutes({ assets, sandbox, publicUrl: config.baseUrl }),
    ...trackingRoutes({
      store,
      matcher,
      photos,
      assets,
      settings: { tileUrl, tileAttribution, sandbox },
      publicUrl: config.trackingUrl ?? config.baseUrl,
      now: parts.clock.now,
      failed,
    }),
  ];
  const documents = { stores: served(storesDocument(routes)), drivers: served(driversDocument(routes)) };
  return [...routes, ...docsRoutes({ documents, assets, sandbox })];
}
