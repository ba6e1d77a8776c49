import { childDigit, coarseCell, FINEST } from '../geo/cells.ts';
import { chordSquared, writeVector } from '../geo/point.ts';
import { MAX_TIERS } from '../limits.ts';
import {
  BLOCK,
  CELL_RADIUS,
  CELL_STRIDE,
  type CellBox,
  COUNT,
  EVERY,
  EVERY_BIT,
  LINK_STRIDE,
  lowestTier,
  SERVED,
  SIZE,
  withMargin,
} from './cell.ts';
import type { CellTrees } from './cell-trees.ts';
import type { Cells } from './cells.ts';
import { capacityOf, MEMBER_STRIDE, sizeFor } from './member-pool.ts';
import type { Members } from './members.ts';

/** Most drivers, or waiting orders, in a cell; then it is divided. Reading 64 is as quick as finding it. */
export const CELL_SPLIT_MEMBERS = 64;

/** Spare room of the pool after a build, as a part of what was built; cells grow and divide. */
const HEADROOM = 1 / 8;

/** A leaf and its range of the sorted members. */
type Leaf = { readonly cell: number; readonly from: number; readonly to: number };

/** The parts of an index. */
type Parts = { readonly cells: Cells; readonly members: Members; readonly trees: CellTrees };

/**
 * Builds the cells of many members at once. The result is the one of inserting the members one by one,
 * several times faster: no cell is divided with members in it, each member is written once, members of cells
 * close by stand side by side, and the trees are loaded whole (rbush's `load`; T. Lee and S. Lee, "OMT:
 * Overlap Minimizing Top-down Bulk Loading Algorithm for R-tree", CAiSE 2003).
 */
export class CellBuilder {
  private readonly parts: Parts;
  private readonly paths: Float64Array;
  private readonly sorted: Int32Array;
  private readonly leaves: Leaf[] = [];
  private readonly boxes: readonly CellBox[][] = Array.from({ length: EVERY + 1 }, () => []);
  private readonly vector = new Float64Array(3);

  /**
   * @param paths of the members, in ascending order
   * @param sorted the members, which are located and have tiers, in the same order
   */
  constructor(parts: Parts, paths: Float64Array, sorted: Int32Array) {
    this.parts = parts;
    this.paths = paths;
    this.sorted = sorted;
  }

  /** The end of the range of members that share a coarse cell with the one at `from`. */
  endOfCoarse(from: number): number {
    const coarse = coarseCell(this.paths[from] as number);
    let end = from + 1;
    while (end < this.paths.length && coarseCell(this.paths[end] as number) === coarse) end++;
    return end;
  }

  /** Makes the cell of a range, which must be new, and the cells below it; `finish` fills them. */
  divide(from: number, to: number): void {
    const { cells } = this.parts;
    const cell = cells.leafOf(this.paths[from] as number);
    const resolution = cells.resolution(cell);
    if (to - from <= CELL_SPLIT_MEMBERS || resolution === FINEST) {
      this.leaves.push({ cell, from, to });
      return;
    }
    cells.makeBranch(cell);
    for (let start = from; start < to; ) {
      const digit = childDigit(this.paths[start] as number, resolution + 1);
      let end = start + 1;
      while (end < to && childDigit(this.paths[end] as number, resolution + 1) === digit) end++;
      this.divide(start, end);
      start = end;
    }
  }

  /** Fills the new cells and enters them into the trees. */
  finish(): void {
    const { members, trees } = this.parts;
    const room = this.leaves.reduce((sum, { from, to }) => sum + capacityOf(sizeFor(to - from)), 0);
    members.pool.reserve(Math.ceil(room * (1 + HEADROOM)) * MEMBER_STRIDE);
    for (const leaf of this.leaves) this.fill(leaf);
    for (const [tier, boxes] of this.boxes.entries()) trees.byTier[tier]?.load(boxes);
    for (const { cell } of this.leaves) trees.neighbours.dropAround(cell);
  }

  private fill({ cell, from, to }: Leaf): void {
    const { vector } = this;
    const { cells, members } = this.parts;
    const { figures, links } = cells;
    const link = cell * LINK_STRIDE;
    const size = sizeFor(to - from);
    const block = members.pool.take(size);
    links[link + BLOCK] = block;
    links[link + SIZE] = size;
    links[link + COUNT] = to - from;
    let farthest = 0;
    for (let i = from; i < to; i++) {
      const member = this.sorted[i] as number;
      writeVector(members.lat(member), members.lng(member), vector, 0);
      farthest = Math.max(farthest, chordSquared(vector, 0, figures, cell * CELL_STRIDE));
      members.write(cell, block + (i - from) * MEMBER_STRIDE, member, vector);
      this.count(cell, members.tiers(member));
    }
    const radius = figures[cell * CELL_STRIDE + CELL_RADIUS] as number;
    if (farthest > radius * radius) {
      figures[cell * CELL_STRIDE + CELL_RADIUS] = withMargin(Math.sqrt(farthest));
      cells.box(cell).cover(withMargin(Math.sqrt(farthest)));
    }
    for (let left = links[link + SERVED] as number; left !== 0; left &= left - 1) {
      this.boxes[lowestTier(left)]?.push(cells.box(cell));
    }
  }

  private count(cell: number, tiers: number): void {
    const { links, tierCounts } = this.parts.cells;
    const link = cell * LINK_STRIDE + SERVED;
    links[link] = (links[link] as number) | tiers;
    for (let left = tiers & ~EVERY_BIT; left !== 0; left &= left - 1) {
      const count = cell * MAX_TIERS + lowestTier(left);
      tierCounts[count] = (tierCounts[count] as number) + 1;
    }
  }
}
