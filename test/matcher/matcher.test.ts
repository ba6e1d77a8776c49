import { beforeEach, describe, expect, it } from 'vitest';
import type { FleetDriver } from '../../src/domain/driver.ts';
import type { TierId } from '../../src/domain/tier.ts';
import { MAX_TIERS, POSITION_FRESH_MS, WAY_METERS_PER_MINUTE } from '../../src/limits.ts';
import { WAIT_FACTOR } from '../../src/matcher/cost.ts';
import { SET_ASIDE_MS } from '../../src/matcher/drivers.ts';
import { Matcher, type WaitingOrder } from '../../src/matcher/matcher.ts';
import { displaced } from '../geo/places.ts';
import { TIERS, tiersOf } from './brute-force.ts';
import { carrying, freeDriver, orderOf } from './carrying.ts';

const NOW = 1_700_000_000_000;
const MINUTE = 60_000;
const STORE = { lat: 40.73, lng: -73.99 };
let matcher: Matcher;
beforeEach(() => {
  matcher = new Matcher(TIERS);
});

/** A driver who is available `north` degrees of the store. */
function put(id: string, north: number, changes: Partial<FleetDriver> = {}): void {
  matcher.putDriver(freeDriver(id, { lat: STORE.lat + north, lng: STORE.lng }, NOW, changes));
}

function wait(orderId: string, changes: Partial<WaitingOrder> = {}): void {
  const usual: WaitingOrder = { orderId, retailerId: 'store', tierId: 'standard', point: STORE, sinceMs: NOW };
  matcher.wait({ ...usual, ...changes });
}

const query = (changes: Partial<Parameters<Matcher['nearest']>[0]> = {}) => ({
  tierId: 'standard' as TierId,
  point: STORE,
  radiusMeters: 5_000,
  nowMs: NOW,
  ...changes,
});

describe('the nearest driver', () => {
  it('was heard from within POSITION_FRESH_MS, to the millisecond', () => {
    put('a', 0, { position: { ...STORE, atMs: NOW - POSITION_FRESH_MS } });
    wait('one');
    const found = (nowMs: number) => [matcher.nearest(query({ nowMs }))?.driverId, matcher.bestWaitingFor('a', nowMs)];
    expect(found(NOW)).toEqual(['a', { orderId: 'one', distanceMeters: 0 }]);
    expect(found(NOW + 1)).toEqual([undefined, undefined]);
  });
});

describe('an order that another process gave a driver', () => {
  it('is carried in its slot, and the driver gets no other', () => {
    put('a', 0, { capacity: 2 });
    expect(matcher.carry('a', { ...carrying('one'), slot: 1 })).toBe(true);
    expect(matcher.carry('a', { ...carrying('one'), slot: 1 })).toBe(true);
    expect(matcher.carriedBy('a')).toEqual([{ ...carrying('one'), slot: 1 }]);
    expect(matcher.nearest(query())).toBeUndefined();
    expect(matcher.carry('a', carrying('two'))).toBe(true);
    expect(matcher.freeCount()).toBe(0);
  });

  it('is not taken where memory knows the driver, the slot or the order otherwise', () => {
    put('a', 0);
    put('b', 0);
    expect(matcher.carry('stranger', carrying('one'))).toBe(false);
    matcher.claim('a', 'mine');
    expect(matcher.carry('a', carrying('one'))).toBe(false);
    expect(matcher.carry('b', carrying('mine'))).toBe(false);
    wait('waits');
    expect(matcher.carry('b', carrying('waits'))).toBe(false);
    expect([orderOf(matcher.driver('a')), orderOf(matcher.driver('b'))]).toEqual(['mine', null]);
  });

  it('ends that the driver is set aside', () => {
    put('a', 0);
    matcher.claim('a', 'lost');
    matcher.setAside('a', 'lost', NOW);
    expect(matcher.carry('a', carrying('one'))).toBe(true);
    matcher.release('a', NOW, 'one');
    expect(matcher.nearest(query())?.driverId).toBe('a');
  });
});

describe('a driver set aside', () => {
  it('gets orders again after a position that is late enough', () => {
    put('a', 0);
    matcher.claim('a', 'one');
    matcher.setAside('a', 'one', NOW);
    matcher.moveDriver('a', STORE, NOW + SET_ASIDE_MS - 1);
    expect(matcher.nearest(query())).toBeUndefined();
    matcher.moveDriver('a', STORE, NOW + SET_ASIDE_MS);
    expect(matcher.nearest(query())?.driverId).toBe('a');
  });
});

describe('the waiting order for a driver', () => {
  it('is of two with the same cost the nearer one, then the one with the smaller id', () => {
    put('a', 0);
    wait('equal-2');
    wait('equal-1');
    expect(matcher.bestWaitingFor('a', NOW)).toEqual({ orderId: 'equal-1', distanceMeters: 0 });
    // A wait that begins in the future counts as none.
    wait('equal-0', { sinceMs: NOW + MINUTE });
    expect(matcher.bestWaitingFor('a', NOW)?.orderId).toBe('equal-0');
    // One minute of way is worth two of waiting.
    const way = { point: displaced(STORE, 0, 2 * WAIT_FACTOR * WAY_METERS_PER_MINUTE) };
    wait('a-farther-one', { ...way, sinceMs: NOW - 2 * MINUTE });
    matcher.unwait('equal-0');
    expect(matcher.bestWaitingFor('a', NOW)?.orderId).toBe('equal-1');
  });
});

describe('the reason an order waits', () => {
  it('is that it was given back where the only driver for it has done so, and that the others are busy', () => {
    wait('one', { excludedDriverIds: new Set(['gave-back']) });
    put('gave-back', 0);
    expect(matcher.whyWaiting('one')).toBe('given_back');
    put('busy', 0, { carried: [carrying('other')] });
    expect(matcher.whyWaiting('one')).toBe('all_drivers_busy');
  });

  it('is that no vehicle on duty carries the parcel, whoever is free, and names none who could not', () => {
    wait('one', { size: 'large' });
    put('car', 0);
    put('van-of-another-tier', 0, { vehicle: 'van', tierIds: ['priority'] });
    expect(matcher.whyWaiting('one')).toBe('no_vehicle');
    expect(matcher.whyNobody({ tierId: 'standard', size: 'large' })).toBe('no_vehicle');
    put('van', 0, { vehicle: 'van', carried: [carrying('other')] });
    expect(matcher.whyWaiting('one')).toBe('all_drivers_busy');
    put('van', 5, { vehicle: 'van' });
    expect(matcher.whyWaiting('one')).toBe('none_in_radius');
    put('van', 5, { vehicle: 'car' });
    expect(matcher.whyWaiting('one')).toBe('no_vehicle');
  });
});

it('takes the largest table of tiers, and keeps it where a larger one is refused', () => {
  const largest = tiersOf(MAX_TIERS);
  const sentence = `The tier table has ${MAX_TIERS + 1} rows, but the matcher holds at most ${MAX_TIERS} tiers.`;
  expect(() => new Matcher(tiersOf(MAX_TIERS + 1))).toThrow(sentence);
  matcher.setTiers(largest);
  put('a', 0, { tierIds: [...largest.keys(), `tier-${MAX_TIERS}`] });
  expect(() => matcher.setTiers(tiersOf(MAX_TIERS + 1))).toThrow(sentence);
  const found = [...tiersOf(MAX_TIERS + 1).keys()].map((tierId) => matcher.nearest(query({ tierId }))?.driverId);
  expect(found).toEqual([...Array(MAX_TIERS).fill('a'), undefined]);
});
