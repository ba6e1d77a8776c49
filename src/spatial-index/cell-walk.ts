import { type Box, chordToBox } from '../geo/box.ts';
import { chordSquared, RADIANS } from '../geo/point.ts';
import { CELL_RADIUS, CELL_STRIDE, type CellBox, NO_CELL } from './cell.ts';
import type { CellTrees } from './cell-trees.ts';
import type { Cells } from './cells.ts';
import { enlarged } from './enlarged.ts';

/** A node of rbush 4 as `toJSON` returns it; its children are nodes, or items if it is a leaf. */
type TreeNode = Box & { readonly leaf: boolean; readonly children: readonly (TreeNode | CellBox)[] };

/**
 * A walk through the cells of a tree by branch and bound, in the manner of N. Roussopoulos, S. Kelley and F.
 * Vincent ("Nearest Neighbor Queries", SIGMOD 1995): of a node's children the nearest first, and none beyond
 * the reach, which may shrink on the way. The bound of a node is the distance to its box. The bound of a cell
 * is the distance to its centre less its radius. No member is nearer than its cell's bound, and no cell than
 * the bounds of the nodes above it.
 */
export class CellWalk {
  /** The bound of the last cell, as a chord; below 0 the deeper the place lies inside the cell's circle. */
  bound = 0;
  private readonly cells: Cells;
  private readonly trees: CellTrees;
  /** What is still to be entered, the nearest on top. */
  private readonly stack: (TreeNode | CellBox)[] = [];
  private bounds = new Float64Array(256);
  private isCell = new Uint8Array(256);
  private height = 0;
  private lat = 0;
  private lng = 0;
  private cosLat = 0;
  private vector: Float64Array = new Float64Array(3);

  constructor(cells: Cells, trees: CellTrees) {
    this.cells = cells;
    this.trees = trees;
  }

  /** Begins a walk from a place, whose unit vector is given, through the cells of a tier. */
  begin(tier: number, lat: number, lng: number, vector: Float64Array, reach: number): void {
    this.lat = lat;
    this.lng = lng;
    this.cosLat = Math.cos(lat * RADIANS);
    this.vector = vector;
    this.height = 0;
    this.push(this.trees.byTier[tier]?.toJSON() as TreeNode, reach);
  }

  /** The next cell whose bound is within reach; `NO_CELL` at the end. */
  next(reach: number): number {
    while (this.height > 0) {
      this.height--;
      const bound = this.bounds[this.height] as number;
      if (bound > reach) continue;
      const item = this.stack[this.height] as TreeNode | CellBox;
      if (this.isCell[this.height] === 1) {
        this.bound = bound;
        return (item as CellBox).cell;
      }
      this.push(item as TreeNode, reach);
    }
    return NO_CELL;
  }

  /** Puts the children of a node that are within reach on the stack. */
  private push({ children, leaf }: TreeNode, reach: number): void {
    const base = this.height;
    if (base + children.length > this.bounds.length) this.growStack(base + children.length);
    const { stack, bounds, isCell } = this;
    let height = base;
    for (let i = 0; i < children.length; i++) {
      const child = children[i] as TreeNode | CellBox;
      const bound = leaf
        ? this.chordToCell((child as CellBox).cell)
        : chordToBox(this.lat, this.lng, this.cosLat, child as TreeNode);
      if (bound > reach) continue;
      let place = height++;
      for (; place > base && (bounds[place - 1] as number) < bound; place--) {
        bounds[place] = bounds[place - 1] as number;
        stack[place] = stack[place - 1] as TreeNode | CellBox;
      }
      bounds[place] = bound;
      stack[place] = child;
    }
    for (let i = base; i < height; i++) isCell[i] = leaf ? 1 : 0;
    this.height = height;
  }

  private chordToCell(cell: number): number {
    const { figures } = this.cells;
    const at = cell * CELL_STRIDE;
    return Math.sqrt(chordSquared(figures, at, this.vector, 0)) - (figures[at + CELL_RADIUS] as number);
  }

  private growStack(size: number): void {
    this.bounds = enlarged(this.bounds, size * 2);
    this.isCell = enlarged(this.isCell, size * 2);
  }
}
