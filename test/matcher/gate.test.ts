import { afterEach, describe, expect, it, vi } from 'vitest';
import type { FleetDriver } from '../../src/domain/driver.ts';
import { POSITION_FRESH_MS } from '../../src/limits.ts';
import { DriverSearch } from '../../src/matcher/driver-search.ts';
import { Matcher, type WaitingOrder } from '../../src/matcher/matcher.ts';
import { TIERS } from './brute-force.ts';
import { carrying, freeDriver } from './carrying.ts';

const NOW = 1_700_000_000_000;
const MINUTE = 60_000;
const STORE = { lat: 40.73, lng: -73.99 };
const DOOR = { lat: 40.74, lng: -73.99 };
const AWAY = { lat: 41.73, lng: -73.99 };

const order: WaitingOrder = {
  orderId: 'o',
  retailerId: 'store',
  tierId: 'standard',
  point: STORE,
  sinceMs: NOW,
  dropoff: DOOR,
  readyAtMs: NOW,
  deliverByMs: NOW + 180 * MINUTE,
};
const driver = freeDriver('d', STORE, NOW);
const at = (place: typeof STORE, agoMs = 0) => ({ position: { ...place, atMs: NOW - agoMs } });
const parcel = (dropoff: typeof STORE) => ({ ...carrying('other'), step: 'on_board' as const, pickup: AWAY, dropoff });

/** Whether an order is given to a driver whom somebody chose, whatever they chose by. */
function isGiven(changes: Partial<FleetDriver>, wanted: Partial<WaitingOrder> = {}): boolean {
  const matcher = new Matcher(TIERS);
  matcher.putDriver({ ...driver, ...changes });
  matcher.wait({ ...order, ...wanted });
  return matcher.beginAssign('o', 'd', NOW);
}

/** Whether a new order claims a driver whom the search returns, whatever it went by. */
function isClaimed(
  changes: Partial<FleetDriver>,
  { excludedDriverIds: exclude, ...wanted }: Partial<WaitingOrder> = {},
) {
  const matcher = new Matcher(TIERS);
  matcher.putDriver({ ...driver, ...changes });
  vi.spyOn(DriverSearch.prototype, 'nearest').mockReturnValue({ driverId: 'd', distanceMeters: 0 });
  return matcher.claimNearest({ ...order, ...wanted, exclude, radiusMeters: 5_000, nowMs: NOW }) !== undefined;
}
afterEach(() => vi.restoreAllMocks());

describe('whoever chose the driver, an order is given to one who', () => {
  it('is on duty, fresh, qualified, in reach and free', () => {
    expect(isGiven({})).toBe(true);
    expect(isClaimed({})).toBe(true);
  });

  it('is within the radius that the order has by now', () => {
    expect(isGiven(at({ lat: 40.83, lng: -73.99 }))).toBe(false);
    expect(isGiven(at({ lat: 40.83, lng: -73.99 }), { sinceMs: NOW - 60 * MINUTE })).toBe(true);
  });

  it('makes a stop within the radius, with room for one more', () => {
    const toTheStore = { ...at(AWAY), carried: [parcel(STORE)] };
    expect(isGiven({ ...toTheStore, capacity: 2 })).toBe(true);
    expect(isGiven({ ...toTheStore, capacity: 1 })).toBe(false);
    expect(isGiven({ ...at(AWAY), carried: [parcel(AWAY)], capacity: 2 })).toBe(false);
  });

  it('brings what they carry, and it, before they go home', () => {
    expect(isGiven({ onDutyUntilMs: NOW + 60 * MINUTE })).toBe(true);
    const carrier = { ...at(AWAY), carried: [parcel(STORE)], capacity: 2 };
    expect(isGiven({ ...carrier, onDutyUntilMs: NOW + 60 * MINUTE })).toBe(false);
    expect(isGiven({ ...carrier, onDutyUntilMs: NOW + 600 * MINUTE })).toBe(true);
  });
});

it.each<[string, Partial<FleetDriver>, Partial<WaitingOrder>]>([
  ['is off duty', { onDuty: false }, {}],
  ['is silent', at(STORE, POSITION_FRESH_MS + 1), {}],
  ['was never heard from', { position: null }, {}],
  ['does not serve the tier', { tierIds: ['priority'] }, {}],
  ['has too small a vehicle', { vehicle: 'car' }, { size: 'large' }],
  ['gave it back', {}, { excludedDriverIds: new Set(['d']) }],
  ['is far away', at(AWAY), {}],
  ['has no room', { carried: [carrying('other')] }, {}],
  ['goes home before it is brought', { onDutyUntilMs: NOW + MINUTE }, {}],
  ['goes home as soon as it is ready', { onDutyUntilMs: NOW + 60 * MINUTE }, { readyAtMs: NOW + 59 * MINUTE }],
  ['goes home before its window', { onDutyUntilMs: NOW + 60 * MINUTE }, { deliverAfterMs: NOW + 61 * MINUTE }],
])('whoever chose the driver, nothing is given to one who %s', (_, changes, wanted) => {
  expect(isGiven(changes, wanted)).toBe(false);
  expect(isClaimed(changes, wanted)).toBe(false);
});

it('whoever chose the driver, nothing is given of a held store, of a tier that is gone, or to a driver who is gone', () => {
  const matcher = new Matcher(TIERS);
  matcher.putDriver(driver);
  matcher.wait(order);
  matcher.wait({ ...order, orderId: 'gone', tierId: 'gone' });
  expect(matcher.beginAssign('gone', 'd', NOW)).toBe(false);
  expect(matcher.beginAssign('o', 'gone', NOW)).toBe(false);
  matcher.setHold({ retailerId: 'store', reason: 'store_suspended', credit: 0 });
  expect(matcher.beginAssign('o', 'd', NOW)).toBe(false);
  matcher.endHold('store');
  expect(matcher.beginAssign('o', 'd', NOW)).toBe(true);
});
