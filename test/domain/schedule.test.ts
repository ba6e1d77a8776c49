import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { estimateOf, firstEstimate } from '../../src/domain/estimate.ts';
import { NO_TIMES, type OrderTimes } from '../../src/domain/order-times.ts';
import {
  APPROACH_SHARE,
  DUE_SOON_MS,
  dispatchFrom,
  MAX_AHEAD_MS,
  MAX_APPROACH_MS,
  MIN_WINDOW_MS,
  promiseOf,
  TIMES_GRACE_MS,
  timeErrors,
  windowOf,
} from '../../src/domain/schedule.ts';

const NOW = Date.parse('2030-01-31T17:00:00Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** A time so many milliseconds from now. */
const at = (ms: number) => new Date(NOW + ms);
const STORE = { lat: 37.76, lng: -122.42 };
/** Its quickest way from the store takes 11 minutes. */
const DOOR = { lat: 37.808, lng: -122.42 };
const TIER = { radiusMeters: 8_000, promiseMinutes: 180 };
const fields = (times: Partial<OrderTimes>) => timeErrors({ ...NO_TIMES, ...times }, NOW).map(({ field }) => field);

describe('times of an order that cannot be kept', () => {
  test.each<[string, Partial<OrderTimes>, string[]]>([
    ['none', {}, []],
    ['ready in an hour', { readyAt: at(HOUR) }, []],
    ['ready five minutes ago', { readyAt: at(-TIMES_GRACE_MS) }, []],
    ['ready longer ago', { readyAt: at(-TIMES_GRACE_MS - 1) }, ['ready_at']],
    ['a window that opened long ago', { deliverAfter: at(-HOUR), deliverBy: at(HOUR) }, ['deliver_after']],
    ['a window that is over', { deliverBy: at(-HOUR) }, ['deliver_by']],
    ['a window that ends now', { deliverBy: at(0) }, ['deliver_by']],
    ['a window of 20 minutes from now', { deliverBy: at(MIN_WINDOW_MS) }, []],
    ['a shorter one', { deliverBy: at(MIN_WINDOW_MS - 1) }, ['deliver_by']],
    ['20 minutes of tonight', { deliverAfter: at(HOUR), deliverBy: at(HOUR + MIN_WINDOW_MS) }, []],
    ['19 minutes of tonight', { deliverAfter: at(HOUR), deliverBy: at(HOUR + MIN_WINDOW_MS - 1) }, ['deliver_by']],
    ['ready too late for it', { readyAt: at(HOUR), deliverBy: at(HOUR + MINUTE) }, ['deliver_by']],
    ['ready after it', { readyAt: at(2 * HOUR), deliverBy: at(HOUR) }, ['ready_at']],
    ['a window that ends before it begins', { deliverAfter: at(2 * HOUR), deliverBy: at(HOUR) }, ['deliver_after']],
    ['in seven days', { readyAt: at(MAX_AHEAD_MS), deliverAfter: at(MAX_AHEAD_MS) }, []],
    ['later', { readyAt: at(MAX_AHEAD_MS + HOUR) }, ['ready_at']],
    [
      'all of them later',
      { deliverAfter: at(8 * 24 * HOUR), deliverBy: at(9 * 24 * HOUR) },
      ['deliver_after', 'deliver_by'],
    ],
    ['a ready time without an end', { readyAt: at(HOUR), deliverAfter: at(2 * HOUR) }, []],
  ])('%s', (_what, times, wrong) => {
    expect(fields(times)).toEqual(wrong);
  });

  it('says what is wanted, once for each field', () => {
    const times = { readyAt: at(-HOUR), deliverAfter: at(30 * 24 * HOUR), deliverBy: at(MINUTE) };
    expect(timeErrors(times, NOW)).toEqual([
      { field: 'ready_at', message: 'must not be in the past' },
      { field: 'deliver_after', message: 'must be at most 7 days ahead' },
    ]);
    expect(timeErrors({ ...NO_TIMES, deliverBy: at(MINUTE) }, NOW)).toEqual([
      { field: 'deliver_by', message: 'must be at least 20 minutes from now, from ready_at and from deliver_after' },
    ]);
  });
});

describe('the promise', () => {
  it('is the store’s, or the tier’s from when the order may first be handed over', () => {
    expect(promiseOf({ ...NO_TIMES, deliverBy: at(HOUR) }, TIER, NOW)).toEqual(at(HOUR));
    expect(promiseOf(NO_TIMES, TIER, NOW)).toEqual(at(3 * HOUR));
    expect(promiseOf({ ...NO_TIMES, readyAt: at(-MINUTE) }, TIER, NOW)).toEqual(at(3 * HOUR));
    expect(promiseOf({ ...NO_TIMES, readyAt: at(HOUR) }, TIER, NOW)).toEqual(at(4 * HOUR));
    expect(promiseOf({ ...NO_TIMES, readyAt: at(HOUR), deliverAfter: at(2 * HOUR) }, TIER, NOW)).toEqual(at(5 * HOUR));
  });
});

describe('when a driver is sought', () => {
  const trip = { tier: TIER, pickup: STORE, dropoff: DOOR };
  /** A third of the first radius at 375 m a minute. */
  const APPROACH = ((8_000 * APPROACH_SHARE) / 375) * MINUTE;

  it('is at once where the order says nothing, and where its parcel is ready', () => {
    expect(dispatchFrom(NO_TIMES, trip, NOW)).toBeNull();
    expect(dispatchFrom({ readyAt: at(-MINUTE), deliverAfter: null }, trip, NOW)).toBeNull();
    expect(dispatchFrom({ readyAt: at(APPROACH + DUE_SOON_MS), deliverAfter: null }, trip, NOW)).toBeNull();
  });

  it('is so early that the driver comes when the parcel is ready', () => {
    const due = dispatchFrom({ readyAt: at(HOUR), deliverAfter: null }, trip, NOW) as number;
    expect(due).toBe(Math.floor(NOW + HOUR - APPROACH));
    const wide = { ...trip, tier: { radiusMeters: 20_000_000 } };
    expect(dispatchFrom({ readyAt: at(HOUR), deliverAfter: null }, wide, NOW)).toBe(NOW + HOUR - MAX_APPROACH_MS);
  });

  it('is not so early that the driver would be at the door before the window', () => {
    const due = dispatchFrom({ readyAt: null, deliverAfter: at(3 * HOUR) }, trip, NOW) as number;
    const travelMs = NOW + 3 * HOUR - due - APPROACH;
    expect(travelMs / MINUTE).toBeGreaterThan(10);
    expect(travelMs / MINUTE).toBeLessThan(12);
    // A parcel that is ready later comes later.
    expect(dispatchFrom({ readyAt: at(4 * HOUR), deliverAfter: at(3 * HOUR) }, trip, NOW)).toBe(
      Math.floor(NOW + 4 * HOUR - APPROACH),
    );
    const unknown = { ...trip, dropoff: null };
    expect(dispatchFrom({ readyAt: null, deliverAfter: at(3 * HOUR) }, unknown, NOW)).toBe(
      Math.floor(NOW + 3 * HOUR - APPROACH),
    );
  });

  it('is never before now, and never after the parcel is ready and the window open', () => {
    const ahead = fc.option(fc.integer({ min: -TIMES_GRACE_MS, max: MAX_AHEAD_MS }), { nil: null });
    const radius = fc.integer({ min: 1, max: 20_100_000 });
    fc.assert(
      fc.property(ahead, ahead, radius, (ready, after, radiusMeters) => {
        const times = { readyAt: ready === null ? null : at(ready), deliverAfter: after === null ? null : at(after) };
        const due = dispatchFrom(times, { ...trip, tier: { radiusMeters } }, NOW);
        if (due === null) return;
        expect(due).toBeGreaterThan(NOW + DUE_SOON_MS);
        expect(due).toBeLessThanOrEqual(NOW + Math.max(ready ?? 0, after ?? 0));
      }),
    );
  });
});

describe('the estimate', () => {
  const scheduled = { ...NO_TIMES, deliverBy: at(3 * HOUR), dispatchFrom: null };
  const later = { ...scheduled, readyAt: at(HOUR), deliverAfter: at(2 * HOUR), dispatchFrom: at(HOUR + MINUTE) };
  const trip = {
    pickup: STORE,
    dropoff: { ...DOOR, accuracyMeters: 3_000 },
    driverId: 'd',
    onRoute: { stopsBefore: 0, isNext: true, doorInMinutes: 20, door: null, otherDoors: [] },
    plan: null,
  };
  const shown = { ...STORE, precision: 'approximate' as const, at: at(0).toISOString(), age_ms: 0 };
  const span = (range: { from: string; to: string } | null) =>
    range && [range.from, range.to].map((t) => Date.parse(t) - NOW);

  it('of an order that waits for its time is its window', () => {
    expect(span(windowOf({ ...later, ...trip }))).toEqual([2 * HOUR, 3 * HOUR]);
    expect(span(estimateOf({ ...later, ...trip, status: 'pending_dispatch' }, null, NOW))).toEqual([
      2 * HOUR,
      3 * HOUR,
    ]);
    expect(span(firstEstimate({ ...later, ...trip, createdAt: at(0) }, null))).toEqual([2 * HOUR, 3 * HOUR]);
  });

  it('begins no sooner than the parcel is ready and the quickest way to its door is made', () => {
    const ready = { ...scheduled, readyAt: at(HOUR), dispatchFrom: at(30 * MINUTE) };
    const exact = { ...trip, dropoff: { ...DOOR, accuracyMeters: 0 } };
    const [fromMs = 0, toMs] = span(windowOf({ ...ready, ...exact })) ?? [];
    // 5.3 km by roads at 40 km/h.
    expect(fromMs).toBeGreaterThan(HOUR + 10 * MINUTE);
    expect(fromMs).toBeLessThan(HOUR + 12 * MINUTE);
    expect(toMs).toBe(3 * HOUR);
    expect(span(firstEstimate({ ...ready, ...exact, createdAt: at(0) }, null))).toEqual([fromMs, toMs]);
    // It never ends before it begins.
    const late = { ...ready, deliverBy: at(HOUR + MINUTE) };
    expect(span(windowOf({ ...late, ...exact }))).toEqual([HOUR + MINUTE, HOUR + MINUTE]);
    // The door may be 3 km nearer, and may not be known.
    const rough = span(windowOf({ ...ready, ...trip }))?.[0] ?? 0;
    expect(rough).toBeGreaterThan(HOUR);
    expect(rough).toBeLessThan(fromMs);
    expect(span(windowOf({ ...ready, ...trip, dropoff: null }))).toEqual([HOUR, 3 * HOUR]);
  });

  it('of one that waits and has a plan is that of the plan, and of one that waits no more it is not', () => {
    const range = { from: at(4 * HOUR).toISOString(), to: at(5 * HOUR).toISOString() };
    const planned = { ...trip, plan: { range } };
    for (const order of [later, scheduled]) {
      expect(estimateOf({ ...order, ...planned, status: 'pending_dispatch' }, null, NOW)).toEqual(range);
    }
    expect(estimateOf({ ...scheduled, ...planned, status: 'delivered' }, null, NOW)).toBeNull();
    const unknown = { ...trip, plan: { range: null } };
    expect(estimateOf({ ...scheduled, ...unknown, status: 'pending_dispatch' }, null, NOW)).toBeNull();
  });

  it('is not there while the order waits for a driver, where theirs is silent, and once it has ended', () => {
    expect(estimateOf({ ...later, ...trip, status: 'pending_dispatch' }, null, NOW + 2 * HOUR)).toBeNull();
    expect(estimateOf({ ...scheduled, ...trip, status: 'pending_dispatch' }, null, NOW)).toBeNull();
    expect(estimateOf({ ...scheduled, ...trip, status: 'driver_assigned' }, null, NOW)).toBeNull();
    const old = { ...shown, age_ms: 91_000 };
    expect(estimateOf({ ...scheduled, ...trip, status: 'driver_assigned' }, old, NOW)).toBeNull();
    const behind = {
      ...trip,
      dropoff: { ...DOOR, accuracyMeters: 10 },
      onRoute: { ...trip.onRoute, stopsBefore: 1, isNext: false },
    };
    expect(estimateOf({ ...scheduled, ...behind, status: 'picked_up' }, null, NOW)).not.toBeNull();
    const silent = { ...behind, onRoute: { ...behind.onRoute, doorInMinutes: null } };
    expect(estimateOf({ ...scheduled, ...silent, status: 'picked_up' }, null, NOW)).toBeNull();
    expect(estimateOf({ ...scheduled, ...trip, status: 'delivered' }, shown, NOW)).toBeNull();
    expect(estimateOf({ ...scheduled, ...trip, dropoff: null, status: 'picked_up' }, shown, NOW)).toBeNull();
    expect(firstEstimate({ ...scheduled, ...trip, createdAt: at(0) }, null)).toBeNull();
  });

  it('follows from where the driver is, as wide as the door’s place is unknown', () => {
    const assigned = span(estimateOf({ ...scheduled, ...trip, status: 'driver_assigned' }, shown, NOW));
    // 5.3 km ± 3 km by roads at 40 or 22 km/h, after 1 to 6 minutes in the store.
    expect(assigned).toEqual([5 * MINUTE, 40 * MINUTE]);
    expect(span(firstEstimate({ ...scheduled, ...trip, createdAt: at(0) }, 0.4))).toEqual(assigned);
    // It moves with the driver, and not with the clock.
    const older = { ...shown, age_ms: 60_000 };
    const aMinuteOn = estimateOf({ ...scheduled, ...trip, status: 'driver_assigned' }, older, NOW + MINUTE);
    expect(span(aMinuteOn)).toEqual(assigned);
    const carried = span(estimateOf({ ...scheduled, ...trip, status: 'picked_up' }, shown, NOW)) as number[];
    expect(carried[0]).toBeLessThan(5 * MINUTE);
  });

  it('begins no sooner than the parcel can have come from its store, or its window opens', () => {
    const exact = { ...trip, dropoff: { ...DOOR, accuracyMeters: 0 } };
    const status = 'driver_assigned';
    const of = (times: Partial<Omit<OrderTimes, 'deliverBy'>>, waits: object) => [
      span(estimateOf({ ...scheduled, ...exact, onRoute: { ...trip.onRoute, ...waits }, status }, shown, NOW)),
      span(firstEstimate({ ...scheduled, ...times, ...exact, createdAt: at(0) }, 300)),
    ];
    // 5.3 km by roads of 7.2 km: 11 min at 40 km/h, 20 min at 22 km/h and 2 min to the door.
    for (const range of of({ readyAt: at(20 * MINUTE) }, { readyAtMs: NOW + 20 * MINUTE })) {
      expect(range).toEqual([31 * MINUTE, 43 * MINUTE]);
    }
    for (const range of of({ deliverAfter: at(HOUR) }, { deliverAfterMs: NOW + HOUR })) {
      expect(range).toEqual([60 * MINUTE, 62 * MINUTE]);
    }
  });

  it('follows from the route where the driver stops elsewhere first, though at no other door', () => {
    const onRoute = { ...trip.onRoute, isNext: false, doorInMinutes: 40 };
    const order = { ...scheduled, ...trip, dropoff: { ...DOOR, accuracyMeters: 10 }, onRoute };
    expect(span(estimateOf({ ...order, status: 'picked_up' }, shown, NOW))).toEqual([30 * MINUTE, 58 * MINUTE]);
    // By its ZIP code alone the door may be far off, either way.
    const byZip = { ...order, dropoff: { ...DOOR, accuracyMeters: 10_000 } };
    const [fromMs = 0, toMs = 0] = span(estimateOf({ ...byZip, status: 'picked_up' }, shown, NOW)) ?? [];
    expect(fromMs).toBeLessThan(30 * MINUTE);
    expect(toMs).toBeGreaterThan(70 * MINUTE);
  });
});
