import { expect, it } from 'vitest';
import type { Places } from '../../src/dispatch/places.ts';
import { createQuoteOrder } from '../../src/dispatch/quote-order.ts';
import type { HoldReason } from '../../src/domain/hold.ts';
import type { OrderExtras } from '../../src/domain/order.ts';
import { roundedToKilometer } from '../../src/domain/shown-position.ts';
import type { Point } from '../../src/geo/point.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import type { RetailerKey } from '../../src/store/accounts/retailers.ts';
import { NO_EXTRAS } from '../harness/orders.ts';
import { TIERS } from '../matcher/brute-force.ts';
import { freeDriver, orderOf } from '../matcher/carrying.ts';

const NOW_MS = Date.parse('2026-03-02T15:00:00.000Z');
/** In the middle of its square. */
const STORE_POINT = roundedToKilometer({ lat: 40, lng: -100 });
const east = (meters: number): Point => ({ lat: STORE_POINT.lat, lng: STORE_POINT.lng + meters / 85_180 });
const zips = {
  area: (zip: string) => (zip === '11111' ? { point: east(2_000), accuracyMeters: 10_000 } : undefined),
  areasOfPrefix: () => [],
  inState: (_zip: string, state: string) => (state === 'KS' ? ('yes' as const) : ('no' as const)),
};
const key = { retailerId: 'store', address: '1 Main St, Town', point: STORE_POINT } as RetailerKey;
const dropoff = { line1: '2 Side St', line2: null, city: 'Town', state: 'KS', zip: '11111' };
const request = { pickupAddress: key.address, dropoffAddress: dropoff, tierId: 'standard', extras: null };

/** The request with what it says of its times and size. */
const saying = (extras: Partial<OrderExtras>) => ({ ...request, extras: { ...NO_EXTRAS, ...extras } });

function world(options: { driver?: Point; places?: Partial<Places>; hold?: HoldReason; isPlanned?: boolean } = {}) {
  const { driver, places = {}, hold, isPlanned } = options;
  const matcher = new Matcher(TIERS);
  if (driver) matcher.putDriver(freeDriver('d', driver, NOW_MS));
  if (hold) matcher.setHold({ retailerId: 'store', reason: hold, credit: 0 });
  const mode = isPlanned ? { dispatchMode: 'planned' } : {};
  const tiers = { get: (id: string) => ({ ...TIERS.get(id), ...mode }) as never };
  const all = { geocoder: null, zips, ...places };
  return { matcher, quote: createQuoteOrder({ tiers, places: all, matcher, clock: { now: () => NOW_MS } }) };
}

const finds = (point: Point): Partial<Places> => ({
  geocoder: { geocode: async () => ({ kind: 'found', point, accuracyMeters: 50 }) },
});

it('says when the nearest driver would have the parcel and be at the door, and claims nobody', async () => {
  const { quote, matcher } = world({ driver: STORE_POINT, places: finds(east(5_000)) });
  const quoted = await quote(request, key);
  expect(quoted).toMatchObject({
    kind: 'serviceable',
    distanceMeters: 5_000,
    isDriverAvailable: true,
    waitingBecause: null,
  });
  // No way to the store, and 1 to 6 minutes there; then 5 km by roads of 6.75 km at 40 or 22 km/h.
  expect(quoted).toMatchObject({
    pickup: { earliest_minutes: 1, latest_minutes: 6 },
    delivery: { earliest_minutes: 11, latest_minutes: 27 },
  });
  expect(orderOf(matcher.driver('d'))).toBeNull();
  expect(matcher.freeCount()).toBe(1);
});

it('says no time before the parcel can have left its store, or before its window', async () => {
  const { quote } = world({ driver: STORE_POINT, places: finds(east(5_000)) });
  const at = (minutes: number) => new Date(NOW_MS + minutes * 60_000);
  expect(await quote(saying({ readyAt: at(2) }), key)).toMatchObject({
    pickup: { earliest_minutes: 2, latest_minutes: 6 },
    delivery: { earliest_minutes: 13, latest_minutes: 27 },
  });
  expect(await quote(saying({ deliverAfter: at(12) }), key)).toMatchObject({
    delivery: { earliest_minutes: 12, latest_minutes: 27 },
  });
});

