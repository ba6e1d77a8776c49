import { TIER_IDS, type TierId } from '../../src/domain/tier.ts';
import { EARTH_RADIUS_METERS, type Point, RADIANS } from '../../src/geo/point.ts';

/** Pseudo-random numbers from 0 to 1, the same for the same seed (Mulberry32, T. Ettinger). */
export type Random = () => number;

export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * `uniform`: the contiguous United States. `cities`: 300 towns of unequal size. `hot_spot`: a square of 10
 * km.
 */
export const WORLDS = ['uniform', 'cities', 'hot_spot'] as const;
export type WorldName = (typeof WORLDS)[number];

export type WorldDriver = { readonly id: string; readonly point: Point; readonly tierIds: readonly TierId[] };

const CITIES = 300;
const CITY_SIGMA_METERS = 6_000;
const TIER_SETS: readonly (readonly TierId[])[] = Array.from({ length: 2 ** TIER_IDS.length - 1 }, (_, bits) =>
  TIER_IDS.filter((_, tier) => ((bits + 1) >> tier) & 1),
);

/**
 * A source of random points of a world, for drivers and pickups.
 *
 * @param settle moves the center of a town; by default it is anywhere, also at sea
 */
export function placesOf(world: WorldName, random: Random, settle = (center: Point): Point => center): () => Point {
  const anywhere = () => ({ lat: 25 + 24 * random(), lng: -124 + 57 * random() });
  if (world === 'uniform') return anywhere;
  if (world === 'hot_spot')
    return () => offset({ lat: 40.75, lng: -73.98 }, 10_000 * (random() - 0.5), 10_000 * (random() - 0.5));
  const cities = Array.from({ length: CITIES }, () => settle(anywhere()));
  return () => {
    // Zipf's law: half of all points are in the 17 largest of 300 cities.
    const city = cities[Math.floor(CITIES ** random()) - 1] as Point;
    return offset(city, CITY_SIGMA_METERS * normal(random), CITY_SIGMA_METERS * normal(random));
  };
}

/**
 * Drivers at random points, each with a set of tiers, all sets equally frequent. Their ids are flat strings,
 * as a database's client reads them; those of a template literal are flattened only when they are first
 * looked up.
 */
export function driversOf(count: number, place: () => Point, random: Random): WorldDriver[] {
  return Array.from({ length: count }, (_, i) => ({
    id: Buffer.from(`0192${i.toString(16).padStart(8, '0')}-7000-8000-000000000000`).toString('latin1'),
    point: place(),
    tierIds: TIER_SETS[Math.floor(random() * TIER_SETS.length)] as readonly TierId[],
  }));
}

/** The point some meters north and east of another. */
export function offset({ lat, lng }: Point, north: number, east: number): Point {
  const degrees = 1 / (EARTH_RADIUS_METERS * RADIANS);
  return { lat: lat + north * degrees, lng: lng + (east * degrees) / Math.cos(lat * RADIANS) };
}

/** The same values in random order. */
export function shuffled<T>(values: readonly T[], random: Random): T[] {
  return values
    .map((value) => ({ value, lot: random() }))
    .sort((a, b) => a.lot - b.lot)
    .map(({ value }) => value);
}

/** A normally distributed number, by the Box–Muller transform (1958). */
function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
