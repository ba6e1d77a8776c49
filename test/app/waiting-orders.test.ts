import { expect, onTestFinished, test } from 'vitest';
import { Closers } from '../../src/app/closers.ts';
import { buildDispatch, type DispatchParts } from '../../src/app/dispatch.ts';
import type { Config } from '../../src/config.ts';
import { LoadedTiers } from '../../src/dispatch/loaded-tiers.ts';
import { OrderEvents } from '../../src/dispatch/order-events.ts';
import type { PlaceOrder } from '../../src/domain/order.ts';
import { MAX_WAITING_ORDERS_PER_RETAILER } from '../../src/limits.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import type { NewOrder } from '../../src/store/orders-create.ts';
import type { RetailerKey } from '../../src/store/retailers.ts';
import { createLogger } from '../../src/telemetry.ts';
import { orderBody } from '../harness/service.ts';
import { TIERS } from '../matcher/brute-force.ts';

const point = { lat: 40.73, lng: -73.99 };
const logger = createLogger('silent');

/** What becomes of an order whose store has as many waiting as a store may have. */
async function oneMore(sandbox: boolean): Promise<string> {
  const matcher = new Matcher(TIERS);
  for (let i = 0; i < MAX_WAITING_ORDERS_PER_RETAILER; i++) {
    matcher.wait({ orderId: `waits-${i}`, retailerId: 'store', tierId: 'standard', point, sinceMs: i });
  }
  const closers = new Closers(logger);
  onTestFinished(() => closers.closeAll());
  const insertOrders = async (orders: readonly NewOrder[]) =>
    new Map(orders.map(({ id }) => [id, { id, createdAt: new Date(), expiresAt: new Date(), outbox: [] }]));
  const store = { insertOrders, findPlaced: async () => null } as Partial<DispatchParts['store']>;
  const { placeRequest } = buildDispatch({
    config: { geocoderUrl: null, releasesPerHour: 0, sandbox } as Config,
    database: { isAway: () => false },
    store: store as DispatchParts['store'],
    matcher,
    tiers: new LoadedTiers({ loadTiers: async () => TIERS }, matcher),
    relay: { relay: () => undefined, openQueues: async () => [], close: async () => undefined },
    paymentWait: { paymentWithin: async () => 'not_charged' },
    pace: { orderTook: () => undefined },
    events: new OrderEvents(),
    clock: { now: Date.now },
    logger,
    closers,
  });
  const body = orderBody('store') as { readonly dropoff_address: Record<'line1' | 'city' | 'state' | 'zip', string> };
  const request: PlaceOrder = {
    retailerId: 'store',
    customer: { name: 'Jordan Lee', email: 'jordan@example.com', phone: '+14155550123', smsOptIn: true },
    pickupAddress: 'One Test Square',
    dropoffAddress: { ...body.dropoff_address, line2: null },
    tierId: 'standard',
  };
  const place = { name: 'Corner Market', address: 'One Test Square', point };
  const key: RetailerKey = { retailerId: 'store', keyId: 'key', ...place, ordersPerSecond: null };
  const signal = { aborted: false, onAbort: () => undefined, onAnswered: () => undefined };
  const identity = { key: 'mine', fingerprint: 'f' };
  return (await placeRequest(request, key, identity, { sinceMs: performance.now(), signal })).kind;
}

test('a store’s waiting orders are bounded, but in the sandbox only with those of all stores', async () => {
  expect(await oneMore(false)).toBe('queue_full');
  expect(await oneMore(true)).toBe('created');
});
