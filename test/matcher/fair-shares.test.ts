import { beforeEach, describe, expect, it } from 'vitest';
import { FAIR_SHARE_MS, MAX_FAIR_LEAD_MS } from '../../src/matcher/fair-shares.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import { displaced } from '../geo/places.ts';
import { TIERS } from './brute-force.ts';
import { freeDriver } from './carrying.ts';

const NOW = 1_700_000_000_000;
const MINUTE = 60_000;
const STORE = { lat: 40.73, lng: -73.99 };
let matcher: Matcher;
let orders: number;
beforeEach(() => {
  matcher = new Matcher(TIERS);
  orders = 0;
});

/** A store's order begins to wait as the service has it do so; returns its id. */
function arrive(retailerId: string, tierId = 'standard', sinceMs = NOW): string {
  const orderId = `order-${String(orders++).padStart(4, '0')}`;
  const fairStartMs = matcher.fairStart(retailerId, sinceMs);
  matcher.wait({ orderId, retailerId, tierId, point: STORE, sinceMs, fairStartMs });
  return orderId;
}

/** How much later than it waits each order counts as waiting. */
const leads = () => Array.from(matcher.waitingOrders(), ({ sinceMs, fairStartMs = sinceMs }) => fairStartMs - sinceMs);

/** A driver becomes free at the store, and takes an order. */
function serve(nowMs: number): string | undefined {
  const id = `driver-${nowMs}-${orders}`;
  matcher.putDriver(freeDriver(id, displaced(STORE, 100, 0), nowMs, { tierIds: [...TIERS.keys()] }));
  const found = matcher.bestWaitingFor(id, nowMs);
  if (found) {
    matcher.beginAssign(found.orderId, id, NOW);
    matcher.endAssign(found.orderId, 'assigned', nowMs);
  }
  matcher.removeDriver(id);
  return found?.orderId;
}

describe('the fair start of a store’s orders', () => {
  it('is a share after that of the order before, whatever its tier, and now for another store', () => {
    for (let i = 0; i < 3; i++) arrive('busy');
    arrive('busy', 'priority');
    arrive('busy', 'priority');
    arrive('other');
    expect(leads()).toEqual([...[0, 1, 2, 3, 4].map((shares) => shares * FAIR_SHARE_MS), 0]);
  });

  it('is the moment at which an order begins to wait if the shares before it are over', () => {
    arrive('store', 'standard', NOW);
    arrive('store', 'standard', NOW + FAIR_SHARE_MS);
    arrive('store', 'standard', NOW + 1.5 * FAIR_SHARE_MS);
    expect(leads()).toEqual([0, 0, FAIR_SHARE_MS / 2]);
  });

  it('is at most MAX_FAIR_LEAD_MS away', () => {
    for (let i = 0; i < 300; i++) arrive('busy');
    expect(Math.max(...leads())).toBe(MAX_FAIR_LEAD_MS);
    expect(leads().filter((lead) => lead < MAX_FAIR_LEAD_MS)).toHaveLength(MAX_FAIR_LEAD_MS / FAIR_SHARE_MS);
  });

  it('is now again once none of its orders waits, and once none has come to wait', () => {
    const first = arrive('store');
    const second = arrive('store');
    matcher.unwait(first);
    expect(matcher.fairStart('store', NOW)).toBe(NOW + 2 * FAIR_SHARE_MS);
    matcher.unwait(second);
    expect(matcher.fairStart('store', NOW)).toBeUndefined();
    expect(matcher.fairStart('store', NOW)).toBe(NOW + FAIR_SHARE_MS);
    matcher.forgetShares('store');
    expect(matcher.fairStart('store', NOW)).toBeUndefined();
  });

  it('follows the orders that other processes and the tables know of', () => {
    const told = { orderId: 'x', retailerId: 'store', tierId: 'standard', point: STORE };
    matcher.wait({ ...told, sinceMs: NOW, fairStartMs: NOW + 5 * FAIR_SHARE_MS });
    expect(matcher.fairStart('store', NOW)).toBe(NOW + 6 * FAIR_SHARE_MS);
    matcher.forgetShares('store');
    expect(matcher.fairStart('store', NOW)).toBe(NOW + 7 * FAIR_SHARE_MS);
  });
});

describe('a backlog of one store', () => {
  it('goes before a single order of another store only as far as its shares reach', () => {
    for (let i = 0; i < 300; i++) arrive('busy', 'standard', NOW);
    const laterMs = NOW + 10 * MINUTE;
    const single = arrive('other', 'standard', laterMs);
    let before = 0;
    while (serve(laterMs + 1_000) !== single) before++;
    expect(before).toBe(Math.floor((10 * MINUTE) / FAIR_SHARE_MS) + 1);
  });

  it.each([
    // By the claim alone each of the 300 would go first: 100 minutes, and five hours.
    ['100 drivers', MINUTE / 3],
    ['10 drivers', 3 * MINUTE],
  ])('of urgent orders goes before it no faster than that, in a fleet of %s', (_fleet, freedEveryMs) => {
    for (let i = 0; i < 300; i++) arrive('busy', 'priority', NOW);
    const single = arrive('other', 'standard', NOW);
    let nowMs = NOW;
    while (serve(nowMs) !== single) nowMs += freedEveryMs;
    expect(nowMs - NOW).toBe(freedEveryMs);
  });
});
