import fc from 'fast-check';
import { cellToBoundary, cellToLatLng, getIcosahedronFaces, getPentagons, latLngToCell } from 'h3-js';
import { describe, expect, it } from 'vitest';
import { cellPathByH3, FINEST } from '../../src/geo/cells.ts';
import { cellPath } from '../../src/geo/hexagons.ts';
import { writeVector } from '../../src/geo/point.ts';
import { runs } from '../harness/counts.ts';
import { expectSame } from '../harness/same.ts';
import { anywhere, displaced } from './places.ts';

const vector = new Float64Array(3);

function agrees({ lat, lng }: { lat: number; lng: number }): void {
  writeVector(lat, lng, vector, 0);
  expectSame(cellPath(lat, lng, vector, 0), cellPathByH3(lat, lng));
}

describe('the cell of a place without H3’s trigonometry is the one that h3-js names', () => {
  it('anywhere on the globe', () => {
    fc.assert(fc.property(anywhere, agrees), { numRuns: runs(4_000, 20_000) });
  });

  it('on the borders and corners of cells of every size, and some nanometers to micrometers beside them', () => {
    const nudge = fc.constantFrom(0, 1e-14, -1e-14, 1e-13, 1e-12, -1e-11, 1e-9);
    const resolution = fc.integer({ min: 0, max: FINEST });
    fc.assert(
      fc.property(anywhere, resolution, fc.double({ min: 0, max: 1 }), nudge, nudge, (at, resolution, along, a, b) => {
        const boundary = cellToBoundary(latLngToCell(at.lat, at.lng, resolution));
        const [first, second] = boundary as [[number, number], [number, number]];
        const lat = first[0] + (second[0] - first[0]) * along + a;
        const lng = first[1] + (second[1] - first[1]) * along + b;
        if (Math.abs(lat) <= 90 && Math.abs(lng) <= 180) agrees({ lat, lng });
        agrees({ lat: first[0], lng: Math.min(180, Math.max(-180, first[1] + b)) });
      }),
      { numRuns: runs(1_500, 5_000) },
    );
  });

  it('around the twelve pentagons, near and far', () => {
    const pentagon = fc.constantFrom(...getPentagons(0).map((cell) => cellToLatLng(cell)));
    const meters = fc.constantFrom(0, 1e-3, 10, 1e3, 1e5, 5e5, 1e6);
    const part = fc.double({ min: -1, max: 1, noNaN: true });
    fc.assert(
      fc.property(pentagon, meters, part, part, ([lat, lng], meters, north, east) => {
        const place = displaced({ lat, lng }, north * meters, east * meters);
        if (Math.abs(place.lat) <= 90 && Math.abs(place.lng) <= 180) agrees(place);
      }),
      { numRuns: runs(1_500, 5_000) },
    );
  });

  it('where two faces of the icosahedron meet', () => {
    let onEdges = 0;
    fc.assert(
      fc.property(anywhere, ({ lat, lng }) => {
        const cell = latLngToCell(lat, lng, 1);
        if (getIcosahedronFaces(cell).length < 2) return;
        onEdges++;
        for (const [lat, lng] of cellToBoundary(cell)) agrees({ lat, lng });
        agrees({ lat, lng });
      }),
      { numRuns: 3_000 },
    );
    expect(onEdges).toBeGreaterThan(300);
  });
});
