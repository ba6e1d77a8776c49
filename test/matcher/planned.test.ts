import { beforeEach, describe, expect, it } from 'vitest';
import type { FleetDriver } from '../../src/domain/driver.ts';
import type { Tier } from '../../src/domain/tier.ts';
import { POSITION_FRESH_MS } from '../../src/limits.ts';
import { Matcher, type WaitingOrder } from '../../src/matcher/matcher.ts';
import { TIERS } from './brute-force.ts';
import { carrying, freeDriver, setDuty } from './carrying.ts';

const NOW = 1_700_000_000_000;
const MINUTE = 60_000;
const STORE = { lat: 40.73, lng: -73.99 };
const DOOR = { lat: 40.74, lng: -73.99 };

const tiersOf = (mode: Tier['dispatchMode']) =>
  new Map(Array.from(TIERS, ([id, tier]) => [id, { ...tier, dispatchMode: id === 'standard' ? mode : 'nearest' }]));
const order = (orderId: string, changes: Partial<WaitingOrder> = {}): WaitingOrder => ({
  orderId,
  retailerId: 'store',
  tierId: 'standard',
  point: STORE,
  sinceMs: NOW,
  dropoff: DOOR,
  ...changes,
});
const driver = (id: string, changes: Partial<FleetDriver> = {}): FleetDriver =>
  freeDriver(id, STORE, NOW, { tierIds: ['standard', 'priority'], ...changes });

let matcher: Matcher;
let orders: string[];
let drivers: string[];
beforeEach(() => {
  matcher = new Matcher(tiersOf('planned'), true);
  [orders, drivers] = [[], []];
  matcher.planned.listen({
    orderChanged: (id) => void orders.push(id),
    driverChanged: (id) => void drivers.push(id),
    tiersChanged: () => undefined,
  });
});
const news = (): [string[], string[]] => {
  const told: [string[], string[]] = [[...new Set(orders)], [...new Set(drivers)]];
  [orders, drivers] = [[], []];
  return told;
};

describe('an order of a planned tier', () => {
  it('is found for no driver who is free, and is the planner’s', () => {
    matcher.putDriver(driver('d'));
    matcher.wait(order('planned'));
    expect(matcher.bestWaitingFor('d', NOW)).toBeUndefined();
    expect(matcher.bestDriverFor('planned', NOW)).toBeUndefined();
    expect(matcher.waitingByClaim(9, NOW)).toEqual([]);
    expect(matcher.planned.open('planned')).toMatchObject({ orderId: 'planned' });
    expect(matcher.waitingCount()).toBe(1);
  });

  it('leaves the orders of other tiers, and those to a door that nobody knows, to whoever is free', () => {
    matcher.putDriver(driver('d'));
    matcher.wait(order('priority', { tierId: 'priority' }));
    matcher.wait(order('unknown', { dropoff: null }));
    expect(matcher.bestDriverFor('priority', NOW)?.driverId).toBe('d');
    expect(matcher.bestDriverFor('unknown', NOW)?.driverId).toBe('d');
    expect([matcher.planned.open('priority'), matcher.planned.open('unknown')]).toEqual([undefined, undefined]);
  });

  it('is found by everyone where nothing plans, as in a process without a planner', () => {
    const plain = new Matcher(tiersOf('planned'));
    plain.putDriver(driver('d'));
    plain.wait(order('o'));
    expect(plain.bestWaitingFor('d', NOW)?.orderId).toBe('o');
  });

  it('is left to whoever is free, and taken back', () => {
    matcher.putDriver(driver('d'));
    matcher.wait(order('o'));
    matcher.planned.leave('o');
    expect([matcher.bestWaitingFor('d', NOW)?.orderId, matcher.planned.open('o')]).toEqual(['o', undefined]);
    matcher.planned.takeBack('o');
    expect(matcher.bestWaitingFor('d', NOW)).toBeUndefined();
    expect(matcher.planned.open('o')).toBeDefined();
  });

  it('is told of when its store is held or let go, also while it waits for its time', () => {
    matcher.wait(order('now'));
    matcher.wait(order('later', { dueMs: NOW + MINUTE }));
    matcher.wait(order('other', { retailerId: 'other', dueMs: NOW + MINUTE }));
    news();
    matcher.setHold({ retailerId: 'store', reason: 'store_suspended', credit: 0 });
    expect(news()[0].toSorted()).toEqual(['later', 'now']);
    expect(matcher.planned.open('later')).toBeUndefined();
    matcher.endHold('store');
    expect(news()[0].toSorted()).toEqual(['later', 'now']);
  });

  it('changes hands with the mode of its tier, either way', () => {
    matcher.putDriver(driver('d'));
    matcher.wait(order('o'));
    matcher.wait(order('later', { dueMs: NOW + MINUTE }));
    news();
    matcher.setTiers(tiersOf('nearest'));
    expect([matcher.bestWaitingFor('d', NOW)?.orderId, matcher.planned.open('o')]).toEqual(['o', undefined]);
    expect(news()[0]).toEqual(['o', 'later']);
    matcher.setTiers(tiersOf('planned'));
    expect(matcher.bestWaitingFor('d', NOW)).toBeUndefined();
    expect(matcher.planned.open('o')).toBeDefined();
  });

  it('is nobody’s while its store is held, or while it is being given', () => {
    matcher.putDriver(driver('d'));
    matcher.wait(order('o'));
    news();
    matcher.setHold({ retailerId: 'store', reason: 'store_suspended', credit: 0 });
    expect([matcher.planned.open('o'), news()[0]]).toEqual([undefined, ['o']]);
    matcher.endHold('store');
    expect([matcher.planned.open('o')?.orderId, news()[0]]).toEqual(['o', ['o']]);
    expect(matcher.beginAssign('o', 'd', NOW)).toBe(true);
    expect([matcher.planned.open('o'), news()]).toEqual([undefined, [['o'], ['d']]]);
    matcher.endAssign('o', 'driver_lost', NOW);
    expect([matcher.planned.open('o')?.orderId, news()]).toEqual(['o', [['o'], ['d']]]);
  });

  it('is told of with each change of it, and a driver with each change of what they do', () => {
    matcher.putDriver(driver('d'));
    matcher.wait(order('o'));
    expect(news()).toEqual([['o'], ['d']]);
    matcher.moveDriver('d', DOOR, NOW + 1);
    expect(news()).toEqual([[], []]);
    matcher.unwait('o');
    matcher.unwait('o');
    setDuty(matcher, 'd', false, NOW);
    expect(news()).toEqual([['o'], ['d']]);
    matcher.removeDriver('d');
    expect(news()).toEqual([[], ['d']]);
  });
});

