import type RBush from 'rbush';
import { boxAround } from '../geo/box.ts';
import { chordSquared } from '../geo/point.ts';
import { CELL_RADIUS, CELL_STRIDE, type CellBox, COVER_RADII } from './cell.ts';
import type { Cells } from './cells.ts';

/** Most neighbours of a cell kept in a list. Beside a crowd there are more, which a tree finds faster. */
const MAX_NEIGHBOURS = 100;

/** A neighbour as a list holds it: the unit vector of its centre, its radius as a chord, its number. */
export const NEIGHBOUR_STRIDE = 5;
export const NEIGHBOUR_RADIUS = 3;
export const NEIGHBOUR_CELL = 4;

/**
 * The neighbours of each cell: the cells that may have a member within `COVER_RADII` of its radius from its
 * centre. A search that begins in a cell and finds a member near enough reads only these.
 *
 * A list is made on its first use and dropped when a cell that belongs into it appears or grows. A cell that
 * vanishes may stay in lists: it has no members, and if another cell gets its number, a search reads that
 * cell in vain.
 */
export class Neighbours {
  private readonly cells: Cells;
  private readonly everyTree: RBush<CellBox>;
  /** `null` for a cell with too many neighbours for a list. */
  private readonly lists: (Float64Array | null | undefined)[] = [];
  private listCount = 0;

  constructor(cells: Cells, everyTree: RBush<CellBox>) {
    this.cells = cells;
    this.everyTree = everyTree;
  }

  of(cell: number): Float64Array | null {
    const known = this.lists[cell];
    if (known !== undefined) return known;
    while (this.lists.length <= cell) this.lists.push(undefined);
    const list = this.listFor(cell);
    this.lists[cell] = list;
    this.listCount++;
    return list;
  }

  /** Drops the list of a cell, and of every cell that has, or now gets, it as a neighbour. */
  dropAround(cell: number): void {
    if (this.listCount === 0) return;
    this.forget(cell);
    for (const box of this.boxesNear(cell, this.cells.figures[cell * CELL_STRIDE + CELL_RADIUS] as number)) {
      this.forget(box.cell);
    }
  }

  private forget(cell: number): void {
    if (this.lists[cell] === undefined) return;
    this.lists[cell] = undefined;
    this.listCount--;
  }

  private listFor(cell: number): Float64Array | null {
    const { figures } = this.cells;
    const cover = (figures[cell * CELL_STRIDE + CELL_RADIUS] as number) * COVER_RADII;
    let end = 0;
    for (const { cell: other } of this.boxesNear(cell, cover)) {
      const at = other * CELL_STRIDE;
      const radius = figures[at + CELL_RADIUS] as number;
      const gap = Math.sqrt(chordSquared(figures, at, figures, cell * CELL_STRIDE));
      if (other === cell || gap - radius > cover) continue;
      if (end === listed.length) return null;
      for (let axis = 0; axis < 3; axis++) listed[end + axis] = figures[at + axis] as number;
      listed[end + NEIGHBOUR_RADIUS] = radius;
      listed[end + NEIGHBOUR_CELL] = other;
      end += NEIGHBOUR_STRIDE;
    }
    return listed.slice(0, end);
  }

  /** The boxes that a circle around a cell's centre may touch, those beyond the antimeridian included. */
  private boxesNear(cell: number, radius: number): CellBox[] {
    const { lat, lng } = this.cells.box(cell);
    const { minX, minY, maxX, maxY } = boxAround(lat, lng, radius);
    const turned = (by: number) => this.everyTree.search({ minX: minX + by, minY, maxX: maxX + by, maxY });
    const near = turned(0);
    // Away from the poles a box is a few degrees wide, so only one near the antimeridian reaches beyond it.
    const isAlone = Math.abs(lng) < 170 && Math.abs(lat) < 80;
    return isAlone ? near : [...new Set([...near, ...turned(360), ...turned(-360)])];
  }
}

const listed = new Float64Array(MAX_NEIGHBOURS * NEIGHBOUR_STRIDE);
