/**
 * The service's own HTTP server, authentication, validator and reply without anything behind them: it looks
 * for no driver and stores nothing. No order path of this server can be faster.
 */

import {
  CREDENTIAL_KEEP_MS,
  CREDENTIAL_REMEMBERED_MS,
  MAX_CREDENTIALS_KEPT,
  MAX_UNKNOWN_LOOK_UPS,
} from '../../src/app/credential-caches.ts';
import { hashSecret, newId, newTrackingToken } from '../../src/domain/ids.ts';
import type { CreatedOrder } from '../../src/domain/order.ts';
import { createAuthenticator, createCredentials } from '../../src/http/credentials.ts';
import { ordersCreate } from '../../src/http/routes/orders-create.ts';
import { createReadRates, createStoreRates } from '../../src/http/store-rate.ts';
import type { RetailerKey } from '../../src/store/accounts/retailers.ts';
import { createLogger } from '../../src/telemetry.ts';
import { createServer } from '../../src/transport/server.ts';
import { openTransport } from '../../src/transport/transport.ts';
import { makeOrderWorld, STORE_ADDRESS } from '../../test/harness/order-world.ts';

const { stores } = makeOrderWorld(0, Number(process.env.STORES));
const keys = new Map(
  stores.map(({ id, apiKey, point }): [string, RetailerKey] => {
    const store = {
      keyId: id,
      retailerId: id,
      name: 'Bench store',
      address: STORE_ADDRESS,
      point,
      keyEnds: false,
      ordersPerSecond: null,
    };
    return [hashSecret(apiKey), store];
  }),
);
/** The same order every time, as making ids is not part of answering. */
const order: Omit<CreatedOrder, 'createdAt'> = {
  id: newId(),
  status: 'driver_assigned',
  tierId: 'standard',
  feeCents: 799 as CreatedOrder['feeCents'],
  paymentStatus: 'processing',
  trackingToken: newTrackingToken(),
  externalId: null,
  deliverBy: new Date(),
  estimatedDelivery: null,
  isForLater: false,
};

const kept = {
  keepMs: CREDENTIAL_KEEP_MS,
  rememberMs: CREDENTIAL_REMEMBERED_MS,
  maxKept: MAX_CREDENTIALS_KEPT,
  maxUnknownPerSecond: MAX_UNKNOWN_LOOK_UPS,
  now: () => performance.now(),
};
const secrets = { has: (hash: string) => keys.has(hash), isCurrent: async () => true, add: () => undefined };
const route = ordersCreate({
  isSandbox: false,
  stores: createAuthenticator(
    'api_key',
    createCredentials(async (hash) => keys.get(hash) ?? null, secrets, kept),
  ),
  rates: createStoreRates(0),
  reads: createReadRates(0),
  replays: async () => new Map(),
  dispatch: {
    placeRequest: async ({ tierId }) => ({ kind: 'created', order: { ...order, tierId, createdAt: new Date() } }),
    admission: { isFull: () => false, isFullFor: () => false, enter: () => Promise.resolve() },
  },
  store: { isKeyGood: async () => true },
  trackingUrl: () => 'http://localhost',
});
const server = createServer(openTransport(), {
  routes: [route],
  sockets: [],
  logger: createLogger('warn'),
  mode: 'sandbox',
  supportEmail: 'support@localhost',
  trustProxy: false,
});
const { port } = await server.listen('127.0.0.1', 0);
process.once('SIGTERM', () => {
  server.close();
  process.exit(0);
});
console.log(`ready http://127.0.0.1:${port}`);
