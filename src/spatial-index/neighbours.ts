import type RBush from 'rbush';
import { boxAround } from '../geo/box.ts';
import { chordSquared } from '../geo/point.ts';
import { MAX_NEIGHBOURS } from '../limits.ts';
import { CELL_RADIUS, CELL_STRIDE, type CellBox, COVER_RADII } from './cell.ts';
import type { Cells } from './cells.ts';

/** A neighbour as it is remembered: the unit vector of its centre, its radius as a chord, its number. */
export const NEIGHBOUR_STRIDE = 5;
export const NEIGHBOUR_RADIUS = 3;
export const NEIGHBOUR_CELL = 4;

type Index = { readonly cells: Cells; readonly everyTree: RBush<CellBox> };

/**
 * For every cell that was asked for them: the cells that may have a member within `COVER_RADII` of its radius from its
 * centre. A search that begins in a cell and has found somebody near needs no other cells, nor a tree.
 *
 * A list is made when it is asked for and dropped when a cell appears, or grows, that belongs into it. A cell that
 * vanishes may stay in lists: it has no members, and another cell that gets its number costs a look in vain.
 */
export class Neighbours {
  /** `null` where there are too many to be worth it. */
  private readonly lists: (Float64Array | null | undefined)[] = [];
  private listCount = 0;

  of(cell: number, index: Index): Float64Array | null {
    const known = this.lists[cell];
    if (known !== undefined) return known;
    while (this.lists.length <= cell) this.lists.push(undefined);
    const list = listFor(cell, index);
    this.lists[cell] = list;
    this.listCount++;
    return list;
  }

  /** Drops the list of every cell that is, or now has, a neighbour in the given one. */
  dropAround(cell: number, index: Index): void {
    if (this.listCount === 0) return;
    this.forget(cell);
    for (const box of boxesNear(cell, index.cells.figures[cell * CELL_STRIDE + CELL_RADIUS] as number, index)) {
      this.forget(box.cell);
    }
  }

  private forget(cell: number): void {
    if (this.lists[cell] === undefined) return;
    this.lists[cell] = undefined;
    this.listCount--;
  }
}

const listed = new Float64Array(MAX_NEIGHBOURS * NEIGHBOUR_STRIDE);

function listFor(cell: number, index: Index): Float64Array | null {
  const { figures } = index.cells;
  const cover = (figures[cell * CELL_STRIDE + CELL_RADIUS] as number) * COVER_RADII;
  let end = 0;
  for (const { cell: other } of boxesNear(cell, cover, index)) {
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

/** The boxes that a circle around a cell's centre may touch, also those that lie beyond the antimeridian. */
function boxesNear(cell: number, radius: number, { cells, everyTree }: Index): CellBox[] {
  const { lat, lng } = cells.box(cell);
  const { minX, minY, maxX, maxY } = boxAround(lat, lng, radius);
  const turned = (by: number) => everyTree.search({ minX: minX + by, minY, maxX: maxX + by, maxY });
  const near = turned(0);
  // Away from the poles a box is a few degrees wide, and only near the antimeridian does one reach beyond it.
  const isAlone = Math.abs(lng) < 170 && Math.abs(lat) < 80;
  return isAlone ? near : [...new Set([...near, ...turned(360), ...turned(-360)])];
}
