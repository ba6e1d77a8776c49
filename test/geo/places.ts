import fc from 'fast-check';
import type { Point } from '../../src/geo/point.ts';

const between = (min: number, max: number) => fc.double({ min, max, noNaN: true, noDefaultInfinity: true });

/** Any place; the poles, the antimeridian, the equator and whole degrees more often than by chance. */
export const anywhere: fc.Arbitrary<Point> = fc.record({
  lat: fc.oneof(
    { weight: 4, arbitrary: between(-90, 90) },
    { weight: 1, arbitrary: fc.constantFrom(-90, 90, 0, 89.9999, -89.9999) },
    { weight: 1, arbitrary: fc.integer({ min: -90, max: 90 }) },
  ),
  lng: fc.oneof(
    { weight: 4, arbitrary: between(-180, 180) },
    { weight: 1, arbitrary: fc.constantFrom(-180, 180, 0, 179.9999, -179.9999) },
    { weight: 1, arbitrary: fc.integer({ min: -180, max: 180 }) },
  ),
});

/** A place some meters north and east of another, also across poles and antimeridian. */
export function displaced(from: Point, north: number, east: number): Point {
  let lat = from.lat + north / 111_195;
  let lng = from.lng + east / 111_195 / Math.max(0.01, Math.cos((from.lat * Math.PI) / 180));
  if (Math.abs(lat) > 90) {
    lat = Math.sign(lat) * 180 - lat;
    lng += 180;
  }
  lng = ((((lng + 180) % 360) + 360) % 360) - 180;
  return { lat, lng };
}
