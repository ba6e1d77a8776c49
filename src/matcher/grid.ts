import type { Point } from '../geo/point.ts';

/** The globe in cells of a quarter of a degree, up to 28 km high and wide. */
const PER_DEGREE = 4;
const ROWS = 180 * PER_DEGREE;
const COLUMNS = 360 * PER_DEGREE;
export const GRID_CELLS = ROWS * COLUMNS;
const METERS_PER_DEGREE = 111_000;

export const rowOf = (lat: number): number => Math.min(ROWS - 1, Math.floor((lat + 90) * PER_DEGREE));
/** The longitudes −180 and 180 are the same. */
export const columnOf = (lng: number): number => Math.floor((lng + 180) * PER_DEGREE) % COLUMNS;

/** The number of a cell, from 0 to below GRID_CELLS. */
export const gridCell = (row: number, column: number): number => row * COLUMNS + column;

/** The cells that may have a place within some meters of a point; null for more than `most`. */
export function gridCellsAround({ lat, lng }: Point, meters: number, most: number): number[] | null {
  const high = meters / METERS_PER_DEGREE;
  const farthest = Math.abs(lat) + high;
  if (farthest >= 90) return null;
  const wide = high / Math.cos((farthest * Math.PI) / 180);
  const [first, last] = [rowOf(lat - high), rowOf(lat + high)];
  const west = Math.floor((lng + 180 - wide) * PER_DEGREE);
  const columns = Math.floor((lng + 180 + wide) * PER_DEGREE) - west + 1;
  if (columns > COLUMNS || columns * (last - first + 1) > most) return null;
  const cells: number[] = [];
  for (let row = first; row <= last; row++) {
    for (let i = 0; i < columns; i++) cells.push(gridCell(row, (west + i + COLUMNS) % COLUMNS));
  }
  return cells;
}
