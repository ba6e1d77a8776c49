import { beforeEach, describe, expect, it } from 'vitest';
import type { FleetDriver } from '../../src/domain/driver.ts';
import { distanceMeters } from '../../src/geo/point.ts';
import { MAX_REJECTED_CANDIDATES, POSITION_FRESH_MS, SET_ASIDE_MS } from '../../src/limits.ts';
import { type FoundDriver, Matcher } from '../../src/matcher/matcher.ts';
import { displaced } from '../geo/places.ts';
import { TIERS } from './brute-force.ts';
import { randomFrom } from './world.ts';

const NOW = 1_700_000_000_000;
const STORE = { lat: 40.73, lng: -73.99 };
const QUERY = { tierId: 'standard' as const, point: STORE, radiusMeters: 3_000, nowMs: NOW };
let matcher: Matcher;
beforeEach(() => {
  matcher = new Matcher(TIERS);
});

function put(id: string, north: number, changes: Partial<FleetDriver> = {}, atMs = NOW): void {
  const position = { ...displaced(STORE, north, 0), atMs };
  matcher.putDriver({ id, tierIds: ['standard'], onDuty: true, position, freeSinceMs: NOW, orderId: null, ...changes });
}
const record = (chosen: FoundDriver, more: object = {}) =>
  matcher.rejectedCandidates({ ...QUERY, chosen, ...more }).map(({ driverId, reason }) => `${driverId} ${reason}`);
const nearest = () => matcher.nearest(QUERY) as FoundDriver;

describe('the record of a decision', () => {
  it('names the nearest drivers who did not get the order, nearest first, each with his reason', () => {
    put('busy', 100, { orderId: 'other' });
    put('resting', 200, { onDuty: false });
    put('unqualified', 300, { tierIds: ['priority'] });
    put('silent', 400, {}, NOW - POSITION_FRESH_MS - 1);
    put('chosen', 500);
    put('next', 600);
    expect(nearest().driverId).toBe('chosen');
    expect(record(nearest())).toEqual([
      'busy busy',
      'resting off_duty',
      'unqualified not_qualified',
      'silent silent',
      'next farther',
    ]);
  });

  it('tells the distance of each to the pickup', () => {
    put('chosen', 500);
    put('next', 700);
    const [next] = matcher.rejectedCandidates({ ...QUERY, chosen: nearest() });
    expect(next?.distanceMeters).toBeCloseTo(distanceMeters(STORE, displaced(STORE, 700, 0)), 6);
  });

  it('names a free driver beyond the radius, and nobody far beyond it', () => {
    put('chosen', 500);
    put('outside', 3_500);
    put('elsewhere', 9_000);
    expect(record(nearest())).toEqual(['outside out_of_radius']);
  });

  it('names drivers who were tried in vain and those whom the order excludes, wherever they are', () => {
    put('chosen', 500);
    put('tried', 9_000);
    put('released', 200);
    const more = { lost: new Set(['tried']), exclude: new Set(['released', 'unknown']) };
    const chosen = { driverId: 'chosen', distanceMeters: 500 };
    expect(record(chosen, more)).toEqual(['tried lost', 'released excluded', 'unknown excluded']);
  });

  it('names a driver whom the tables refused as lost until more is known of him', () => {
    put('refused', 100);
    put('chosen', 500);
    matcher.claim('refused', 'x');
    matcher.setAside('refused', 'x', NOW);
    expect(record(nearest())).toEqual(['refused lost']);
    matcher.moveDriver('refused', displaced(STORE, 100, 0), NOW + SET_ASIDE_MS);
    expect(record({ driverId: 'chosen', distanceMeters: 500 })).toEqual(['refused available']);
  });

  it('is bounded', () => {
    for (let i = 0; i < 200; i++) put(`d${i}`, 10 * i);
    const many = new Set(Array.from({ length: 50 }, (_, i) => `d${i + 100}`));
    const chosen = nearest();
    expect(record(chosen)).toHaveLength(MAX_REJECTED_CANDIDATES);
    expect(record(chosen, { exclude: many, lost: many })).toHaveLength(3 * MAX_REJECTED_CANDIDATES);
  });

  it('never names the chosen driver', () => {
    put('chosen', 500);
    expect(record(nearest())).toEqual([]);
    matcher.claim('chosen', 'x');
    expect(record({ driverId: 'chosen', distanceMeters: 500 })).toEqual([]);
  });

  it('leaves out drivers at home, and finds them again when they are heard of', () => {
    put('chosen', 500);
    put('home', 100, { onDuty: false }, NOW - POSITION_FRESH_MS - 1);
    expect(record(nearest())).toEqual([]);
    matcher.moveDriver('home', displaced(STORE, 100, 0), NOW);
    expect(record(nearest())).toEqual(['home off_duty']);
    matcher.removeDriver('home');
    expect(record(nearest())).toEqual([]);
  });

  it('finds a driver who comes on duty after he was left out', () => {
    put('chosen', 500);
    put('home', 100, { onDuty: false }, NOW - POSITION_FRESH_MS - 1);
    expect(record(nearest())).toEqual([]);
    matcher.setDuty('home', true, NOW);
    expect(record({ driverId: 'chosen', distanceMeters: 500 })).toEqual(['home silent']);
  });

  it('is of the waiting order, with the radius it has by now', () => {
    put('chosen', 3_300);
    put('next', 3_400);
    matcher.wait({ orderId: 'x', retailerId: 'r', tierId: 'standard', point: STORE, sinceMs: NOW - 60_000 });
    const chosen = matcher.bestDriverFor('x', NOW) as FoundDriver;
    matcher.beginAssign('x', chosen.driverId);
    expect(matcher.rejectedCandidatesFor('x', chosen, NOW)).toMatchObject([{ driverId: 'next', reason: 'farther' }]);
    expect(matcher.rejectedCandidatesFor('unknown', chosen, NOW)).toEqual([]);
  });
});

it('finds exactly the nearest of all, wherever they wander and whatever they do', () => {
  const random = randomFrom(5);
  const places = new Map<string, { lat: number; lng: number }>();
  const somewhere = () => displaced(STORE, (random() - 0.5) * 6_000, (random() - 0.5) * 6_000);
  for (let i = 0; i < 600; i++) {
    const place = somewhere();
    places.set(`d${i}`, place);
    put(`d${i}`, 0, {
      position: { ...place, atMs: NOW },
      onDuty: random() < 0.7,
      orderId: random() < 0.5 ? `o${i}` : null,
    });
  }
  for (let round = 0; round < 400; round++) {
    const id = `d${Math.floor(random() * 600)}`;
    const what = random();
    if (what < 0.7) {
      const place = somewhere();
      places.set(id, place);
      matcher.moveDriver(id, place, NOW + round);
    } else if (what < 0.8) matcher.setDuty(id, random() < 0.5, NOW);
    else if (what < 0.9) matcher.release(id, NOW);
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
