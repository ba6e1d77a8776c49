import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ARRIVAL_DROPOFF_METERS,
  type Arrival,
  arrivalOf,
  arrivalTimes,
  minutesUntil,
  pickupIn,
  type Trip,
} from '../../src/domain/arrival.ts';
import { ORDER_STATUSES } from '../../src/domain/order.ts';
import type { PlaceOnRoute } from '../../src/domain/tracked.ts';
import { POSITION_FRESH_MS } from '../../src/limits.ts';
import { positionMessage } from '../../src/tracking/messages.ts';
import { arrivalText } from '../../src/tracking/sentences.ts';
import { HOME_PIN_METERS, trackingView } from '../../src/tracking/view.ts';
import { speakTracking } from '../../src/words/tracking.ts';
import { assigned, NOW_MS, pickedUp } from './orders.ts';

const STORE = { lat: 40.7411, lng: -73.9897 };
/** About 5 km north of the store. */
const DROPOFF = { lat: 40.786, lng: -73.9897, accuracyMeters: 50 };
const trip = (changes: Partial<Trip> = {}): Trip => ({
  status: 'picked_up',
  driver: { point: STORE, ageMs: 0 },
  pickup: STORE,
  dropoff: DROPOFF,
  ...changes,
});

const lat = fc.double({ min: -90, max: 90, noNaN: true });
const lng = fc.double({ min: -180, max: 180, noNaN: true });
const point = fc.record({ lat, lng });
const ageMs = fc.integer({ min: 0, max: POSITION_FRESH_MS });
const accuracyMeters = fc.integer({ min: 1, max: ARRIVAL_DROPOFF_METERS });
const status = fc.constantFrom('driver_assigned' as const, 'picked_up' as const);

describe('an arrival', () => {
  it('is a range of minutes that suits the distance', () => {
    // 5 km by roads of 6.75 km: 10 min at 40 km/h, 19 min at 22 km/h and 2 min to the door.
    expect(arrivalOf(trip())).toEqual({ earliest_minutes: 10, latest_minutes: 21 });
  });

  it('of a planned order begins no sooner than its times', () => {
    const range = { from: '2026-03-02T15:10:00Z', to: '2026-03-02T15:40:00Z' };
    const nowMs = Date.parse('2026-03-02T15:00:03Z');
    expect(minutesUntil(range, nowMs)).toEqual({ earliest_minutes: 10, latest_minutes: 40 });
  });

  it('is never negative and never the wrong way round, anywhere on Earth', () => {
    fc.assert(
      fc.property(status, point, point, point, accuracyMeters, ageMs, (status, at, pickup, to, accuracy, age) => {
        const dropoff = { ...to, accuracyMeters: accuracy };
        const arrival = arrivalOf({ status, driver: { point: at, ageMs: age }, pickup, dropoff }) as Arrival;
        expect(Number.isInteger(arrival.earliest_minutes)).toBe(true);
        expect(arrival.earliest_minutes).toBeGreaterThanOrEqual(0);
        expect(arrival.latest_minutes).toBeGreaterThanOrEqual(Math.max(1, arrival.earliest_minutes));
        expect(arrivalText(arrival, speakTracking.en)).not.toMatch(/-|NaN|Infinity/);
      }),
    );
  });

  it('never comes sooner from farther away', () => {
    const north = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(status, north, north, accuracyMeters, ageMs, (status, one, other, accuracy, age) => {
        // Due south of everything, so that being farther from the pickup is being farther from the dropoff.
        const from = (degrees: number) =>
          arrivalOf({
            status,
            driver: { point: { lat: STORE.lat - degrees, lng: STORE.lng }, ageMs: age },
            pickup: STORE,
            dropoff: { ...DROPOFF, accuracyMeters: accuracy },
          }) as Arrival;
        const near = from(Math.min(one, other));
        const far = from(Math.max(one, other));
        expect(far.earliest_minutes).toBeGreaterThanOrEqual(near.earliest_minutes);
        expect(far.latest_minutes).toBeGreaterThanOrEqual(near.latest_minutes);
      }),
    );
  });

  it('is wider where the dropoff is known less well', () => {
    const rough = arrivalOf(trip({ dropoff: { ...DROPOFF, accuracyMeters: 1_000 } })) as Arrival;
    const exact = arrivalOf(trip()) as Arrival;
    expect(rough.earliest_minutes).toBeLessThan(exact.earliest_minutes);
    expect(rough.latest_minutes).toBeGreaterThan(exact.latest_minutes);
  });

  it('includes the way to the store and the stop there before the pickup', () => {
    const before = arrivalOf(trip({ status: 'driver_assigned', driver: { point: DROPOFF, ageMs: 0 } })) as Arrival;
    expect(before.earliest_minutes).toBeGreaterThanOrEqual(20);
    expect(before.latest_minutes).toBeGreaterThan(38);
  });

  it('is a range of times of the clock for a store', () => {
    expect(arrivalTimes(arrivalOf(trip()), NOW_MS)).toEqual({
      from: '2026-03-02T15:10:00.000Z',
      to: '2026-03-02T15:21:00.000Z',
    });
    expect(arrivalTimes(null, NOW_MS)).toBeNull();
  });

  it('at the store is before the one at the door, and counts the stop there', () => {
    // 5 km by roads of 6.75 km: 10 min at 40 km/h and 1 there, 19 min at 22 km/h and 6 there.
    expect(pickupIn({ point: DROPOFF, ageMs: 0 }, STORE)).toEqual({ earliest_minutes: 11, latest_minutes: 25 });
    expect(pickupIn({ point: STORE, ageMs: POSITION_FRESH_MS }, STORE)).toEqual({
      earliest_minutes: 0,
      latest_minutes: 5,
    });
  });

  it('is never before the driver can be at the store, however near the door may be', () => {
    const dropoff = { ...STORE, accuracyMeters: 1_000 };
    const driver = { point: DROPOFF, ageMs: 0 };
    const arrival = arrivalOf(trip({ status: 'driver_assigned', driver, dropoff })) as Arrival;
    expect(arrival.earliest_minutes).toBe(pickupIn(driver, STORE).earliest_minutes);
  });

  it('counts the time since the position as driven', () => {
    const later = arrivalOf(trip({ driver: { point: STORE, ageMs: 60_000 } }));
    expect(later).toEqual({ earliest_minutes: 9, latest_minutes: 20 });
  });

  it('is not told where it would be a guess', () => {
    expect(arrivalOf(trip({ dropoff: null }))).toBeNull();
    expect(arrivalOf(trip({ dropoff: { ...DROPOFF, accuracyMeters: ARRIVAL_DROPOFF_METERS + 1 } }))).toBeNull();
    expect(arrivalOf(trip({ driver: null }))).toBeNull();
    expect(arrivalOf(trip({ driver: { point: STORE, ageMs: POSITION_FRESH_MS + 1 } }))).toBeNull();
    for (const status of ORDER_STATUSES) {
      if (status !== 'driver_assigned' && status !== 'picked_up') expect(arrivalOf(trip({ status }))).toBeNull();
    }
  });
});

