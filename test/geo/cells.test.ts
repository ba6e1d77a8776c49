import fc from 'fast-check';
import { cellToLatLng, cellToParent, getHexagonEdgeLengthAvg, latLngToCell } from 'h3-js';
import { describe, expect, it } from 'vitest';
import { CELL_EDGE_METERS, COARSEST, cellCentre, cellIndex, cellPathByH3, FINEST } from '../../src/geo/cells.ts';
import { anywhere } from './places.ts';

describe('a cell path', () => {
  it('leads through the H3 cell of the place and all its parents', () => {
    fc.assert(
      fc.property(anywhere, ({ lat, lng }) => {
        const path = cellPathByH3(lat, lng);
        const finest = latLngToCell(lat, lng, FINEST);
        for (let resolution = COARSEST; resolution <= FINEST; resolution++) {
          const cell = cellToParent(finest, resolution);
          expect(cellIndex(path, resolution)).toBe(cell);
          const [centreLat, centreLng] = cellToLatLng(cell);
          expect(cellCentre(path, resolution)).toEqual({ lat: centreLat, lng: centreLng });
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('is sized as H3 says', () => {
    for (let resolution = COARSEST; resolution <= FINEST; resolution++) {
      expect(CELL_EDGE_METERS[resolution]).toBeCloseTo(getHexagonEdgeLengthAvg(resolution, 'm'), 1);
    }
  });
});
