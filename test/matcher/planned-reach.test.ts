import { describe, expect, it } from 'vitest';
import type { FleetDriver } from '../../src/domain/driver.ts';
import type { Point } from '../../src/geo/point.ts';
import { distanceMeters } from '../../src/geo/point.ts';
import { PLANNER_LOOK_MS, SAME_PLACE_METERS } from '../../src/limits.ts';
import { Matcher, type WaitingOrder } from '../../src/matcher/matcher.ts';
import { offset, seeded } from '../harness/world.ts';
import { TIERS } from './brute-force.ts';
import { carrying } from './carrying.ts';

const NOW = 1_700_000_000_000;
const PLANNED = new Map([...TIERS].map(([id, tier]) => [id, { ...tier, dispatchMode: 'planned' as const }]));
/** A radius is marked for what it will be two looks later, at the greatest growth of `TIERS`. */
const MARGIN_METERS = SAME_PLACE_METERS + (2 * PLANNER_LOOK_MS * 100_000) / 60_000 + 1;

const waiting = (orderId: string, tierId: string, point: Point, sinceMs: number): WaitingOrder => ({
  ...{ orderId, retailerId: 'store', tierId, point, dropoff: point, sinceMs, readyAtMs: NOW, deliverByMs: NOW },
});

/** Drivers and orders within some kilometers of a place, of all tiers; each third driver carries something. */
function worldAround(center: Point, seed: number, waitedMs: number) {
  const random = seeded(seed);
  const near = () => inRange(offset(center, 30_000 * (random() - 0.5), 30_000 * (random() - 0.5)));
  const matcher = new Matcher(PLANNED, true);
  const tierIds = [...PLANNED.keys()];
  const drivers = Array.from({ length: 300 }, (_, i): FleetDriver => {
    const parcel = { ...carrying(`parcel ${i}`), step: 'to_fetch' as const, pickup: near(), dropoff: near() };
    const tiers = { tierIds: [tierIds[i % 3] as string], vehicle: i % 2 === 0 ? ('bike' as const) : ('van' as const) };
    const carried = i % 3 === 0 ? [parcel] : [];
    return { id: `d${i}`, ...tiers, onDuty: true, position: { ...near(), atMs: NOW }, freeSinceMs: NOW, carried };
  });
  matcher.putDrivers(drivers);
  const orders = [0, 1, 2].map((i) => waiting(`o${i}`, tierIds[i % 2] as string, near(), NOW - waitedMs));
  for (const order of orders) matcher.planned.addReach(order, NOW);
  return { matcher, drivers, orders };
}

function inRange({ lat, lng }: Point): Point {
  return { lat: Math.max(-90, Math.min(90, lat)), lng: ((((lng + 180) % 360) + 360) % 360) - 180 };
}

function metersOff(driver: FleetDriver, order: WaitingOrder): number {
  const stops = driver.carried.flatMap(({ pickup, dropoff }) => (dropoff ? [pickup, dropoff] : [pickup]));
  const places = stops.length > 0 ? stops : [driver.position as Point];
  return Math.min(...places.map((place) => distanceMeters(place, order.point)));
}

describe('the drivers in reach of planned orders', () => {
  it.each<[string, Point]>([
    ['in a city', { lat: 40.73, lng: -73.99 }],
    ['at the date line', { lat: -17.8, lng: 179.95 }],
    ['beyond the date line', { lat: 52, lng: -179.98 }],
    ['at the null point', { lat: 0, lng: 0 }],
    ['near the pole', { lat: 89.9, lng: 10 }],
    ['in the far north', { lat: 78.2, lng: 15.6 }],
  ])('are all who may get one, and nobody far beyond: %s', (_, center) => {
    let [inside, outside] = [0, 0];
    for (const [seed, waitedMs] of [0, 5, 20].map((minutes, i) => [i + 1, minutes * 60_000] as const)) {
      const { matcher, drivers, orders } = worldAround(center, seed, waitedMs);
      const visited = new Set<string>();
      for (let from = 0, isBegin = true; isBegin || from !== 0; isBegin = false) {
        from = matcher.planned.visitInReach(from, 64, NOW, (id) => void visited.add(id));
      }
      for (const driver of drivers) {
        const isInReach = matcher.planned.isInReach(driver.id);
        expect(visited.has(driver.id)).toBe(isInReach);
        const serves = orders.filter(({ tierId }) => driver.tierIds.includes(tierId));
        const beyond = serves.map((order) => metersOff(driver, order) - matcher.planned.reachOf(order, NOW).meters);
        if (beyond.some((meters) => meters <= 0)) {
          expect(isInReach).toBe(true);
          inside++;
        } else if (beyond.every((meters) => meters > MARGIN_METERS)) {
          expect(isInReach).toBe(false);
          outside++;
        }
      }
    }
    expect(Math.min(inside, outside)).toBeGreaterThan(50);
  });

  it('are as far as a radius across a continent says', () => {
    const { matcher } = worldAround({ lat: 40.73, lng: -73.99 }, 1, 0);
    matcher.putDriver({ ...(matcher.driver('d2') as FleetDriver), position: { lat: 34, lng: -118, atMs: NOW + 1 } });
    expect(matcher.planned.isInReach('d2')).toBe(false);
    for (const [waitedMs, isInReach] of [
      [0, false],
      [60 * 60_000, true],
    ] as const) {
      matcher.planned.addReach(waiting('wide', 'scheduled', { lat: 40, lng: -75 }, NOW - waitedMs), NOW);
      expect(matcher.planned.isInReach('d2')).toBe(isInReach);
    }
    matcher.planned.clearReach();
    expect(matcher.planned.isInReach('d2')).toBe(false);
  });

  it('are without those off duty, silent, set aside, or of another tier or a vehicle too small', () => {
    const { matcher } = worldAround({ lat: 40.73, lng: -73.99 }, 1, 0);
    matcher.planned.clearReach();
    const place = { lat: 10, lng: 10 };
    const at = { ...(matcher.driver('d1') as FleetDriver), tierIds: ['standard'], position: { ...place, atMs: NOW } };
    matcher.putDriver({ ...at, id: 'able', vehicle: 'van' });
    matcher.putDriver({ ...at, id: 'bike', vehicle: 'bike' });
    matcher.putDriver({ ...at, id: 'other', vehicle: 'van', tierIds: ['priority'] });
    matcher.putDriver({ ...at, id: 'off', vehicle: 'van', onDuty: false });
    matcher.putDriver({ ...at, id: 'silent', vehicle: 'van', position: { ...place, atMs: NOW - 3_600_000 } });
    matcher.putDriver({ ...at, id: 'aside', vehicle: 'van' });
    matcher.claim('aside', 'lost');
    matcher.setAside('aside', 'lost', NOW);
    matcher.planned.addReach({ ...waiting('o', 'standard', place, NOW), size: 'large' }, NOW);
    const visited: string[] = [];
    matcher.planned.visitInReach(0, 1_000, NOW, (id) => void visited.push(id));
    expect(visited).toEqual(['able']);
  });
});
