import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { boxAround, chordToBox } from '../../src/geo/box.ts';
import { chordOfMeters, chordSquared, type Point, writeVector } from '../../src/geo/point.ts';
import { runs } from '../harness/counts.ts';
import { expectSame } from '../harness/same.ts';
import { anywhere, displaced } from './places.ts';

const ROUNDING = 1e-14;

function chordBetween(a: Point, b: Point): number {
  const pair = new Float64Array(6);
  writeVector(a.lat, a.lng, pair, 0);
  writeVector(b.lat, b.lng, pair, 3);
  return Math.sqrt(chordSquared(pair, 0, pair, 3));
}

const bound = (from: Point, box: ReturnType<typeof boxAround>) =>
  chordToBox(from.lat, from.lng, Math.cos((from.lat * Math.PI) / 180), box);

const radius = fc.oneof(
  fc.double({ min: 0, max: 1000, noNaN: true }),
  fc.double({ min: 0, max: 20_100_000, noNaN: true }),
);

describe('the box around a circle', () => {
  it('is at distance zero from every place in the circle, anywhere on the globe', () => {
    fc.assert(
      fc.property(anywhere, anywhere, radius, (centre, place, meters) => {
        const chord = chordOfMeters(meters);
        fc.pre(chordBetween(centre, place) <= chord);
        expectSame(bound(place, boxAround(centre.lat, centre.lng, chord)), 0);
      }),
      { numRuns: runs(1_000, 5_000) },
    );
    const near = fc.double({ min: -3000, max: 3000, noNaN: true });
    fc.assert(
      fc.property(anywhere, near, near, (centre, north, east) => {
        const place = displaced(centre, north, east);
        const chord = chordBetween(centre, place);
        expectSame(bound(place, boxAround(centre.lat, centre.lng, chord)), 0);
      }),
      { numRuns: runs(1_000, 5_000) },
    );
  });
});

describe('the distance to a box', () => {
  const sides = fc.tuple(anywhere, anywhere).map(([a, b]) => ({
    minX: Math.min(a.lng, b.lng),
    minY: Math.min(a.lat, b.lat),
    maxX: Math.max(a.lng, b.lng),
    maxY: Math.max(a.lat, b.lat),
  }));
  const share = fc.double({ min: 0, max: 1, noNaN: true });

  it('is never more than the distance to a place in it', () => {
    fc.assert(
      fc.property(sides, share, share, anywhere, (box, x, y, from) => {
        const lat = Math.min(box.maxY, box.minY + y * (box.maxY - box.minY));
        const lng = Math.min(box.maxX, box.minX + x * (box.maxX - box.minX));
        expect(bound(from, box)).toBeLessThanOrEqual(chordBetween(from, { lat, lng }) + ROUNDING);
      }),
      { numRuns: runs(2_000, 20_000) },
    );
  });

  it('holds for a box across the antimeridian', () => {
    fc.assert(
      fc.property(anywhere, fc.double({ min: 170, max: 180, noNaN: true }), share, (from, west, x) => {
        const box = { minX: west, maxX: west + 15, minY: -5, maxY: 5 };
        const lng = west + x * 15;
        const place = { lat: 0, lng: lng > 180 ? lng - 360 : lng };
        expect(bound(from, box)).toBeLessThanOrEqual(chordBetween(from, place) + ROUNDING);
      }),
      { numRuns: runs(1_000, 5_000) },
    );
    expect(bound({ lat: 0, lng: -179 }, { minX: 175, maxX: 182, minY: -1, maxY: 1 })).toBe(0);
  });

  it('is close to the distance of a small box: at most a hundredth less at town scale', () => {
    const far = fc.double({ min: 100, max: 50_000, noNaN: true });
    fc.assert(
      fc.property(fc.double({ min: -70, max: 70, noNaN: true }), far, far, (lat, north, east) => {
        const from = { lat, lng: 10 };
        const place = displaced(from, north, east);
        const box = { minX: place.lng, maxX: place.lng, minY: place.lat, maxY: place.lat };
        expect(bound(from, box)).toBeGreaterThan(chordBetween(from, place) * 0.99);
      }),
    );
  });
});
