import { cellToLatLng, h3IndexToSplitLong, latLngToCell, splitLongToH3Index } from 'h3-js';
import type { Point } from './point.ts';

/**
 * H3 cells as paths. H3 (Uber's hexagonal hierarchical index) names a cell by one of 122 base cells and one
 * digit, 0 to 6, for each resolution below; a name without its last digits is the name of a cell around it. A
 * path is the name of a cell of `FINEST` as one whole number: the digits below `COARSEST` in the low 21 bits,
 * the cell of `COARSEST` above. The layout of H3's index is at h3geo.org/docs/core-library/h3Indexing.
 */
export type CellPath = number;

/** Edges of 26 km: one large town. So few drivers as fill one bucket there need no finer cells. */
export const COARSEST = 4;
/** Edges of 29 m: finer than the accuracy of a phone's position is of no use. */
export const FINEST = 11;

/** The bound of the numbers of cells of `COARSEST`; some numbers are no cell's. */
export const COARSE_CELLS = 2 ** 19;

const FINE_BITS = 3 * (FINEST - COARSEST);
const FINE_COUNT = 2 ** FINE_BITS;
/** The bits of the low word below the digit of `FINEST`: unused digits, all ones. */
const UNUSED_BITS = 3 * (15 - FINEST);
const CELL_MODE = 1 << 27;

/** The average edge of a cell in meters by resolution, from H3's table. An edge may have 1.2 times that. */
export const CELL_EDGE_METERS: readonly number[] = [
  1_281_256.01, 483_056.84, 182_512.96, 68_979.22, 26_071.76, 9_854.09, 3_724.53, 1_406.48, 531.41, 200.79, 75.86,
  28.66,
];

/** The path of a place's finest cell. H3 checks no ranges: the place must be a valid `Point`. */
export function cellPathByH3(lat: number, lng: number): CellPath {
  const [low, high] = h3IndexToSplitLong(latLngToCell(lat, lng, FINEST));
  return pathFrom((high >>> 1) & 0x7ffff, ((high & 1) << (32 - UNUSED_BITS)) | (low >>> UNUSED_BITS));
}

/** A path from the number of a cell of `COARSEST` and the digits below it, three bits each. */
export function pathFrom(coarse: number, fine: number): CellPath {
  return coarse * FINE_COUNT + fine;
}

/** The number of the cell of `COARSEST` on a path, below `COARSE_CELLS`. */
export function coarseCell(path: CellPath): number {
  return Math.floor(path / FINE_COUNT);
}

/** The digit of `resolution` (above `COARSEST`, up to `FINEST`) on a path: 0 to 6. */
export function childDigit(path: CellPath, resolution: number): number {
  return ((path & (FINE_COUNT - 1)) >>> (3 * (FINEST - resolution))) & 7;
}

/** The H3 index of the cell of `resolution` on a path, as h3-js writes it. */
export function cellIndex(path: CellPath, resolution: number): string {
  const unusedFine = 2 ** (3 * (FINEST - resolution)) - 1;
  const fine = (path & (FINE_COUNT - 1)) | unusedFine;
  const high = CELL_MODE | (resolution << 20) | (coarseCell(path) << 1) | (fine >>> (32 - UNUSED_BITS));
  const low = (fine << UNUSED_BITS) | (2 ** UNUSED_BITS - 1);
  return splitLongToH3Index(low, high);
}

/** The centre of the cell of `resolution` on a path. */
export function cellCentre(path: CellPath, resolution: number): Point {
  const [lat, lng] = cellToLatLng(cellIndex(path, resolution));
  return { lat, lng };
}
