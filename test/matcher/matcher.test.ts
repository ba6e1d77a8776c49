import { beforeEach, describe, expect, it } from 'vitest';
import type { FleetDriver } from '../../src/domain/driver.ts';
import type { Tier, TierId } from '../../src/domain/tier.ts';
import { distanceMeters } from '../../src/geo/point.ts';
import { POSITION_FRESH_MS, WAY_METERS_PER_MINUTE } from '../../src/limits.ts';
import { AGE_DECIDES_MS, AGE_STEP_MS, WAIT_FACTOR } from '../../src/matcher/cost.ts';
import { SET_ASIDE_MS } from '../../src/matcher/drivers.ts';
import { Matcher, type WaitingOrder } from '../../src/matcher/matcher.ts';
import { displaced } from '../geo/places.ts';
import { TIERS } from './brute-force.ts';
import { carrying, freeDriver, orderOf, setDuty } from './carrying.ts';

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
  it('is at the distance that is returned, to the last bit', () => {
    put('a', 0.02);
    put('b', 0.01);
    const distance = distanceMeters(STORE, { lat: STORE.lat + 0.01, lng: STORE.lng });
    expect(matcher.nearest(query())).toEqual({ driverId: 'b', distanceMeters: distance });
  });

  it('may be exactly at the radius but not beyond it', () => {
    put('a', 0.01);
    const { distanceMeters } = matcher.nearest(query()) ?? { distanceMeters: Number.NaN };
    expect(matcher.nearest(query({ radiusMeters: distanceMeters }))).toBeDefined();
    expect(matcher.nearest(query({ radiusMeters: distanceMeters * (1 - 1e-15) }))).toBeUndefined();
  });

  it('is found across the antimeridian and over a pole', () => {
    put('east', 0, { position: { lat: -17, lng: 179.99, atMs: NOW } });
    put('pole', 0, { position: { lat: 89.99, lng: 100, atMs: NOW } });
    expect(matcher.nearest(query({ point: { lat: -17, lng: -179.99 } }))?.driverId).toBe('east');
    expect(matcher.nearest(query({ point: { lat: 89.99, lng: -80 } }))?.driverId).toBe('pole');
  });

  it('is of two at the same distance the one who has been free longer, then the one with the smaller id', () => {
    put('c', 0.01);
    put('b', 0.01);
    expect(matcher.nearest(query())?.driverId).toBe('b');
    put('z', 0.01, { freeSinceMs: NOW - 1 });
    expect(matcher.nearest(query())?.driverId).toBe('z');
  });

  it('is never one off duty, busy, silent for too long, without a position, of another tier, or excluded', () => {
    put('off', 0, { onDuty: false });
    put('busy', 0, { carried: [carrying('other')] });
    put('silent', 0, { position: { ...STORE, atMs: NOW - POSITION_FRESH_MS - 1 } });
    put('nowhere', 0, { position: null });
    put('other-tier', 0, { tierIds: ['priority', 'scheduled'] });
    put('no-tier', 0, { tierIds: [] });
    put('excluded', 0);
    expect(matcher.nearest(query({ exclude: new Set(['excluded']) }))).toBeUndefined();
    put('just-fresh', 0.01, { position: { ...STORE, atMs: NOW - POSITION_FRESH_MS } });
    expect(matcher.nearest(query({ exclude: new Set(['excluded']) }))?.driverId).toBe('just-fresh');
  });
});

