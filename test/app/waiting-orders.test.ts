import { expect, onTestFinished, test } from 'vitest';
import { buildDispatch, type DispatchParts } from '../../src/app/dispatch.ts';
import type { Config } from '../../src/config.ts';
import { LoadedTiers } from '../../src/dispatch/loaded-tiers.ts';
import { OrderEvents } from '../../src/dispatch/order-events.ts';
import { MAX_LATER_ORDERS_PER_RETAILER, MAX_WAITING_ORDERS_PER_RETAILER } from '../../src/dispatch/waiting-room.ts';
import type { PlaceOrder } from '../../src/domain/order.ts';
import { FAIR_SHARE_MS } from '../../src/matcher/fair-shares.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import { Closers } from '../../src/runtime/closers.ts';
import type { RetailerKey } from '../../src/store/accounts/retailers.ts';
import type { NewOrder } from '../../src/store/orders/orders-create.ts';
import { createLogger } from '../../src/telemetry.ts';
import { noRelay } from '../harness/no-relay.ts';
import { NO_EXTRAS } from '../harness/orders.ts';
import { dropoffNear } from '../harness/towns.ts';
import { TIERS } from '../matcher/brute-force.ts';

const point = { lat: 40.73, lng: -73.99 };
const logger = createLogger('silent');
const NOW = Date.now();

type Insert = DispatchParts['store']['insertOrders'];
const insertsAll: Insert = async (orders) =>
  new Map(
    orders.map(({ id }) => [
      id,
      { id, createdAt: new Date(), expiresAt: new Date(), deliverBy: new Date(), outbox: [] },
    ]),
  );

/** Places orders with the dispatch of a process; returns what becomes of one. */
function placing(matcher: Matcher, sandbox: boolean, insertOrders: Insert) {
  const closers = new Closers(logger);
  onTestFinished(() => closers.closeAll());
  const store = { insertOrders, findPlacedByKeys: async () => new Map() } as Partial<DispatchParts['store']>;
  const { placeRequest } = buildDispatch({
    config: { geocoderUrl: null, releasesPerHour: 0, sms: { delaySeconds: 0 }, sandbox } as Config,
    database: { isAway: () => false },
    store: store as DispatchParts['store'],
    matcher,
    tiers: new LoadedTiers({ loadTiers: async () => TIERS }, matcher),
    relay: noRelay,
    paymentWait: { paymentWithin: async () => 'not_charged' },
    pace: { orderTook: () => undefined },
    events: new OrderEvents(),
    clock: { now: () => NOW },
    logger,
    closers,
  });
  const place = { name: 'Corner Market', address: 'One Test Square', point };
  let orders = 0;
  return async (retailerId: string, readyAt: Date | null = null): Promise<string> => {
    const request: PlaceOrder = {
      retailerId,
      customer: { name: 'Jordan Lee', email: 'jordan@example.com', phone: '+14155550123', smsOptIn: true },
      pickupAddress: 'One Test Square',
      dropoffAddress: { ...dropoffNear(point), line2: null },
      tierId: 'standard',
      extras: readyAt && { ...NO_EXTRAS, readyAt },
    };
    const key: RetailerKey = { retailerId, keyId: 'key', keyEnds: false, ...place, ordersPerSecond: null };
    const signal = { aborted: false, onAbort: () => undefined, onAnswered: () => undefined };
    const identity = { key: `mine-${orders++}`, fingerprint: 'f' };
    return (await placeRequest(request, key, identity, { sinceMs: performance.now(), signal })).kind;
  };
}

/** What becomes of an order whose store has as many waiting as a store may have. */
function oneMore(sandbox: boolean): Promise<string> {
  const matcher = new Matcher(TIERS);
  for (let i = 0; i < MAX_WAITING_ORDERS_PER_RETAILER; i++) {
    matcher.wait({ orderId: `waits-${i}`, retailerId: 'store', tierId: 'standard', point, sinceMs: i });
  }
  return placing(matcher, sandbox, insertsAll)('store');
}

test('a store’s waiting orders are bounded, but in the sandbox only with those of all stores', async () => {
  expect(await oneMore(false)).toBe('queue_full');
  expect(await oneMore(true)).toBe('created');
});

test('a store’s orders for later are bounded by themselves, and leave room for those of now', async () => {
  const matcher = new Matcher(TIERS);
  const dueMs = NOW + 3_600_000;
  for (let i = 0; i < MAX_LATER_ORDERS_PER_RETAILER; i++) {
    matcher.wait({ orderId: `later-${i}`, retailerId: 'store', tierId: 'standard', point, sinceMs: dueMs, dueMs });
  }
  const place = placing(matcher, false, insertsAll);
  const readyAt = new Date(NOW + 3_600_000);
  expect(await place('store', readyAt)).toBe('queue_full');
  expect(await Promise.all([place('store'), place('other', readyAt)])).toEqual(['created', 'created']);
  expect([matcher.waitingCountOf('store'), matcher.laterCountOf('other')]).toEqual([1, 1]);
});

test('orders that come together queue up behind those of their own store, and are stored so', async () => {
  const matcher = new Matcher(TIERS);
  const stored: NewOrder[] = [];
  const place = placing(matcher, false, (orders, locate) => {
    stored.push(...orders);
    return insertsAll(orders, locate);
  });
  const outcomes = await Promise.all(['busy', 'busy', 'busy', 'other'].map((retailerId) => place(retailerId)));
  expect(outcomes).toEqual(['created', 'created', 'created', 'created']);
  const starts = stored.map(({ request, fairStartMs }) => [request.retailerId, fairStartMs]);
  expect(starts).toEqual([
    ['busy', undefined],
    ['busy', NOW + FAIR_SHARE_MS],
    ['busy', NOW + 2 * FAIR_SHARE_MS],
    ['other', undefined],
  ]);
  expect(stored.map(({ id }) => matcher.waitingOrder(id)?.fairStartMs)).toEqual(starts.map(([, start]) => start));
});

test('orders that were not created leave nothing to their store', async () => {
  const matcher = new Matcher(TIERS);
  const place = placing(matcher, false, async () => {
    throw new Error('the insert fails');
  });
  expect(await Promise.all([place('store'), place('store')])).toEqual(['internal', 'internal']);
  expect(matcher.fairStart('store', NOW)).toBeUndefined();
});
