import { describe, expect, it } from 'vitest';
import {
  DOOR_FAR_METERS,
  doubtsAbout,
  type JudgedStep,
  MIN_DELIVERY_MS,
  NEIGHBOUR_METERS,
  PLAUSIBLE_METERS_PER_SECOND,
  RECEIPT_POSITION_MS,
  STAMP_KEPT_MS,
  STAMP_SKEW_MS,
  STILL_AT_PICKUP_METERS,
  STORE_FAR_METERS,
  type StepReceived,
  type Trip,
} from '../../src/domain/payout.ts';
import { SHOWN_SQUARE_METERS } from '../../src/domain/shown-position.ts';
import type { Point } from '../../src/geo/point.ts';
import { GEOCODER_ACCURACY_METERS, ZIP_ACCURACY_METERS } from '../../src/limits.ts';
import { displaced } from '../geo/places.ts';

const ASSIGNED = 1_700_000_000_000;
const STORE: Point = { lat: 40.73, lng: -73.99 };
const DOOR = displaced(STORE, 8_000, 0);
const TRIP: Trip = {
  assignedAtMs: ASSIGNED,
  approachMeters: 2_000 + SHOWN_SQUARE_METERS,
  pickup: { point: STORE, accuracyMeters: 0 },
  dropoff: { point: DOOR, accuracyMeters: 50 },
  pickedUpAt: null,
  areNeighbours: false,
};
const HOUR = 3_600_000;

/** A step at its place, an hour after the assignment, by a driver whose position is a second old. */
function step(kind: JudgedStep, changes: Partial<StepReceived> = {}): StepReceived {
  const receivedAtMs = changes.receivedAtMs ?? ASSIGNED + HOUR;
  const place = kind === 'picked_up' || kind === 'returned' ? STORE : DOOR;
  const position = { ...place, atMs: receivedAtMs - 1_000 };
  return { step: kind, trip: TRIP, receivedAtMs, capturedAtMs: null, position, ...changes };
}
const at = (point: Point, ageMs = 0) => ({ ...point, atMs: ASSIGNED + HOUR - ageMs });
const STEPS: readonly JudgedStep[] = ['picked_up', 'delivered', 'undeliverable', 'returned'];