describe('on the page', () => {
  const position = { ...STORE, atMs: NOW_MS };
  const NEXT: PlaceOnRoute = { stopsBefore: 0, isNext: true, doorInMinutes: 20, door: null, otherDoors: [] };

  it('it comes with the view and with every position, and a dropoff that is roughly known with neither', () => {
    const order = pickedUp({ dropoff: { ...DROPOFF, accuracyMeters: HOME_PIN_METERS + 1 } });
    const view = trackingView(order, position, NOW_MS);
    expect(view.arrival).toEqual({ earliest_minutes: 9, latest_minutes: 22 });
    const shown = view.driver?.position;
    const message = shown ? positionMessage(order, shown, NOW_MS) : '';
    expect(JSON.parse(message).arrival).toEqual(view.arrival);
    expect(JSON.stringify(view) + message).not.toContain('40.786');
  });

  it('it tells no more than the rounded position does before the pickup', () => {
    const order = assigned({ dropoff: DROPOFF });
    const from = (lat: number) => trackingView(order, { ...position, lat }, NOW_MS);
    const one = from(40.7081);
    const other = from(40.7119);
    expect(one.driver).toEqual(other.driver);
    expect(one.arrival).toEqual(other.arrival);
  });

  it('it waits for the parcel and for its window, and is by the route where the driver stops elsewhere first', () => {
    const of = (place: Partial<PlaceOnRoute>) =>
      trackingView(pickedUp({ dropoff: DROPOFF, onRoute: { ...NEXT, ...place } }), position, NOW_MS).arrival;
    expect(of({})).toEqual({ earliest_minutes: 10, latest_minutes: 21 });
    expect(of({ readyAtMs: NOW_MS + 20 * 60_000 })).toEqual({ earliest_minutes: 31, latest_minutes: 41 });
    expect(of({ deliverAfterMs: NOW_MS + 30 * 60_000 })).toEqual({ earliest_minutes: 30, latest_minutes: 32 });
    expect(of({ isNext: false, doorInMinutes: 40 })).toEqual({ earliest_minutes: 30, latest_minutes: 58 });
  });

  it('it is said in words that suit its size', () => {
    const text = (earliest_minutes: number, latest_minutes: number) =>
      arrivalText({ earliest_minutes, latest_minutes }, speakTracking.en);
    expect(text(8, 14)).toBe('Arriving in 8 to 14 min');
    expect(text(0, 6)).toBe('Arriving within 6 min');
    expect(text(0, 1)).toBe('Arriving any minute now');
    expect(text(70, 150)).toBe('Arriving in 1 to 3 hours');
    expect(text(50, 130)).toBe('Arriving within 3 hours');
    expect(arrivalText(null, speakTracking.en)).toBe('');
  });
});