describe('a position report', () => {
  it('moves a driver, near or far, and is ignored if a newer position is known', () => {
    put('a', 0);
    expect(matcher.moveDriver('a', { lat: 51, lng: 0 }, NOW - 1)).toBe(false);
    expect(matcher.driver('a')?.position).toEqual({ ...STORE, atMs: NOW });
    expect(matcher.moveDriver('a', { lat: 51, lng: 0 }, NOW + 1)).toBe(true);
    expect(matcher.nearest(query())).toBeUndefined();
    expect(matcher.nearest(query({ point: { lat: 51, lng: 0 } }))?.distanceMeters).toBe(0);
    expect(matcher.moveDriver('stranger', STORE, NOW)).toBe(false);
  });

  it('places a driver who had no position', () => {
    put('a', 0, { position: null });
    expect(matcher.moveDriver('a', STORE, NOW)).toBe(true);
    expect(matcher.nearest(query())?.driverId).toBe('a');
  });

  it('makes a driver available again who was silent for too long', () => {
    put('a', 0, { position: { ...STORE, atMs: NOW - POSITION_FRESH_MS - 1 } });
    expect(matcher.nearest(query())).toBeUndefined();
    matcher.moveDriver('a', STORE, NOW - POSITION_FRESH_MS);
    expect(matcher.nearest(query())?.driverId).toBe('a');
  });

  it('is not undone by an older position from the database', () => {
    put('a', 0);
    matcher.moveDriver('a', { lat: 51, lng: 0 }, NOW + 1);
    put('a', 0);
    expect(matcher.driver('a')?.position).toEqual({ lat: 51, lng: 0, atMs: NOW + 1 });
    put('a', 0, { position: null });
    expect(matcher.driver('a')?.position?.atMs).toBe(NOW + 1);
  });
});

