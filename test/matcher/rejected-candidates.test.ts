import { beforeEach, describe, expect, it } from 'vitest';
import type { FleetDriver } from '../../src/domain/driver.ts';
import { distanceMeters } from '../../src/geo/point.ts';
import { POSITION_FRESH_MS } from '../../src/limits.ts';
import { SET_ASIDE_MS } from '../../src/matcher/drivers.ts';
import { type FoundDriver, Matcher } from '../../src/matcher/matcher.ts';
import { MAX_REJECTED_CANDIDATES } from '../../src/matcher/rejected-candidates.ts';
import { displaced } from '../geo/places.ts';
import { seeded } from '../harness/world.ts';
import { TIERS } from './brute-force.ts';
import { carrying, freeDriver, orderOf, setDuty } from './carrying.ts';

const NOW = 1_700_000_000_000;
const STORE = { lat: 40.73, lng: -73.99 };
const QUERY = { tierId: 'standard' as const, point: STORE, radiusMeters: 3_000, nowMs: NOW };
let matcher: Matcher;
beforeEach(() => {
  matcher = new Matcher(TIERS);
});

function put(id: string, north: number, changes: Partial<FleetDriver> = {}, atMs = NOW): void {
  matcher.putDriver(freeDriver(id, displaced(STORE, north, 0), atMs, { freeSinceMs: NOW, ...changes }));
}
const rejected = (chosen: FoundDriver, more: object = {}) =>
  matcher.rejectedCandidates({ ...QUERY, chosen, ...more }).map(({ driverId, reason }) => `${driverId} ${reason}`);
const nearest = () => matcher.nearest(QUERY) as FoundDriver;

describe('the rejected candidates of a decision', () => {
  it('are the nearest drivers who did not get the order, nearest first, each with a reason', () => {
    put('busy', 100, { carried: [carrying('other')] });
    put('resting', 200, { onDuty: false });
    put('unqualified', 300, { tierIds: ['priority'] });
    put('silent', 400, {}, NOW - POSITION_FRESH_MS - 1);
    put('chosen', 500);
    put('next', 600);
    expect(nearest().driverId).toBe('chosen');
    expect(rejected(nearest())).toEqual([
      'busy busy',
      'resting off_duty',
      'unqualified not_qualified',
      'silent silent',
      'next farther',
    ]);
  });

  it('are not qualified without the vehicle, or where they go home before it could be brought', () => {
    put('small', 100, { vehicle: 'bike' });
    put('homeward', 200, { vehicle: 'van', onDutyUntilMs: NOW + 60_000 });
    put('chosen', 500, { vehicle: 'van' });
    const order = { size: 'large', dropoff: displaced(STORE, 3_000, 0) } as const;
    const chosen = matcher.nearest({ ...QUERY, ...order }) as FoundDriver;
    expect(chosen.driverId).toBe('chosen');
    expect(rejected(chosen, order)).toEqual(['small not_qualified', 'homeward not_qualified']);
  });

  it('have their distance to the pickup', () => {
    put('chosen', 500);
    put('next', 700);
    const [next] = matcher.rejectedCandidates({ ...QUERY, chosen: nearest() });
    expect(next?.distanceMeters).toBeCloseTo(distanceMeters(STORE, displaced(STORE, 700, 0)), 6);
  });

  it('include a free driver beyond the radius, and nobody far beyond it', () => {
    put('chosen', 500);
    put('outside', 3_500);
    put('elsewhere', 9_000);
    expect(rejected(nearest())).toEqual(['outside out_of_radius']);
  });

  it('include drivers tried in vain and drivers whom the order excludes, wherever they are', () => {
    put('chosen', 500);
    put('tried', 9_000);
    put('released', 200);
    const more = { lost: new Set(['tried']), exclude: new Set(['released', 'unknown']) };
    const chosen = { driverId: 'chosen', distanceMeters: 500 };
    expect(rejected(chosen, more)).toEqual(['tried lost', 'released excluded', 'unknown excluded']);
  });

  it('include a driver whom the database refused as lost, until something new is known', () => {
    put('refused', 100);
    put('chosen', 500);
    matcher.claim('refused', 'x');
    matcher.setAside('refused', 'x', NOW);
    expect(rejected(nearest())).toEqual(['refused lost']);
    matcher.moveDriver('refused', displaced(STORE, 100, 0), NOW + SET_ASIDE_MS);
    expect(rejected({ driverId: 'chosen', distanceMeters: 500 })).toEqual(['refused available']);
  });

  it('are bounded', () => {
    for (let i = 0; i < 200; i++) put(`d${i}`, 10 * i);
    const many = new Set(Array.from({ length: 50 }, (_, i) => `d${i + 100}`));
    const chosen = nearest();
    expect(rejected(chosen)).toHaveLength(MAX_REJECTED_CANDIDATES);
    expect(rejected(chosen, { exclude: many, lost: many })).toHaveLength(3 * MAX_REJECTED_CANDIDATES);
  });

  it('never include the chosen driver', () => {
    put('chosen', 500);
    expect(rejected(nearest())).toEqual([]);
    matcher.claim('chosen', 'x');
    expect(rejected({ driverId: 'chosen', distanceMeters: 500 })).toEqual([]);
  });

  it('leave out drivers at home until their next position', () => {
    put('chosen', 500);
    put('home', 100, { onDuty: false }, NOW - POSITION_FRESH_MS - 1);
    expect(rejected(nearest())).toEqual([]);
    matcher.moveDriver('home', displaced(STORE, 100, 0), NOW);
    expect(rejected(nearest())).toEqual(['home off_duty']);
    matcher.removeDriver('home');
    expect(rejected(nearest())).toEqual([]);
  });

  it('include a driver who comes on duty after being left out', () => {
    put('chosen', 500);
    put('home', 100, { onDuty: false }, NOW - POSITION_FRESH_MS - 1);
    expect(rejected(nearest())).toEqual([]);
    setDuty(matcher, 'home', true, NOW);
    expect(rejected({ driverId: 'chosen', distanceMeters: 500 })).toEqual(['home silent']);
  });

  it('are those of a waiting order within the radius it has by now', () => {
    put('chosen', 3_300);
    put('next', 3_400);
    matcher.wait({ orderId: 'x', retailerId: 'r', tierId: 'standard', point: STORE, sinceMs: NOW - 60_000 });
    const chosen = matcher.bestDriverFor('x', NOW) as FoundDriver;
    matcher.beginAssign('x', chosen.driverId, NOW);
    expect(matcher.rejectedCandidatesFor('x', chosen, NOW)).toMatchObject([{ driverId: 'next', reason: 'farther' }]);
    expect(matcher.rejectedCandidatesFor('unknown', chosen, NOW)).toEqual([]);
  });
});

