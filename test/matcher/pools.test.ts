import { beforeEach, describe, expect, it } from 'vitest';
import type { FleetDriver } from '../../src/domain/driver.ts';
import type { Point } from '../../src/geo/point.ts';
import type { NewClaim } from '../../src/matcher/claims.ts';
import { type DriverQuery, Matcher, type WaitingOrder } from '../../src/matcher/matcher.ts';
import { displaced } from '../geo/places.ts';
import { TIERS } from './brute-force.ts';
import { carrying, freeDriver, setDuty } from './carrying.ts';

const NOW = 1_700_000_000_000;
const MINUTE = 60_000;
const STORE = { lat: 40.73, lng: -73.99 };
const doorAt = (north: number, east = 0): Point => displaced(STORE, north, east);
const PROMISE = NOW + 180 * MINUTE;

let matcher: Matcher;
beforeEach(() => {
  matcher = new Matcher(TIERS);
});

function put(id: string, north: number, changes: Partial<FleetDriver> = {}): void {
  matcher.putDriver(freeDriver(id, displaced(STORE, north, 0), NOW, { capacity: 3, ...changes }));
}

function claim(orderId: string, changes: Partial<DriverQuery & NewClaim> = {}) {
  return matcher.claimNearest({
    tierId: 'standard',
    point: STORE,
    radiusMeters: 5_000,
    nowMs: NOW,
    orderId,
    retailerId: 'store',
    dropoff: doorAt(1_000),
    readyAtMs: NOW,
    deliverByMs: PROMISE,
    ...changes,
  });
}

function wait(orderId: string, north: number, changes: Partial<WaitingOrder> = {}): void {
  const order = { orderId, retailerId: 'store', tierId: 'standard', point: STORE, sinceMs: NOW - MINUTE };
  matcher.wait({ ...order, dropoff: doorAt(north), readyAtMs: NOW, deliverByMs: PROMISE, ...changes });
}

const idsOf = (driverId: string) => matcher.carriedBy(driverId).map(({ orderId, slot }) => `${orderId} in ${slot}`);

describe('a driver with room who goes to the store anyway', () => {
  it('takes its next orders along, each in a slot of its own, up to the capacity', () => {
    put('roomy', 1_000);
    put('other', 2_000, { capacity: 1 });
    expect(['a', 'b', 'c', 'd'].map((orderId) => claim(orderId)?.driverId)).toEqual([
      'roomy',
      'roomy',
      'roomy',
      'other',
    ]);
    expect(idsOf('roomy')).toEqual(['a in 0', 'b in 1', 'c in 2']);
    expect(claim('e')).toBeUndefined();
  });

  it('is passed over for a free driver who is nearer', () => {
    put('roomy', 1_000);
    claim('a');
    put('nearer', 500);
    expect(claim('b')?.driverId).toBe('nearer');
  });

  it.each<[string, Partial<DriverQuery & NewClaim>]>([
    ['of another store', { retailerId: 'other' }],
    ['at another pickup of the store', { point: doorAt(0, 200) }],
    ['whose door nobody knows', { dropoff: null }],
    ['without a promise', { deliverByMs: undefined }],
    ['of a tier that they do not serve', { tierId: 'priority' }],
    ['that they gave back', { exclude: new Set(['roomy']) }],
    ['that is too large for their vehicle', { size: 'large' }],
    ['beyond its radius', { radiusMeters: 900 }],
    ['that would come late', { deliverByMs: NOW + 4 * MINUTE }],
  ])('takes no order along %s', (_what, changes) => {
    put('roomy', 1_000);
    claim('a');
    expect(claim('b', changes)).toBeUndefined();
  });

  it('takes none along that makes an order on the route late', () => {
    put('roomy', 1_000);
    claim('a', { deliverByMs: NOW + 12 * MINUTE });
    expect(claim('b', { dropoff: doorAt(-4_000), deliverByMs: NOW + 15 * MINUTE })).toBeUndefined();
    expect(claim('c', { dropoff: doorAt(-4_000) })?.driverId).toBe('roomy');
  });

  it.each([
    [16, 'roomy'],
    [17, undefined],
  ])('is tried behind two with %s parcels each: %s', (parcels, driverId) => {
    // Their shift ends before a further parcel would be brought.
    const carried = Array.from({ length: parcels }, (_, slot) =>
      carrying(`${slot}`, { retailerId: 'store', pickup: STORE, dropoff: doorAt(1_000), slot }),
    );
    for (const id of ['long', 'longer']) put(id, 900, { capacity: 20, carried, onDutyUntilMs: NOW + MINUTE });
    put('roomy', 1_000, { carried: [carrying('a', { retailerId: 'store', pickup: STORE, dropoff: doorAt(1_000) })] });
    expect(claim('b')?.driverId).toBe(driverId);
  });

  it('takes more as long as they stand at the store, and none once they left it with a parcel', () => {
    put('roomy', 100);
    claim('a');
    matcher.planned.listen({
      orderChanged: () => undefined,
      driverChanged: (id) => told.push(id),
      tiersChanged: () => undefined,
    });
    const told: string[] = [];
    matcher.setStep('roomy', 'a', 'on_board');
    expect(told).toContain('roomy');
    expect(claim('b')?.driverId).toBe('roomy');
    matcher.moveDriver('roomy', doorAt(300), NOW + 1);
    expect(claim('c')).toBeUndefined();
  });

  it('takes none with a parcel that goes back, when they go home before, or off duty, or when they are silent', () => {
    put('returning', 100, {
      carried: [carrying('x', { retailerId: 'store', pickup: STORE, dropoff: doorAt(5), step: 'returning' })],
    });
    put('goes-home', 100, { onDutyUntilMs: NOW + 20 * MINUTE });
    expect(claim('a')?.driverId).toBe('goes-home');
    expect(claim('b', { dropoff: doorAt(9_000) })).toBeUndefined();
    expect(claim('c')?.driverId).toBe('goes-home');
    setDuty(matcher, 'goes-home', false, NOW);
    expect(claim('d')).toBeUndefined();
  });

  it('is as free as before when the tables refuse one of several', () => {
    put('roomy', 100);
    claim('a');
    claim('b');
    matcher.setAside('roomy', 'b', NOW);
    expect(idsOf('roomy')).toEqual(['a in 0']);
    expect(claim('c')).toBeUndefined();
    matcher.moveDriver('roomy', STORE, NOW + 3_600_000);
    expect(claim('c', { nowMs: NOW + 3_600_000, deliverByMs: NOW + 7_200_000 })?.slot).toBe(1);
  });

  it('uses the slot again that a delivery left', () => {
    put('roomy', 100);
    for (const orderId of ['a', 'b', 'c']) claim(orderId);
    matcher.release('roomy', NOW, 'b');
    expect(claim('d')?.slot).toBe(1);
    expect(matcher.freeCount()).toBe(0);
    for (const orderId of ['a', 'c', 'd']) matcher.release('roomy', NOW, orderId);
    expect([matcher.freeCount(), matcher.hasRoomBeside('roomy')]).toEqual([1, false]);
  });
});

