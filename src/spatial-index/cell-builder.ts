import { childDigit, coarseCell, FINEST } from '../geo/cells.ts';
import { chordSquared, writeVector } from '../geo/point.ts';
import { CELL_SPLIT_MEMBERS } from '../limits.ts';
import {
  BLOCK,
  CELL_RADIUS,
  CELL_STRIDE,
  type CellBox,
  COUNT,
  EVERY,
  LINK_STRIDE,
  MAX_TIERS,
  SIZE,
  TIER_COUNTS,
  withMargin,
} from './cell.ts';
import type { CellIndex } from './cell-index.ts';
import { capacityOf, MEMBER_STRIDE, sizeFor } from './member-pool.ts';

/** Room left in the pool after a build, as a part of what was built: drivers move, and cells grow and divide with them. */
const HEADROOM = 1 / 8;

/** A leaf and the range of the sorted members that it gets. */
type Leaf = { readonly cell: number; readonly from: number; readonly to: number };

/**
 * Builds the cells of many members at once, as putting the members in one by one would leave them, but several times
 * faster: no cell is divided with members in it, each member is written once, those of cells close by side by side, and
 * the trees are loaded whole (rbush's `load`; T. Lee and S. Lee, "OMT: Overlap Minimizing Top-down Bulk Loading
 * Algorithm for R-tree", CAiSE 2003).
 */
export class CellBuilder {
  private readonly index: CellIndex;
  private readonly paths: Float64Array;
  private readonly members: Int32Array;
  private readonly leaves: Leaf[] = [];
  private readonly boxes: readonly CellBox[][] = Array.from({ length: MAX_TIERS + 1 }, () => []);
  private readonly vector = new Float64Array(3);

  /** The members, whose tiers are known, by their paths in ascending order. */
  constructor(index: CellIndex, paths: Float64Array, members: Int32Array) {
    this.index = index;
    this.paths = paths;
    this.members = members;
  }

  /** Where in the order the members end that share a coarse cell with the one at `from`. */
  endOfCoarse(from: number): number {
    const coarse = coarseCell(this.paths[from] as number);
    let end = from + 1;
    while (end < this.paths.length && coarseCell(this.paths[end] as number) === coarse) end++;
    return end;
  }

  /** Makes the cell that a range shares, which must not be there yet, and those below it, for `finish` to fill. */
  divide(from: number, to: number): void {
    const { cells } = this.index;
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

  /** Fills the cells that were made and puts them where searches find them. */
  finish(): void {
    const { pool, trees, neighbours } = this.index;
    const room = this.leaves.reduce((sum, { from, to }) => sum + capacityOf(sizeFor(to - from)), 0);
    pool.reserve(Math.ceil(room * (1 + HEADROOM)) * MEMBER_STRIDE);
    for (const leaf of this.leaves) this.fill(leaf);
    for (const [tier, boxes] of this.boxes.entries()) trees[tier]?.load(boxes);
    for (const { cell } of this.leaves) neighbours.dropAround(cell, this.index);
  }

  private fill({ cell, from, to }: Leaf): void {
    const { index, vector } = this;
    const { figures, links } = index.cells;
    const link = cell * LINK_STRIDE;
    const size = sizeFor(to - from);
    const block = index.pool.take(size);
    links[link + BLOCK] = block;
    links[link + SIZE] = size;
    links[link + COUNT] = to - from;
    let farthest = 0;
    for (let i = from; i < to; i++) {
      const member = this.members[i] as number;
      writeVector(index.lat(member), index.lng(member), vector, 0);
      farthest = Math.max(farthest, chordSquared(vector, 0, figures, cell * CELL_STRIDE));
      index.write(cell, block + (i - from) * MEMBER_STRIDE, member, vector);
      this.countTiers(link, index.tiers(member));
    }
    const box = index.cells.box(cell);
    const radius = figures[cell * CELL_STRIDE + CELL_RADIUS] as number;
    if (farthest > radius * radius) {
      figures[cell * CELL_STRIDE + CELL_RADIUS] = withMargin(Math.sqrt(farthest));
      box.cover(withMargin(Math.sqrt(farthest)));
    }
    this.boxes[EVERY]?.push(box);
    for (let tier = 0; tier < MAX_TIERS; tier++) {
      if ((links[link + TIER_COUNTS + tier] as number) > 0) this.boxes[tier]?.push(box);
    }
  }

  private countTiers(link: number, tiers: number): void {
    const { links } = this.index.cells;
    for (let tier = 0; tier < MAX_TIERS; tier++) {
      const count = link + TIER_COUNTS + tier;
      links[count] = (links[count] as number) + ((tiers >>> tier) & 1);
    }
  }
}
