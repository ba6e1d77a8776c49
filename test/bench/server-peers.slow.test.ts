import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPostgisPeer, openRedisPeer, type PostgisPeer, type RedisPeer } from '../../bench/support/server-peers.ts';
import { TIER_IDS, type TierId } from '../../src/domain/tier.ts';
import { distanceMeters, type Point } from '../../src/geo/point.ts';
import { findPostgis } from '../harness/postgis.ts';
import { hasRedis } from '../harness/redis.ts';
import { driversOf, offset, placesOf, seeded, WORLDS, type WorldDriver } from '../harness/world.ts';

const DRIVERS = 2_000;
const PLACES = 100;
/** Redis keeps a place to 52 bits, up to 0.6 m away from where it was said to be; at each end of a comparison. */
const GEOHASH_METERS = 1.5;

function worldOf(name: (typeof WORLDS)[number]) {
  const random = seeded(7);
  const place = placesOf(name, random);
  return { drivers: driversOf(DRIVERS, place, random), places: Array.from({ length: PLACES }, place) };
}

/** How much farther than the nearest the answered driver is. */
function excess(drivers: readonly WorldDriver[], place: Point, tierId: TierId, answered: string | undefined): number {
  const serving = drivers.filter(({ tierIds }) => tierIds.includes(tierId));
  const nearest = Math.min(...serving.map(({ point }) => distanceMeters(point, place)));
  const found = serving.find(({ id }) => id === answered);
  return found ? distanceMeters(found.point, place) - nearest : Number.POSITIVE_INFINITY;
}

describe.skipIf(!hasRedis())('Redis beside the matcher', () => {
  let peer: RedisPeer;
  beforeAll(async () => {
    peer = (await openRedisPeer()) as RedisPeer;
  });
  afterAll(() => peer?.close());

  test.each(WORLDS)('finds the nearest driver of a tier: %s', async (name) => {
    const { drivers, places } = worldOf(name);
    await peer.load(drivers);
    for (const place of places) {
      for (const tierId of TIER_IDS) {
        expect(excess(drivers, place, tierId, await peer.nearestRedis(place, tierId))).toBeLessThan(GEOHASH_METERS);
      }
    }
  });

  test('finds a driver where he has moved to', async () => {
    const { drivers, places } = worldOf('uniform');
    await peer.load(drivers);
    const place = places[0] as Point;
    for (const tierId of TIER_IDS) {
      const driver = drivers.find(({ tierIds }) => tierIds.includes(tierId)) as WorldDriver;
      await peer.moveRedis(driver, offset(place, 3, 0));
      expect(await peer.nearestRedis(place, tierId)).toBe(driver.id);
    }
  });

  test('says so where nobody serves the tier', async () => {
    await peer.load([]);
    expect(await peer.nearestRedis({ lat: 40, lng: -100 })).toBeUndefined();
  });
});

describe.skipIf(findPostgis() === undefined)('PostGIS beside the matcher', () => {
  let peer: PostgisPeer;
  beforeAll(async () => {
    peer = (await openPostgisPeer()) as PostgisPeer;
  });
  afterAll(() => peer?.close());

  test.each(WORLDS)('finds the nearest driver of a tier: %s', async (name) => {
    const { drivers, places } = worldOf(name);
    await peer.load(drivers);
    for (const place of places) {
      for (const tierId of TIER_IDS) {
        expect(excess(drivers, place, tierId, await peer.nearestPostgis(place, tierId))).toBeLessThan(0.01);
      }
    }
  });

  test('says so where nobody serves the tier', async () => {
    await peer.load([]);
    expect(await peer.nearestPostgis({ lat: 40, lng: -100 })).toBeUndefined();
  });
});