it('gives a driver nothing beside an order in a slot beyond a capacity that was lowered', () => {
  put('lowered', 100, {
    capacity: 2,
    carried: [carrying('c', { slot: 2, retailerId: 'store', pickup: STORE, dropoff: doorAt(5) })],
  });
  expect(matcher.hasRoomBeside('lowered')).toBe(false);
  expect(claim('d')).toBeUndefined();
  matcher.release('lowered', NOW, 'c');
  expect(claim('d')).toMatchObject({ driverId: 'lowered', slot: 0 });
});

describe('waiting orders of a store', () => {
  it('go along with its driver one by one, the least added way first', () => {
    put('roomy', 100);
    claim('a', { dropoff: doorAt(2_000) });
    wait('opposite', -2_000);
    wait('on-the-way', 1_500);
    wait('foreign', 1_900, { retailerId: 'other' });
    expect(matcher.hasRoomBeside('roomy')).toBe(true);
    expect(matcher.bestWaitingFor('roomy', NOW)?.orderId).toBe('on-the-way');
    expect(matcher.beginAssign('on-the-way', 'roomy', NOW)).toBe(true);
    expect(matcher.bestWaitingFor('roomy', NOW)?.orderId).toBe('opposite');
    matcher.endAssign('on-the-way', 'assigned', NOW);
    expect(matcher.bestDriverFor('opposite', NOW)?.driverId).toBe('roomy');
    expect(matcher.bestDriverFor('foreign', NOW)).toBeUndefined();
    expect(idsOf('roomy')).toEqual(['a in 0', 'on-the-way in 1']);
  });

  it('go along behind many whose doors nobody knows', () => {
    put('roomy', 100);
    claim('a');
    for (let n = 0; n < 50; n++) wait(`unknown${n}`, 1_500, { dropoff: null });
    wait('b', 1_500);
    expect(matcher.bestWaitingFor('roomy', NOW)?.orderId).toBe('b');
  });

  it('do not go along while their store is held', () => {
    put('roomy', 100);
    claim('a');
    wait('b', 1_500);
    matcher.setHold({ retailerId: 'store', reason: 'store_suspended', credit: 0 });
    expect(matcher.bestWaitingFor('roomy', NOW)).toBeUndefined();
    matcher.endHold('store');
    expect(matcher.bestWaitingFor('roomy', NOW)?.orderId).toBe('b');
  });
});

describe('a driver who carries nothing', () => {
  it('gets no parcel that their vehicle does not hold', () => {
    put('bike', 100, { vehicle: 'bike' });
    put('car', 200, { vehicle: 'car' });
    put('van', 300, { vehicle: 'van' });
    expect(claim('s', { size: 'small' })?.driverId).toBe('bike');
    expect(claim('l', { size: 'large', retailerId: 'two' })?.driverId).toBe('van');
    expect(claim('m', { size: 'medium', retailerId: 'three' })?.driverId).toBe('car');
    wait('large', 500, { size: 'large', retailerId: 'four' });
    put('bike', 100, { vehicle: 'bike' });
    expect([matcher.bestWaitingFor('bike', NOW), matcher.bestDriverFor('large', NOW)]).toEqual([undefined, undefined]);
    put('van', 300, { vehicle: 'van' });
    expect([matcher.bestWaitingFor('van', NOW)?.orderId, matcher.bestDriverFor('large', NOW)?.driverId]).toEqual([
      'large',
      'van',
    ]);
  });
});