describe('a claim', () => {
  it('keeps the driver from every other order until their release', () => {
    put('a', 0);
    expect(matcher.claimNearest({ ...query(), orderId: 'one' })?.driverId).toBe('a');
    expect(matcher.claimNearest({ ...query(), orderId: 'two' })).toBeUndefined();
    expect(matcher.claim('a', 'two')).toBe(false);
    expect(matcher.claim('a', 'one')).toBe(true);
    expect(matcher.holderOf('one')).toBe('a');
    expect(matcher.release('a', NOW + 5, 'two')).toBe(false);
    expect(matcher.release('a', NOW + 5, 'one')).toBe(true);
    expect(matcher.driver('a')).toMatchObject({ carried: [], freeSinceMs: NOW + 5 });
    expect(matcher.holderOf('one')).toBeUndefined();
    expect(matcher.claimNearest({ ...query(), orderId: 'two' })?.driverId).toBe('a');
  });

  it('of an unknown driver, or release of a free one, changes nothing', () => {
    put('a', 0);
    expect(matcher.claim('stranger', 'one')).toBe(false);
    expect(matcher.release('stranger', NOW, 'one')).toBe(false);
    expect(matcher.release('a', NOW + 5, 'one')).toBe(false);
    expect(matcher.driver('a')?.freeSinceMs).toBe(NOW);
  });

  it('stays with a driver who goes off duty, who is found after the release only when back on duty', () => {
    put('a', 0);
    matcher.claim('a', 'one');
    setDuty(matcher, 'a', false, NOW);
    expect(orderOf(matcher.driver('a'))).toBe('one');
    matcher.release('a', NOW, 'one');
    expect(matcher.nearest(query())).toBeUndefined();
    setDuty(matcher, 'a', true, NOW + 9);
    expect(matcher.nearest(query())?.driverId).toBe('a');
    expect(matcher.driver('a')?.freeSinceMs).toBe(NOW + 9);
  });

  it('gives way to the row of the driver', () => {
    put('a', 0);
    matcher.claim('a', 'one');
    put('a', 0, { carried: [carrying('two')] });
    expect(matcher.holderOf('one')).toBeUndefined();
    expect(matcher.holderOf('two')).toBe('a');
    put('a', 0);
    expect(matcher.nearest(query())?.driverId).toBe('a');
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
  it('gets no order until a row, a duty change or a release brings something new', () => {
    const changes = [
      () => put('a', 0),
      () => setDuty(matcher, 'a', true, NOW),
      () => matcher.release('a', NOW, 'what-they-really-carried'),
    ];
    for (const change of changes) {
      put('a', 0);
      matcher.claim('a', 'one');
      expect(matcher.setAside('a', 'another', NOW)).toBe(false);
      expect(matcher.setAside('a', 'one', NOW)).toBe(true);
      expect([matcher.nearest(query()), matcher.freeCount(), orderOf(matcher.driver('a'))]).toEqual([
        undefined,
        0,
        null,
      ]);
      change();
      expect(matcher.nearest(query())?.driverId).toBe('a');
    }
  });

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

describe('a removed driver', () => {
  it('is gone, and leaves nothing to a driver who comes later', () => {
    put('a', 0, { carried: [carrying('one')] });
    expect(matcher.removeDriver('a')).toBe(true);
    expect(matcher.removeDriver('a')).toBe(false);
    expect([matcher.driver('a'), matcher.holderOf('one'), matcher.driverCount()]).toEqual([undefined, undefined, 0]);
    put('b', 0, { position: null, onDuty: false });
    expect(matcher.driver('b')).toMatchObject({ position: null, onDuty: false, carried: [] });
  });
});

describe('the waiting order for a driver', () => {
  it('is the one of least minutes of way less weighted minutes of waiting', () => {
    put('a', 0, { tierIds: ['standard', 'priority'] });
    const waitAt = (orderId: string, minutesOfWay: number, waitedMinutes: number, tierId = 'standard') =>
      wait(orderId, {
        tierId,
        point: displaced(STORE, 0, minutesOfWay * WAY_METERS_PER_MINUTE),
        sinceMs: NOW - waitedMinutes * MINUTE,
      });
    waitAt('old', 6, 8);
    waitAt('near', 1, 0);
    expect(matcher.bestWaitingFor('a', NOW)?.orderId).toBe('near');
    // Waiting catches up with the five minutes of way.
    waitAt('older', 6, 5 / WAIT_FACTOR + 0.5);
    expect(matcher.bestWaitingFor('a', NOW)?.orderId).toBe('older');
    waitAt('urgent', 6, 3, 'priority');
    expect(matcher.bestWaitingFor('a', NOW)?.orderId).toBe('urgent');
  });

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

  it('is a late one before all others, however far, and of late ones the one of more whole hours', () => {
    put('a', 0, { tierIds: ['standard', 'priority'] });
    wait('here', { sinceMs: NOW - 100 * MINUTE });
    const far = displaced(STORE, 0, 19_000);
    wait('far', { point: far, sinceMs: NOW - AGE_DECIDES_MS });
    expect(matcher.bestWaitingFor('a', NOW - 1)?.orderId).toBe('here');
    expect(matcher.bestWaitingFor('a', NOW)?.orderId).toBe('far');
    wait('late-here', { sinceMs: NOW - AGE_DECIDES_MS - AGE_STEP_MS + 1 });
    wait('far-hour', { point: far, sinceMs: NOW - AGE_DECIDES_MS - AGE_STEP_MS + 1 });
    expect(matcher.bestWaitingFor('a', NOW)?.orderId).toBe('late-here');
    wait('far-hour', { point: far, sinceMs: NOW - AGE_DECIDES_MS - AGE_STEP_MS });
    expect(matcher.bestWaitingFor('a', NOW)?.orderId).toBe('far-hour');
    wait('urgent', { tierId: 'priority', sinceMs: NOW - AGE_DECIDES_MS / 2 });
    expect(matcher.bestWaitingFor('a', NOW)?.orderId).toBe('urgent');
  });

  it('counts as waiting from its fair start, while its radius grows from when it waits', () => {
    put('a', 0);
    const since = { sinceMs: NOW - 10 * MINUTE };
    wait('put-back', { ...since, fairStartMs: NOW });
    wait('later', { sinceMs: NOW - MINUTE, point: displaced(STORE, 10, 0) });
    expect(matcher.bestWaitingFor('a', NOW)?.orderId).toBe('later');
    matcher.unwait('later');
    matcher.unwait('put-back');
    // Standard grows from 3 km by 0.6 km a minute.
    wait('far', { ...since, fairStartMs: NOW, point: displaced(STORE, 8_900, 0) });
    expect(matcher.bestWaitingFor('a', NOW)?.orderId).toBe('far');
    expect(matcher.bestWaitingFor('a', NOW - MINUTE)).toBeUndefined();
  });

  it('comes into reach as its radius grows', () => {
    put('a', 0);
    const grows: Tier = { ...(TIERS.get('standard') as Tier), radiusMeters: 1_000, radiusGrowthMetersPerMinute: 1_000 };
    matcher.setTiers(new Map([['standard', grows]]));
    wait('north', { point: { lat: STORE.lat + 0.0135, lng: STORE.lng } });
    expect(matcher.bestWaitingFor('a', NOW + 25_000)).toBeUndefined();
    expect(matcher.bestWaitingFor('a', NOW + 35_000)?.orderId).toBe('north');
    expect(matcher.bestDriverFor('north', NOW + 25_000)).toBeUndefined();
    expect(matcher.bestDriverFor('north', NOW + 35_000)?.driverId).toBe('a');
  });

  it('is none that excludes the driver, and none at all while the driver is not available', () => {
    put('a', 0);
    put('b', 0.001);
    wait('one', { excludedDriverIds: new Set(['a']) });
    expect(matcher.bestWaitingFor('a', NOW)).toBeUndefined();
    expect(matcher.bestWaitingFor('b', NOW)?.orderId).toBe('one');
    expect(matcher.bestDriverFor('one', NOW)?.driverId).toBe('b');
    expect(matcher.bestDriverFor('one', NOW, new Set(['b']))).toBeUndefined();
    expect(matcher.bestWaitingFor('b', NOW + POSITION_FRESH_MS + 1)).toBeUndefined();
    setDuty(matcher, 'b', false, NOW);
    expect(matcher.bestWaitingFor('b', NOW)).toBeUndefined();
  });

  it('is found among a hundred thousand others, near and far', () => {
    put('a', 0);
    for (let i = 0; i < 100_000; i++) {
      const point = { lat: STORE.lat + (i % 317) * 1e-4, lng: STORE.lng + (i % 311) * 1e-4 };
      wait(`order-${i}`, { point, sinceMs: NOW - ((i * 7919) % 100_003) });
    }
    wait('first', { sinceMs: NOW - 2_000_000, point: { lat: STORE.lat + 0.03, lng: STORE.lng } });
    wait('far', { sinceMs: NOW - AGE_DECIDES_MS, point: { lat: -30, lng: 100 } });
    expect(matcher.bestWaitingFor('a', NOW)?.orderId).toBe('first');
    expect(matcher.waitingCountOf('store')).toBe(100_002);
  });
});

describe('an assignment in flight', () => {
  beforeEach(() => {
    put('a', 0);
    put('b', 0.001);
    wait('one');
  });

  it('keeps order and driver from being picked again', () => {
    expect(matcher.beginAssign('one', 'a', NOW)).toBe(true);
    expect(matcher.beginAssign('one', 'b', NOW)).toBe(false);
    expect(matcher.bestWaitingFor('b', NOW)).toBeUndefined();
    expect(matcher.bestDriverFor('one', NOW)).toBeUndefined();
    expect(matcher.nearest(query())?.driverId).toBe('b');
    wait('one');
    expect(matcher.bestWaitingFor('b', NOW)).toBeUndefined();
    expect([matcher.isWaiting('one'), matcher.waitingCount()]).toEqual([true, 1]);
    wait('two');
    expect(matcher.beginAssign('two', 'a', NOW)).toBe(false);
    expect(matcher.beginAssign('unknown', 'b', NOW)).toBe(false);
  });

  it('that succeeded leaves the order with its driver', () => {
    matcher.beginAssign('one', 'a', NOW);
    // A read that began before the write ended does not show it.
    put('a', 0);
    expect(matcher.endAssign('one', 'assigned', NOW)).toBe(true);
    expect([matcher.isWaiting('one'), matcher.holderOf('one')]).toEqual([false, 'a']);
    expect(matcher.endAssign('one', 'assigned', NOW)).toBe(false);
  });

  it('that lost its driver leaves the order waiting as before, and sets the driver aside', () => {
    matcher.beginAssign('one', 'a', NOW);
    matcher.endAssign('one', 'driver_lost', NOW);
    expect(matcher.waitingOrder('one')?.sinceMs).toBe(NOW);
    expect(matcher.bestWaitingFor('a', NOW)).toBeUndefined();
    expect(matcher.bestDriverFor('one', NOW)?.driverId).toBe('b');
  });

  it('that lost its order leaves the driver as free as before', () => {
    matcher.beginAssign('one', 'a', NOW);
    matcher.unwait('one');
    matcher.endAssign('one', 'order_gone', NOW + 100);
    expect(matcher.isWaiting('one')).toBe(false);
    expect(matcher.driver('a')).toMatchObject({ carried: [], freeSinceMs: NOW });
    expect(matcher.nearest(query())?.driverId).toBe('a');
  });

  it('that lost its order does not free a driver who was set aside meanwhile', () => {
    matcher.beginAssign('one', 'a', NOW);
    matcher.setAside('a', 'one', NOW);
    matcher.endAssign('one', 'order_gone', NOW);
    expect(matcher.nearest(query())?.driverId).toBe('b');
  });

  it('ends well if its driver was removed meanwhile', () => {
    matcher.beginAssign('one', 'a', NOW);
    matcher.removeDriver('a');
    expect(matcher.endAssign('one', 'driver_lost', NOW)).toBe(true);
    expect(matcher.bestWaitingFor('b', NOW)?.orderId).toBe('one');
  });
});

describe('the reason an order waits', () => {
  it('is the first of nobody on duty, none qualified, all busy and none in radius', () => {
    expect(matcher.whyWaiting('one')).toBeUndefined();
    wait('one');
    put('off', 0, { onDuty: false });
    expect(matcher.whyWaiting('one')).toBe('no_driver_on_duty');
    put('other-tier', 0, { tierIds: ['priority'] });
    expect(matcher.whyWaiting('one')).toBe('none_qualified');
    put('busy', 0, { carried: [carrying('other')] });
    expect(matcher.whyWaiting('one')).toBe('all_drivers_busy');
    put('far', 5);
    expect(matcher.whyWaiting('one')).toBe('none_in_radius');
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

  it('is that it was given back where the only driver for it, or the only one in reach, has done so', () => {
    wait('one', { excludedDriverIds: new Set(['gave-back']) });
    put('gave-back', 0, { onDuty: false });
    expect(matcher.whyWaiting('one')).toBe('no_driver_on_duty');
    put('other-tier', 0, { tierIds: ['priority'] });
    expect(matcher.whyWaiting('one')).toBe('none_qualified');
    put('gave-back', 0);
    expect(matcher.whyWaiting('one')).toBe('given_back');
    put('busy', 0, { carried: [carrying('other')] });
    expect(matcher.whyWaiting('one')).toBe('all_drivers_busy');
    put('far', 5);
    expect(matcher.whyWaiting('one')).toBe('given_back');
    put('gave-back', 0, { carried: [carrying('another')] });
    expect(matcher.whyWaiting('one')).toBe('none_in_radius');
  });
});

it('lists the waiting orders in the order of arrival', () => {
  for (const id of ['1', '2', '3']) wait(id);
  matcher.unwait('3');
  wait('4');
  expect([...matcher.waitingOrders()].map((order) => order.orderId)).toEqual(['1', '2', '4']);
});
