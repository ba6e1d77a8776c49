import { beforeEach, describe, expect, it } from 'vitest';
import type { FleetDriver } from '../../src/domain/driver.ts';
import { radiusAfter, type Tier } from '../../src/domain/tier.ts';
import { distanceMeters } from '../../src/geo/point.ts';
import { BATCH_CANDIDATES, MAX_BATCH, POSITION_FRESH_MS } from '../../src/limits.ts';
import { matchAtLeastCost } from '../../src/matcher/batch.ts';
import { type Match, Matcher, type WaitingOrder } from '../../src/matcher/matcher.ts';
import { displaced } from '../geo/places.ts';
import { TIERS } from './brute-force.ts';
import { randomFrom } from './world.ts';

const NOW = 1_700_000_000_000;
const STORE = { lat: 40.73, lng: -73.99 };
let matcher: Matcher;
beforeEach(() => {
  matcher = new Matcher(TIERS);
});

function driver(id: string, north: number, changes: Partial<FleetDriver> = {}): FleetDriver {
  const position = { ...displaced(STORE, north, 0), atMs: NOW };
  return { id, tierIds: ['standard'], onDuty: true, position, freeSinceMs: NOW, orderId: null, ...changes };
}
function order(orderId: string, changes: Partial<WaitingOrder> = {}): WaitingOrder {
  return { orderId, retailerId: 'store', tierId: 'standard', point: STORE, sinceMs: NOW, ...changes };
}

/** A crowd in which tiers, radii, exclusions and silence forbid most pairs. */
function crowd(seed: number, drivers: number, orders: number): { drivers: FleetDriver[]; orders: WaitingOrder[] } {
  const random = randomFrom(seed);
  const place = () => displaced(STORE, (random() - 0.5) * 9_000, (random() - 0.5) * 9_000);
  return {
    drivers: Array.from({ length: drivers }, (_, i) => ({
      ...driver(`d${i}`, 0),
      tierIds: random() < 0.3 ? ['priority'] : random() < 0.5 ? ['standard', 'priority'] : ['standard'],
      onDuty: random() < 0.9,
      orderId: random() < 0.1 ? `carried-${i}` : null,
      position: { ...place(), atMs: NOW - (random() < 0.1 ? POSITION_FRESH_MS + 1 : 0) },
    })),
    orders: Array.from({ length: orders }, (_, i) => ({
      ...order(`o${i}`),
      tierId: random() < 0.4 ? 'priority' : 'standard',
      point: place(),
      sinceMs: NOW - Math.floor(random() * 10) * 30_000,
      excludedDriverIds: random() < 0.3 ? new Set([`d${Math.floor(random() * drivers)}`]) : undefined,
    })),
  };
}

/** The best matching of every driver and every order. */
function bestOf(world: ReturnType<typeof crowd>): { served: number[]; sum: number } {
  const tierOf = (each: WaitingOrder) => TIERS.get(each.tierId) as Tier;
  const claims = world.orders.map((each) => Math.max(0, NOW - each.sinceMs) * tierOf(each).weight);
  const meters = world.orders.map((each) =>
    world.drivers.map((who) => {
      const { position } = who;
      const meters = position ? distanceMeters(each.point, position) : Number.POSITIVE_INFINITY;
      const may =
        who.onDuty &&
        who.orderId === null &&
        position !== null &&
        position.atMs >= NOW - POSITION_FRESH_MS &&
        who.tierIds.includes(each.tierId) &&
        !each.excludedDriverIds?.has(who.id) &&
        meters <= radiusAfter(tierOf(each), NOW - each.sinceMs);
      return may ? meters : Number.POSITIVE_INFINITY;
    }),
  );
  const pairs = matchAtLeastCost(claims, meters);
  return {
    served: pairs.map((pair) => claims[pair.order] as number).sort((a, b) => b - a),
    sum: pairs.reduce((sum, pair) => sum + (meters[pair.order]?.[pair.driver] as number), 0),
  };
}

function worthOf(matches: readonly Match[], world: ReturnType<typeof crowd>): ReturnType<typeof bestOf> {
  const claimOf = (orderId: string) => {
    const found = world.orders.find((each) => each.orderId === orderId) as WaitingOrder;
    return Math.max(0, NOW - found.sinceMs) * (TIERS.get(found.tierId) as Tier).weight;
  };
  return {
    served: matches.map(({ orderId }) => claimOf(orderId)).sort((a, b) => b - a),
    sum: matches.reduce((sum, match) => sum + match.distanceMeters, 0),
  };
}

function fill(world: ReturnType<typeof crowd>): void {
  matcher = new Matcher(TIERS);
  for (const each of world.drivers) matcher.putDriver(each);
  for (const each of world.orders) matcher.wait(each);
}

describe('several orders and several drivers', () => {
  it('are matched in the best way, up to as many orders as each has candidates', () => {
    for (let seed = 1; seed <= 60; seed++) {
      const world = crowd(seed, 40, BATCH_CANDIDATES);
      fill(world);
      const matches = matcher.matchOrders(
        world.orders.map(({ orderId }) => orderId),
        NOW,
      );
      const best = bestOf(world);
      expect(worthOf(matches, world).served).toEqual(best.served);
      expect(worthOf(matches, world).sum).toBeCloseTo(best.sum, 3);
    }
  });

  it('are matched in the best way for a few drivers, however many orders wait', () => {
    for (let seed = 1; seed <= 60; seed++) {
      const world = crowd(seed, 8, 300);
      fill(world);
      const matches = matcher.matchDrivers(
        world.drivers.map(({ id }) => id),
        NOW,
      );
      const best = bestOf(world);
      expect(worthOf(matches, world).served).toEqual(best.served);
      expect(worthOf(matches, world).sum).toBeCloseTo(best.sum, 3);
    }
  });

  it('are bounded', () => {
    const world = crowd(3, 500, 500);
    fill(world);
    const orderIds = world.orders.map(({ orderId }) => orderId);
    expect(matcher.matchOrders(orderIds, NOW).length).toBeLessThanOrEqual(MAX_BATCH);
    expect(matcher.matchDrivers(matcher.availableDrivers(NOW), NOW).length).toBeLessThanOrEqual(MAX_BATCH);
  });

  it('never include an order or a driver of an assignment in flight', () => {
    matcher.putDriver(driver('a', 10));
    matcher.putDriver(driver('b', 20));
    matcher.wait(order('x'));
    matcher.wait(order('y'));
    matcher.beginAssign('x', 'a');
    const only = [{ orderId: 'y', driverId: 'b' }];
    expect(matcher.matchOrders(['x', 'y'], NOW)).toMatchObject(only);
    expect(matcher.matchDrivers(['a', 'b'], NOW)).toMatchObject(only);
    expect(matcher.availableDrivers(NOW)).toEqual(['b']);
  });
});
