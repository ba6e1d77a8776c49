import type { Box } from '../geo/box.ts';
import { chordToBox } from '../geo/box.ts';
import { RADIANS, writeVector } from '../geo/point.ts';
import {
  CELL_NEWEST,
  CELL_RADIUS,
  CELL_STRIDE,
  type Cell,
  MEMBER_STAMP,
  MEMBER_STRIDE,
  MEMBER_TAG,
  TIER_BITS,
} from './cell.ts';
import type { CellIndex } from './cell-index.ts';

/** A node of rbush 4 as its `toJSON` gives it: the box of its children, which are nodes, or items in a leaf. */
type TreeNode = Box & { readonly leaf: boolean; readonly children: readonly (TreeNode | Cell)[] };

/**
 * What a bound may be off by: chords come from vectors with an error in the 16th digit. 64 nanometers on the ground;
 * it costs looking at a cell too many, never one too few.
 */
export const CHORD_ERROR = 1e-14;

export const NO_MEMBER = -1;

/** What is searched, and the questions the search asks its owner while it runs. */
type NearestQuery = {
  readonly tier: number;
  readonly lat: number;
  readonly lng: number;
  /** How far, as a chord; a member farther by rounding may be found and is the caller's to refuse. */
  readonly withinChord: number;
  /** Members with an older stamp are passed over. */
  readonly oldestStamp: number;
  readonly accepts: ((member: number) => boolean) | undefined;
  /** Which of two members at exactly the same distance comes first. */
  readonly precedes: (member: number, other: number) => boolean;
};

export type FoundMember = { readonly member: number; readonly chordSquared: number };

/**
 * Searches the trees of one index. Branch and bound in the manner of N. Roussopoulos, S. Kelley and F. Vincent ("Nearest
 * Neighbor Queries", SIGMOD 1995): of a node's children the one that can hold the nearest member is entered first, and
 * what can't beat the best so far is never entered. A node is bounded by the distance to its box; a cell by the
 * triangle inequality on chords, distance to the centre less radius. Both bounds are true ones, so the answer is
 * exact. Not reentrant: the functions of a query must not search.
 */
export class CellSearch {
  /** The squared chord to the member that `nearest` returned last. */
  chordSquared = 0;
  private readonly index: CellIndex;
  /** What is still to be entered, the nearest on top, each with its lower bound as a chord. */
  private readonly stack: (TreeNode | Cell)[] = [];
  private bounds = new Float64Array(256);
  private isCell = new Uint8Array(256);
  private readonly at = new Float64Array(3);
  private lat = 0;
  private lng = 0;
  private cosLat = 0;

  constructor(index: CellIndex) {
    this.index = index;
  }

  /** The member nearest to a place among those of a tier, accepted and fresh; `NO_MEMBER` where there is none. */
  nearest(query: NearestQuery): number {
    const { tier, oldestStamp } = query;
    const { stack } = this;
    this.aim(query.lat, query.lng);
    let best = NO_MEMBER;
    let reach = query.withinChord + CHORD_ERROR;
    this.chordSquared = reach * reach;
    let height = this.pushChildren(this.index.trees[tier]?.toJSON() as TreeNode, 0, reach);
    while (height > 0) {
      height--;
      if ((this.bounds[height] as number) > reach) continue;
      if (this.isCell[height] === 0) {
        height = this.pushChildren(stack[height] as TreeNode, height, reach);
        continue;
      }
      const cell = stack[height] as Cell;
      if ((this.index.figures[cell.number * CELL_STRIDE + CELL_NEWEST] as number) < oldestStamp) continue;
      const found = this.nearestIn(cell, best, query);
      if (found === best) continue;
      best = found;
      reach = Math.sqrt(this.chordSquared) + CHORD_ERROR;
    }
    return best;
  }

  /** The up to `count` nearest members of a tier, accepted and fresh, nearest first; equally near ones in any order. */
  nearestFew(query: Omit<NearestQuery, 'precedes'>, count: number): FoundMember[] {
    const { tier, oldestStamp } = query;
    const few: FoundMember[] = [];
    this.aim(query.lat, query.lng);
    let reach = query.withinChord + CHORD_ERROR;
    let height = this.pushChildren(this.index.trees[tier]?.toJSON() as TreeNode, 0, reach);
    while (height > 0) {
      height--;
      if ((this.bounds[height] as number) > reach) continue;
      if (this.isCell[height] === 0) {
        height = this.pushChildren(this.stack[height] as TreeNode, height, reach);
        continue;
      }
      const cell = this.stack[height] as Cell;
      if ((this.index.figures[cell.number * CELL_STRIDE + CELL_NEWEST] as number) < oldestStamp) continue;
      reach = this.fewIn(cell, few, count, query, reach);
    }
    return few;
  }

  /** Calls `visit` with every cell of a tier that may have a member within the chord of a place. */
  within(tier: number, lat: number, lng: number, chord: number, visit: (cell: Cell, bound: number) => void): void {
    this.aim(lat, lng);
    let height = this.pushChildren(this.index.trees[tier]?.toJSON() as TreeNode, 0, chord + CHORD_ERROR);
    while (height > 0) {
      height--;
      const item = this.stack[height] as TreeNode | Cell;
      if (this.isCell[height] === 1) visit(item as Cell, this.bounds[height] as number);
      else height = this.pushChildren(item as TreeNode, height, chord + CHORD_ERROR);
    }
  }