it.each([
  ['ready now', {}, true],
  ['ready too late', { readyAt: new Date(NOW_MS + 8 * 60_000) }, false],
  ['wanted too late', { deliverAfter: new Date(NOW_MS + 11 * 60_000) }, false],
])('knows when the only driver goes home, for what is %s', async (_, times, isDriverAvailable) => {
  const { quote, matcher } = world({ driver: STORE_POINT });
  matcher.putDriver(freeDriver('d', STORE_POINT, NOW_MS, { onDutyUntilMs: NOW_MS + 10 * 60_000 }));
  expect(await quote(saying(times), key)).toMatchObject({ kind: 'serviceable', isDriverAvailable });
});

it('tells of a driver’s place no more than its square of a kilometer', async () => {
  const seen = await Promise.all(
    [0, 100, 200, 300].map(async (meters) => world({ driver: east(meters) }).quote(request, key)),
  );
  for (const quoted of seen) expect(quoted).toEqual(seen[0]);
});

it('has a wider range where the door is known by its ZIP alone', async () => {
  const { quote } = world({ driver: STORE_POINT });
  expect(await quote(request, key)).toMatchObject({ delivery: { earliest_minutes: 1, latest_minutes: 54 } });
});

it('says that no driver is available, and no times, where nobody is in reach', async () => {
  for (const driver of [undefined, east(30_000)]) {
    const { quote } = world(driver ? { driver } : {});
    expect(await quote(request, key)).toMatchObject({
      kind: 'serviceable',
      isDriverAvailable: false,
      pickup: null,
      delivery: null,
    });
  }
});

it('says why nobody would take it: no vehicle on duty carries the parcel, or nobody is in reach', async () => {
  const near = world({ driver: STORE_POINT });
  expect(await near.quote(saying({ size: 'large' }), key)).toMatchObject({
    isDriverAvailable: false,
    waitingBecause: 'no_vehicle',
  });
  expect(await near.quote(request, key)).toMatchObject({ isDriverAvailable: true, waitingBecause: null });
  const far = world({ driver: east(30_000) });
  expect(await far.quote(request, key)).toMatchObject({ waitingBecause: 'none_in_radius' });
});

it('says that no driver comes for a store that is held, though one is free', async () => {
  const { quote } = world({ driver: STORE_POINT, hold: 'payment_required' });
  expect(await quote(request, key)).toMatchObject({
    isDriverAvailable: false,
    waitingBecause: 'payment_required',
    pickup: null,
  });
});

it('says that an order waits for the plan, in its window, where the planner gives what is ready later', async () => {
  const readyAt = new Date(NOW_MS + 2 * 60_000);
  const later = saying({ readyAt });
  const planned = world({ driver: STORE_POINT, places: finds(east(5_000)), isPlanned: true });
  expect(await planned.quote(later, key)).toMatchObject({
    ...{ isDriverAvailable: false, waitingBecause: null, pickup: null, delivery: null },
    // 4.95 km, by roads 6.7 km, at 40 km/h.
    window: { from: '2026-03-02T15:12:08.000Z', to: '2026-03-02T18:02:00.000Z' },
  });
  expect(await planned.quote(request, key)).toMatchObject({ isDriverAvailable: true, window: null });
});

it('counts a driver with room who goes to that store anyway', async () => {
  const { quote, matcher } = world({ places: finds(east(5_000)) });
  matcher.putDriver(freeDriver('d', STORE_POINT, NOW_MS, { capacity: 2 }));
  const order = { tierId: 'standard' as const, point: STORE_POINT, radiusMeters: 3_000, nowMs: NOW_MS };
  const known = { readyAtMs: NOW_MS, deliverByMs: NOW_MS + 3_600_000, dropoff: east(4_000), retailerId: 'store' };
  expect(matcher.claimNearest({ ...order, ...known, orderId: 'first' })?.driverId).toBe('d');
  expect(await quote(request, key)).toMatchObject({ isDriverAvailable: true, waitingBecause: null });
  expect(matcher.carriedBy('d')).toHaveLength(1);
  expect(await quote(request, { ...key, retailerId: 'other' })).toMatchObject({ isDriverAvailable: false });
});

it('says where no driver goes, as placing the order would', async () => {
  const { quote } = world({ driver: STORE_POINT });
  const asked = await quote({ ...request, dropoffAddress: { ...dropoff, state: 'CA' } }, key);
  expect(asked).toMatchObject({ kind: 'unserviceable', fields: [{ field: 'dropoff_address.state' }, {}] });
});

it('has no distance and no delivery time where the dropoff has no place', async () => {
  const { quote } = world({ driver: STORE_POINT });
  expect(await quote({ ...request, dropoffAddress: { ...dropoff, zip: '22222' } }, key)).toMatchObject({
    distanceMeters: null,
    isDriverAvailable: true,
    delivery: null,
  });
});