describe('a step of a driver', () => {
  it.each(STEPS)('at its place and in its time raises no doubt: %s', (kind) => {
    expect(doubtsAbout(step(kind))).toEqual([]);
  });

  it.each([
    ['delivered', 10_000 - 50],
    ['returned', 18_000 - 100],
  ] as const)('is too fast if the whole way was faster than the bound: %s', (kind, wayMeters) => {
    const shortestMs = (wayMeters / PLAUSIBLE_METERS_PER_SECOND) * 1_000;
    expect(doubtsAbout(step(kind, { receivedAtMs: ASSIGNED + shortestMs - 1_000 }))).toEqual(['too_fast']);
    expect(doubtsAbout(step(kind, { receivedAtMs: ASSIGNED + shortestMs + 1_000 }))).toEqual([]);
  });

  it('takes a moment even where store and door are next to each other, or nobody knows where the door is', () => {
    const near = { ...TRIP, approachMeters: 0, dropoff: { point: STORE, accuracyMeters: 10 } };
    const position = { ...STORE, atMs: ASSIGNED };
    for (const trip of [near, { ...near, dropoff: null, areNeighbours: true }]) {
      for (const kind of ['delivered', 'returned'] as const) {
        const received = (ms: number) => doubtsAbout(step(kind, { trip, position, receivedAtMs: ASSIGNED + ms }));
        expect(received(MIN_DELIVERY_MS - 1)).toEqual(['too_fast']);
        expect(received(MIN_DELIVERY_MS)).toEqual([]);
      }
    }
  });

  it('is not too fast before the order ends: a phone that was offline sends its steps at once', () => {
    for (const kind of ['picked_up', 'undeliverable'] as const) {
      expect(doubtsAbout(step(kind, { receivedAtMs: ASSIGNED + 1, position: step(kind).position }))).toEqual([]);
    }
  });

  it('counts the way between two places as short as they may be', () => {
    const dropoff = { point: DOOR, accuracyMeters: ZIP_ACCURACY_METERS };
    const trip = { ...TRIP, approachMeters: 0, dropoff };
    expect(doubtsAbout(step('delivered', { trip, receivedAtMs: ASSIGNED + MIN_DELIVERY_MS }))).toEqual([]);
  });

  it.each([
    ['picked_up', STORE, STORE_FAR_METERS, 'pickup_far'],
    ['returned', STORE, STORE_FAR_METERS, 'handover_far'],
    ['delivered', DOOR, DOOR_FAR_METERS + 50, 'handover_far'],
    ['undeliverable', DOOR, DOOR_FAR_METERS + 50, 'handover_far'],
  ] as const)(
    'is far if its driver is, beyond the bound and the error of the place: %s',
    (kind, place, most, doubt) => {
      const from = (meters: number) => doubtsAbout(step(kind, { position: at(displaced(place, 0, meters)) }));
      expect(from(most + 20)).toEqual([doubt]);
      expect(from(most - 20)).toEqual([]);
    },
  );

  it('at a door that is known by its ZIP alone is near anywhere around', () => {
    const trip = { ...TRIP, dropoff: { point: DOOR, accuracyMeters: ZIP_ACCURACY_METERS } };
    const position = at(displaced(DOOR, 0, ZIP_ACCURACY_METERS));
    expect(doubtsAbout(step('delivered', { trip, position }))).toEqual([]);
    expect(doubtsAbout(step('delivered', { trip: { ...TRIP, dropoff: null }, position }))).toEqual([]);
  });

  it('allows for the way since the last position, as that of a phone without a network is old', () => {
    const meters = DOOR_FAR_METERS + 60 * PLAUSIBLE_METERS_PER_SECOND;
    const ofAge = (ageMs: number) =>
      doubtsAbout(step('delivered', { position: at(displaced(DOOR, 0, meters), ageMs) }));
    expect(ofAge(60_000)).toEqual([]);
    expect(ofAge(55_000)).toEqual(['handover_far']);
  });

  it('that is a pick-up may come late, from the door, but the end of an order may not come from elsewhere', () => {
    const captured = (kind: JudgedStep, position: Point, ageMs: number) =>
      doubtsAbout(step(kind, { position: at(position), capturedAtMs: ASSIGNED + HOUR - ageMs }));
    expect(captured('picked_up', DOOR, 600_000)).toEqual([]);
    expect(captured('picked_up', DOOR, 60_000)).toEqual(['pickup_far']);
    expect(captured('picked_up', DOOR, 30 * HOUR)).toEqual(['pickup_far', 'implausible_time']);
    expect(captured('delivered', STORE, 600_000)).toEqual(['handover_far']);
    expect(captured('undeliverable', STORE, 600_000)).toEqual(['handover_far']);
    expect(captured('returned', DOOR, 600_000)).toEqual(['handover_far']);
  });

  it('without a position, or with one from long ago, is doubtful', () => {
    for (const kind of STEPS) {
      expect(doubtsAbout(step(kind, { position: null }))).toEqual(['no_position']);
      const position = at(STORE, RECEIPT_POSITION_MS + 1);
      expect(doubtsAbout(step(kind, { position }))).toEqual(['no_position']);
    }
  });

  it.each([
    ['before the assignment', ASSIGNED - STAMP_SKEW_MS - 1, true],
    ['of 1990', Date.parse('1990-01-01T00:00:00Z'), true],
    ['ahead of the clock', ASSIGNED + HOUR + STAMP_SKEW_MS + 1, true],
    ['a little before the assignment', ASSIGNED - STAMP_SKEW_MS, false],
    ['a little ahead', ASSIGNED + HOUR + STAMP_SKEW_MS, false],
    ['half an hour old', ASSIGNED + HOUR / 2, false],
  ])('with a time %s', (_what, capturedAtMs, isDoubtful) => {
    expect(doubtsAbout(step('delivered', { capturedAtMs }))).toEqual(isDoubtful ? ['implausible_time'] : []);
  });

  it('with a time from longer ago than a phone keeps an action is doubtful', () => {
    const receivedAtMs = ASSIGNED + 2 * STAMP_KEPT_MS;
    const capturedAtMs = receivedAtMs - STAMP_KEPT_MS - 1;
    expect(doubtsAbout(step('picked_up', { receivedAtMs, capturedAtMs }))).toEqual(['implausible_time']);
  });
});

