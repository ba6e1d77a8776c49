import RBush from 'rbush';
import { MAX_TIERS } from '../limits.ts';
import { CELL_RADIUS, CELL_STRIDE, type CellBox, EVERY, EVERY_BIT, LINK_STRIDE, lowestTier, SERVED } from './cell.ts';
import type { Cells } from './cells.ts';
import { Neighbours } from './neighbours.ts';

/** One R-tree a tier for the cells with a member that serves it, and one for all cells with members. */
export class CellTrees {
  readonly byTier: readonly RBush<CellBox>[] = Array.from({ length: EVERY + 1 }, () => new RBush<CellBox>());
  readonly neighbours: Neighbours;
  private readonly every = this.byTier[EVERY] as RBush<CellBox>;
  private readonly cells: Cells;

  constructor(cells: Cells) {
    this.cells = cells;
    this.neighbours = new Neighbours(cells, this.every);
  }

  /** Adds `by` to the counts of these tiers. A cell enters a tier's tree with its first member. */
  count(cell: number, tiers: number, by: 1 | -1): void {
    const { links, tierCounts } = this.cells;
    for (let left = tiers & ~EVERY_BIT; left !== 0; left &= left - 1) {
      const tier = lowestTier(left);
      const after = (tierCounts[cell * MAX_TIERS + tier] as number) + by;
      tierCounts[cell * MAX_TIERS + tier] = after;
      if (after === 0) {
        links[cell * LINK_STRIDE + SERVED] = (links[cell * LINK_STRIDE + SERVED] as number) & ~(1 << tier);
        this.byTier[tier]?.remove(this.cells.box(cell));
      } else if (after === 1 && by === 1) {
        links[cell * LINK_STRIDE + SERVED] = (links[cell * LINK_STRIDE + SERVED] as number) | (1 << tier);
        this.byTier[tier]?.insert(this.cells.box(cell));
      }
    }
  }

  /** Enters a cell with its first member into the tree of all cells. */
  show(cell: number): void {
    const link = cell * LINK_STRIDE + SERVED;
    this.cells.links[link] = (this.cells.links[link] as number) | EVERY_BIT;
    this.every.insert(this.cells.box(cell));
    this.neighbours.dropAround(cell);
  }

  /** Takes a cell that lost its last member out of the tree of all cells. */
  hide(cell: number): void {
    const link = cell * LINK_STRIDE + SERVED;
    this.cells.links[link] = (this.cells.links[link] as number) & ~EVERY_BIT;
    this.every.remove(this.cells.box(cell));
  }

  /** Takes a cell out of all trees and sets its counts to 0. */
  takeOut(cell: number): void {
    for (const tree of this.treesOf(cell)) tree.remove(this.cells.box(cell));
    this.cells.links[cell * LINK_STRIDE + SERVED] = 0;
    this.cells.tierCounts.fill(0, cell * MAX_TIERS, (cell + 1) * MAX_TIERS);
  }

  /** Gives a cell a larger radius. */
  growRadius(cell: number, radius: number): void {
    const inTrees = this.treesOf(cell);
    const box = this.cells.box(cell);
    for (const tree of inTrees) tree.remove(box);
    box.cover(radius);
    this.cells.figures[cell * CELL_STRIDE + CELL_RADIUS] = radius;
    for (const tree of inTrees) tree.insert(box);
    this.neighbours.dropAround(cell);
  }

  private treesOf(cell: number): RBush<CellBox>[] {
    const served = this.cells.links[cell * LINK_STRIDE + SERVED] as number;
    return this.byTier.filter((_, tier) => (served & (1 << tier)) !== 0);
  }
}