  private aim(lat: number, lng: number): void {
    writeVector(lat, lng, this.at, 0);
    this.lat = lat;
    this.lng = lng;
    this.cosLat = Math.cos(lat * RADIANS);
  }

  /** Reads a cell through and returns its member that is better than `best`, or `best`. */
  private nearestIn(cell: Cell, best: number, query: NearestQuery): number {
    const { members } = cell;
    const bit = 1 << query.tier;
    const x = this.at[0] as number;
    const y = this.at[1] as number;
    const z = this.at[2] as number;
    let bestSquared = this.chordSquared;
    let found = best;
    for (let i = 0, end = cell.count * MEMBER_STRIDE; i < end; i += MEMBER_STRIDE) {
      const dx = (members[i] as number) - x;
      const dy = (members[i + 1] as number) - y;
      const dz = (members[i + 2] as number) - z;
      const squared = dx * dx + dy * dy + dz * dz;
      if (squared > bestSquared) continue;
      const tag = members[i + MEMBER_TAG] as number;
      if ((tag & bit) === 0) continue;
      if ((members[i + MEMBER_STAMP] as number) < query.oldestStamp) continue;
      const member = tag >>> TIER_BITS;
      if (squared === bestSquared && found !== NO_MEMBER && !query.precedes(member, found)) continue;
      if (query.accepts !== undefined && !query.accepts(member)) continue;
      found = member;
      bestSquared = squared;
    }
    this.chordSquared = bestSquared;
    return found;
  }

  /** Reads a cell through for members nearer than the farthest of the few; returns how far the next may be. */
  private fewIn(
    cell: Cell,
    few: FoundMember[],
    count: number,
    query: Omit<NearestQuery, 'precedes'>,
    within: number,
  ): number {
    const { members } = cell;
    const bit = 1 << query.tier;
    const x = this.at[0] as number;
    const y = this.at[1] as number;
    const z = this.at[2] as number;
    let limit = within * within;
    for (let i = 0, end = cell.count * MEMBER_STRIDE; i < end; i += MEMBER_STRIDE) {
      const dx = (members[i] as number) - x;
      const dy = (members[i + 1] as number) - y;
      const dz = (members[i + 2] as number) - z;
      const squared = dx * dx + dy * dy + dz * dz;
      if (squared > limit) continue;
      const tag = members[i + MEMBER_TAG] as number;
      if ((tag & bit) === 0 || (members[i + MEMBER_STAMP] as number) < query.oldestStamp) continue;
      const member = tag >>> TIER_BITS;
      if (query.accepts !== undefined && !query.accepts(member)) continue;
      let place = few.length < count ? few.length : count - 1;
      for (; place > 0 && (few[place - 1] as FoundMember).chordSquared > squared; place--) {
        few[place] = few[place - 1] as FoundMember;
      }
      few[place] = { member, chordSquared: squared };
      if (few.length === count) limit = (few[count - 1] as FoundMember).chordSquared;
    }
    return few.length < count ? within : Math.sqrt(limit) + CHORD_ERROR;
  }

  /** Puts the children of a node that are within reach on the stack at `base`, the nearest on top; returns its height. */
  private pushChildren(node: TreeNode, base: number, reach: number): number {
    const { children, leaf } = node;
    if (base + children.length > this.bounds.length) this.growStack(base + children.length);
    const { stack, bounds, isCell } = this;
    let height = base;
    for (let i = 0; i < children.length; i++) {
      const child = children[i] as TreeNode | Cell;
      const bound = leaf
        ? this.chordToCell(child as Cell)
        : chordToBox(this.lat, this.lng, this.cosLat, child as TreeNode);
      if (bound > reach) continue;
      let place = height++;
      for (; place > base && (bounds[place - 1] as number) < bound; place--) {
        bounds[place] = bounds[place - 1] as number;
        stack[place] = stack[place - 1] as TreeNode | Cell;
      }
      bounds[place] = bound;
      stack[place] = child;
    }
    for (let i = base; i < height; i++) isCell[i] = leaf ? 1 : 0;
    return height;
  }

  /** No member of the cell is nearer than this; below 0 the deeper inside the cell's circle, so that one goes first. */
  private chordToCell(cell: Cell): number {
    const { figures } = this.index;
    const at = cell.number * CELL_STRIDE;
    const dx = (figures[at] as number) - (this.at[0] as number);
    const dy = (figures[at + 1] as number) - (this.at[1] as number);
    const dz = (figures[at + 2] as number) - (this.at[2] as number);
    return Math.sqrt(dx * dx + dy * dy + dz * dz) - (figures[at + CELL_RADIUS] as number);
  }

  private growStack(size: number): void {
    const bounds = new Float64Array(size * 2);
    bounds.set(this.bounds);
    this.bounds = bounds;
    const isCell = new Uint8Array(size * 2);
    isCell.set(this.isCell);
    this.isCell = isCell;
  }
}
