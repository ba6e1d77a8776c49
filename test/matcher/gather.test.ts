import { beforeEach, describe, expect, it } from 'vitest';
import type { FleetDriver } from '../../src/domain/driver.ts';
import { radiusAfter, type Tier } from '../../src/domain/tier.ts';
import { distanceMeters } from '../../src/geo/point.ts';
import { MAX_BATCH, POSITION_FRESH_MS, WAY_METERS_PER_MINUTE } from '../../src/limits.ts';
import { matchAtLeastCost } from '../../src/matcher/batch.ts';
import { AGE_DECIDES_MS, AGE_STEP_MS, WAIT_FACTOR } from '../../src/matcher/cost.ts';
import { BATCH_CANDIDATES } from '../../src/matcher/gather.ts';
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
  return { id, tierIds: ['standard'], onDuty: true, position, freeSinceMs: NOW, carried: [], ...changes };
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
      sinceMs: NOW - Math.floor(random() * 10) * (random() < 0.2 ? 20 * 60_000 : 30_000),
      fairStartMs: random() < 0.2 ? NOW - Math.floor(random() * 10) * 60_000 : undefined,
      excludedDriverIds: random() < 0.3 ? new Set([`d${Math.floor(random() * drivers)}`]) : undefined,
    })),
  };
}

type Crowd = ReturnType<typeof crowd>;
/** The whole hours of the late claims that are served, how many orders are, and the minutes that it costs. */
type Worth = { readonly late: number[]; readonly served: number; readonly minutes: number };

const tierOf = (each: WaitingOrder) => TIERS.get(each.tierId) as Tier;
const claimOf = (each: WaitingOrder) => Math.max(0, NOW - (each.fairStartMs ?? each.sinceMs)) * tierOf(each).weight;
const urgencyOf = (each: WaitingOrder) =>
  claimOf(each) >= AGE_DECIDES_MS ? Math.floor(claimOf(each) / AGE_STEP_MS) : 0;
const minutesOf = (each: WaitingOrder, meters: number) =>
  meters / WAY_METERS_PER_MINUTE - (WAIT_FACTOR * claimOf(each)) / 60_000;

/** The best matching of every driver and every order. */
function bestOf(world: Crowd): Worth {
  const costs = world.orders.map((each) =>
    world.drivers.map((who) => {
      const { position } = who;
      const meters = position ? distanceMeters(each.point, position) : Number.POSITIVE_INFINITY;
      const may =
        who.onDuty &&
        who.carried.length === 0 &&
        position !== null &&
        position.atMs >= NOW - POSITION_FRESH_MS &&
        who.tierIds.includes(each.tierId) &&
        !each.excludedDriverIds?.has(who.id) &&
        meters <= radiusAfter(tierOf(each), NOW - each.sinceMs);
      return may ? minutesOf(each, meters) : Number.POSITIVE_INFINITY;
    }),
  );
  const pairs = matchAtLeastCost(world.orders.map(urgencyOf), costs);
  return worthOf(
    pairs.map(({ order, driver }) => [world.orders[order] as WaitingOrder, costs[order]?.[driver] as number]),
  );
}

function worthOf(served: readonly (readonly [WaitingOrder, number])[]): Worth {
  const late = served.map(([each]) => urgencyOf(each)).filter((urgency) => urgency > 0);
  const minutes = served.reduce((sum, [, cost]) => sum + cost, 0);
  return { late: late.sort((a, b) => b - a), served: served.length, minutes };
}

/** Whether these matches are worth as much as the best matching of every driver and every order. */
function expectBest(matches: readonly Match[], world: Crowd): void {
  const found = worthOf(
    matches.map(({ orderId, distanceMeters }) => {
      const each = world.orders.find((order) => order.orderId === orderId) as WaitingOrder;
      return [each, minutesOf(each, distanceMeters)];
    }),
  );
  const best = bestOf(world);
  expect({ ...found, minutes: 0 }).toEqual({ ...best, minutes: 0 });
  expect(found.minutes).toBeCloseTo(best.minutes, 6);
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
      expectBest(matches, world);
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
      expectBest(matches, world);
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
    matcher.beginAssign('x', 'a', NOW);
    const only = [{ orderId: 'y', driverId: 'b' }];
    expect(matcher.matchOrders(['x', 'y'], NOW)).toMatchObject(only);
    expect(matcher.matchDrivers(['a', 'b'], NOW)).toMatchObject(only);
    expect(matcher.availableDrivers(NOW)).toEqual(['b']);
  });
});