describe('a handover by a driver who is still at the pickup', () => {
  const HANDOVERS = ['delivered', 'undeliverable'] as const;
  /** The doubts about a handover at `point`, of an order to `door`. */
  const from = (point: Point, changes: Partial<Trip>, ageMs = 0, kind: JudgedStep = 'delivered') =>
    doubtsAbout(step(kind, { trip: { ...TRIP, ...changes }, position: at(point, ageMs) }));
  const byZip = (meters: number) => ({
    dropoff: { point: displaced(STORE, meters, 0), accuracyMeters: ZIP_ACCURACY_METERS },
  });
  const byStreet = (meters: number, accuracyMeters = GEOCODER_ACCURACY_METERS) => ({
    dropoff: { point: displaced(STORE, meters, 0), accuracyMeters },
  });

  it.each([
    ['its ZIP alone, whose middle is the store', byZip(0)],
    ['its ZIP alone, whose middle is far away', byZip(9_000)],
    ['its street, further than the store has neighbours', byStreet(NEIGHBOUR_METERS + 20)],
    ['its street, as far as that may be off', byStreet(STORE_FAR_METERS - 100)],
    ['its house, around the corner', byStreet(NEIGHBOUR_METERS + 20, 20)],
    ['no place at all', { dropoff: null }],
  ])('is doubtful where the door is known by %s', (_what, changes) => {
    for (const kind of HANDOVERS) {
      expect(from(STORE, changes, 0, kind)).toEqual(['at_pickup']);
      expect(from(displaced(STORE, 0, STILL_AT_PICKUP_METERS - 20), changes, 0, kind)).toEqual(['at_pickup']);
    }
    for (const kind of ['picked_up', 'returned'] as const) expect(from(STORE, changes, 0, kind)).toEqual([]);
  });

  it('is doubtful if they were last heard of there, however long ago that counts', () => {
    for (const ageMs of [1_000, 60_000, RECEIPT_POSITION_MS]) {
      expect(from(STORE, byZip(4_000), ageMs)).toEqual(['at_pickup']);
    }
    expect(from(STORE, byZip(4_000), RECEIPT_POSITION_MS + 1)).toEqual(['no_position']);
  });

  it('is doubtful where they picked the parcel up, if the store is somewhere else than its point', () => {
    const pickedUpAt = displaced(STORE, 0, 1_800);
    expect(from(pickedUpAt, { ...byZip(4_000), pickedUpAt })).toEqual(['at_pickup']);
    const pickup = { point: displaced(STORE, 0, -6_000), accuracyMeters: ZIP_ACCURACY_METERS };
    expect(from(STORE, { ...byZip(4_000), pickup, pickedUpAt: STORE })).toEqual(['at_pickup']);
    // The middle of a ZIP is no store.
    expect(from(pickup.point, { ...byZip(0), pickup, pickedUpAt: STORE })).toEqual([]);
  });

  it('is none where the door may be there: the same house, a neighbour, and what the fix is off', () => {
    for (const meters of [0, 50, 200, 400, NEIGHBOUR_METERS - 20]) {
      for (const accuracyMeters of [20, GEOCODER_ACCURACY_METERS]) {
        const changes = byStreet(meters, accuracyMeters);
        expect(from(displaced(STORE, meters, 0), changes)).toEqual([]);
        expect(from(STORE, changes)).toEqual([]);
        expect(from(displaced(STORE, 0, 250), changes)).toEqual([]);
      }
    }
    for (const changes of [byZip(4_000), { dropoff: null }]) {
      expect(from(STORE, { ...changes, areNeighbours: true, pickedUpAt: STORE })).toEqual([]);
    }
  });

  it('is none for one who has left, though nobody knows where the door is', () => {
    const away = displaced(STORE, STILL_AT_PICKUP_METERS + 20, 0);
    for (const changes of [byZip(0), byZip(9_000), { dropoff: null }]) {
      expect(from(away, { ...changes, pickedUpAt: STORE })).toEqual([]);
    }
  });

  it('is none at a door that is known, where the pick-up was recorded too', () => {
    expect(from(DOOR, { pickedUpAt: DOOR })).toEqual([]);
  });

  it('is told as far from the door where that is certain', () => {
    expect(from(STORE, { pickedUpAt: STORE })).toEqual(['handover_far']);
  });
});