describe('an order of a planned tier that waits for its time', () => {
  it('is the planner’s before that, and begins to wait when its driver is sent', () => {
    matcher.putDriver(driver('d'));
    matcher.wait(order('later', { dueMs: NOW + 10 * MINUTE, sinceMs: NOW + 10 * MINUTE }));
    matcher.wait(order('tomorrow', { dueMs: NOW + 600 * MINUTE }));
    expect(Array.from(matcher.planned.dueBy(NOW + 60 * MINUTE), ({ orderId }) => orderId)).toEqual(['later']);
    expect(matcher.planned.open('later')).toBeDefined();
    matcher.putDriver(driver('silent', { position: { ...STORE, atMs: NOW - 2 * POSITION_FRESH_MS } }));
    expect(matcher.beginAssign('later', 'silent', NOW)).toBe(false);
    expect([matcher.laterCount(), matcher.waitingCount()]).toEqual([2, 0]);
    expect(matcher.beginAssign('later', 'd', NOW)).toBe(true);
    expect([matcher.laterCount(), matcher.waitingCount()]).toEqual([1, 1]);
    expect(matcher.waitingOrder('later')).toMatchObject({ sinceMs: NOW });
    matcher.endAssign('later', 'assigned', NOW);
    expect([matcher.holderOf('later'), matcher.waitingCount()]).toEqual(['d', 0]);
  });
});

describe('who may carry an order', () => {
  const may = (changes: Partial<FleetDriver>, wanted: Partial<WaitingOrder> = {}, places = [STORE]) => {
    matcher.putDriver(driver('d', changes));
    return matcher.planned.mayCarry('d', places, order('o', wanted), NOW);
  };

  it('serves its tier, did not give it back, and has a vehicle for it', () => {
    expect(may({})).toBe(true);
    expect(may({ tierIds: ['priority'] })).toBe(false);
    expect(may({}, { excludedDriverIds: new Set(['d']) })).toBe(false);
    expect(may({ vehicle: 'bike' }, { size: 'large' })).toBe(false);
    expect(may({ vehicle: 'van' }, { size: 'large' })).toBe(true);
    expect(may({ carried: [carrying('other')] })).toBe(true);
  });

  it('is, or will be, within the radius that the order has by now', () => {
    const north = { lat: STORE.lat + 0.1, lng: STORE.lng };
    expect(may({}, {}, [north])).toBe(false);
    expect(may({}, {}, [north, STORE])).toBe(true);
    expect(may({}, { sinceMs: NOW - 60 * MINUTE }, [north])).toBe(true);
  });
});

it('no driver is in reach of an order whose tier is gone', () => {
  const { needs } = matcher.planned.reachOf(order('o', { tierId: 'gone' }), NOW);
  expect(needs & ~matcher.planned.skillsOf(driver('d', { vehicle: 'van' }))).not.toBe(0);
});
