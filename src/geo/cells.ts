import { cellToLatLng, h3IndexToSplitLong, latLngToCell, splitLongToH3Index } from 'h3-js';
import type { Point } from './point.ts';

/**
 * H3 cells as paths. H3 (Uber's hexagonal hierarchical index) names a cell by one of 122 base cells and one digit, 0 to
 * 6, for each resolution below; cutting digits off names the cells around it. A path is such a name at `FINEST` as one
 * whole number: the digits below `COARSEST` in its low 21 bits, the cell at `COARSEST` above them.
 * Layout of the index: h3geo.org/docs/core-library/h3Indexing.
 */
export type CellPath = number;

/** Edges of 26 km, one large town: fewer drivers than fill a list of their own do not need finer cells. */
export const COARSEST = 4;
/** Edges of 29 m: finer than what a phone's position is good for. */
export const FINEST = 11;

/** Cells of `COARSEST` have numbers below this; not all are taken. */
export const COARSE_CELLS = 2 ** 19;

const FINE_BITS = 3 * (FINEST - COARSEST);
const FINE_COUNT = 2 ** FINE_BITS;
/** Where the digit of `FINEST` ends in the low word; what follows are unused digits, all ones. */
const UNUSED_BITS = 3 * (15 - FINEST);
const CELL_MODE = 1 << 27;

/** The average edge of a cell in meters by resolution, from H3's table. Cells differ: up to 1.2 times that. */
export const CELL_EDGE_METERS: readonly number[] = [
  1_281_256.01, 483_056.84, 182_512.96, 68_979.22, 26_071.76, 9_854.09, 3_724.53, 1_406.48, 531.41, 200.79, 75.86,
  28.66,
];

/** The path of the finest cell that a place lies in. H3 checks no ranges: the place must be a valid `Point`. */
export function cellPathByH3(lat: number, lng: number): CellPath {
  const [low, high] = h3IndexToSplitLong(latLngToCell(lat, lng, FINEST));
  return pathFrom((high >>> 1) & 0x7ffff, ((high & 1) << (32 - UNUSED_BITS)) | (low >>> UNUSED_BITS));
}

/** The path of a cell of `COARSEST`, by its base cell and digits, and the digits below it, three bits each. */
export function pathFrom(coarse: number, fine: number): CellPath {
  return coarse * FINE_COUNT + fine;
}

/** Which cell of `COARSEST` a path leads through: a number below `COARSE_CELLS`. */
export function coarseCell(path: CellPath): number {
  return Math.floor(path / FINE_COUNT);
}

/** Which child a path takes to enter `resolution` (above `COARSEST`, up to `FINEST`): 0 to 6. */
export function childDigit(path: CellPath, resolution: number): number {
  return ((path & (FINE_COUNT - 1)) >>> (3 * (FINEST - resolution))) & 7;
}

/** The H3 index of the cell of `resolution` that a path leads through, as h3-js writes it. */
export function cellIndex(path: CellPath, resolution: number): string {
  const unusedFine = 2 ** (3 * (FINEST - resolution)) - 1;
  const fine = (path & (FINE_COUNT - 1)) | unusedFine;
  const high = CELL_MODE | (resolution << 20) | (coarseCell(path) << 1) | (fine >>> (32 - UNUSED_BITS));
  const low = (fine << UNUSED_BITS) | (2 ** UNUSED_BITS - 1);
  return splitLongToH3Index(low, high);
}

/** The centre of the cell of `resolution` that a path leads through. */
export function cellCentre(path: CellPath, resolution: number): Point {
  const [lat, lng] = cellToLatLng(cellIndex(path, resolution));
  return { lat, lng };
}
