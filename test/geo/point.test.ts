import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  chordOfMeters,
  distanceMeters,
  EARTH_RADIUS_METERS,
  isPoint,
  metersOfChordSquared,
  type Point,
} from '../../src/geo/point.ts';
import { anywhere } from './places.ts';

/** The formula over angles, as in textbooks. */
function haversine(a: Point, b: Point): number {
  const radians = Math.PI / 180;
  const lat = Math.sin(((b.lat - a.lat) * radians) / 2);
  const lng = Math.sin(((b.lng - a.lng) * radians) / 2);
  const h = lat * lat + Math.cos(a.lat * radians) * Math.cos(b.lat * radians) * lng * lng;
  return 2 * EARTH_RADIUS_METERS * Math.asin(Math.min(1, Math.sqrt(h)));
}

describe('distance', () => {
  it('agrees with the haversine formula to a billionth and ten nanometers', () => {
    fc.assert(
      fc.property(anywhere, anywhere, (a, b) => {
        const expected = haversine(a, b);
        // Within 600 km of the antipode both formulas lose their last digits to the arc sine.
        if (expected > 19_400_000) return Math.abs(distanceMeters(a, b) - expected) < 0.5;
        return Math.abs(distanceMeters(a, b) - expected) <= 1e-8 + expected * 1e-9;
      }),
      { numRuns: 5000 },
    );
  });

  it('is the same in both directions and zero to the same place', () => {
    fc.assert(
      fc.property(anywhere, anywhere, (a, b) => {
        expect(distanceMeters(a, b)).toBe(distanceMeters(b, a));
        expect(distanceMeters(a, a)).toBe(0);
      }),
    );
  });

  it('is zero between all longitudes of a pole and between both of the antimeridian', () => {
    expect(distanceMeters({ lat: 90, lng: 12 }, { lat: 90, lng: -170 })).toBe(0);
    expect(distanceMeters({ lat: -90, lng: 0 }, { lat: -90, lng: 180 })).toBe(0);
    expect(distanceMeters({ lat: 17, lng: 180 }, { lat: 17, lng: -180 })).toBe(0);
  });

  it('is half the circumference between the poles, and right for a known pair of cities', () => {
    expect(distanceMeters({ lat: 90, lng: 0 }, { lat: -90, lng: 0 })).toBeCloseTo(Math.PI * EARTH_RADIUS_METERS, 5);
    // Nashville airport to Los Angeles airport, the usual example for this formula: 2887.26 km at R = 6372.8.
    const flight = distanceMeters({ lat: 36.12, lng: -86.67 }, { lat: 33.94, lng: -118.4 });
    expect(flight / (EARTH_RADIUS_METERS / 6_372_800)).toBeCloseTo(2_887_259.95, 1);
  });

  it('converts to chords and back', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 19_000_000, noNaN: true }), (meters) => {
        const chord = chordOfMeters(meters);
        return Math.abs(metersOfChordSquared(chord * chord) - meters) <= 1e-6;
      }),
    );
    expect(chordOfMeters(Number.POSITIVE_INFINITY)).toBe(2);
    expect(chordOfMeters(-1)).toBe(0);
  });
});

describe('isPoint', () => {
  it('accepts places on Earth and nothing else', () => {
    expect(isPoint(90, -180)).toBe(true);
    expect(isPoint(-90, 180)).toBe(true);
    for (const [lat, lng] of [
      [90.0001, 0],
      [0, 180.0001],
      [Number.NaN, 0],
      [0, Number.NaN],
      [Infinity, 0],
      ['1', 2],
      [null, 1],
      [1, undefined],
    ]) {
      expect(isPoint(lat, lng)).toBe(false);
    }
  });
});