it('rejected candidates are exactly the nearest of all, wherever they move and whatever they do', () => {
  const random = seeded(5);
  const places = new Map<string, { lat: number; lng: number }>();
  const somewhere = () => displaced(STORE, (random() - 0.5) * 6_000, (random() - 0.5) * 6_000);
  for (let i = 0; i < 600; i++) {
    const place = somewhere();
    places.set(`d${i}`, place);
    put(`d${i}`, 0, {
      position: { ...place, atMs: NOW },
      onDuty: random() < 0.7,
      carried: random() < 0.5 ? [carrying(`o${i}`)] : [],
    });
  }
  for (let round = 0; round < 400; round++) {
    const id = `d${Math.floor(random() * 600)}`;
    const what = random();
    if (what < 0.7) {
      const place = somewhere();
      places.set(id, place);
      matcher.moveDriver(id, place, NOW + round);
    } else if (what < 0.8) setDuty(matcher, id, random() < 0.5, NOW);
    else if (what < 0.9) matcher.release(id, NOW, orderOf(matcher.driver(id)) ?? 'none');
    else matcher.claim(id, `fresh-${round}`);
    const point = somewhere();
    const chosen = { driverId: id, distanceMeters: 0 };
    const found = matcher.rejectedCandidates({ ...QUERY, point, radiusMeters: 20_000, chosen });
    const expected = [...places]
      .filter(([other]) => other !== id)
      .map(([driverId, place]) => ({ driverId, meters: distanceMeters(point, place) }))
      .sort((a, b) => a.meters - b.meters)
      .slice(0, MAX_REJECTED_CANDIDATES);
    expect(found.map(({ driverId }) => driverId)).toEqual(expected.map(({ driverId }) => driverId));
  }
});
