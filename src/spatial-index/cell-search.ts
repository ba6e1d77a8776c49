import type { Box } from '../geo/box.ts';
import { chordToBox } from '../geo/box.ts';
import { cellPath } from '../geo/hexagons.ts';
import { chordSquared, RADIANS, writeVector } from '../geo/point.ts';
import {
  BLOCK,
  CELL_NEWEST,
  CELL_RADIUS,
  CELL_STRIDE,
  type CellBox,
  COUNT,
  COVER_RADII,
  EVERY,
  LINK_STRIDE,
  NO_CELL,
  TIER_COUNTS,
} from './cell.ts';
import type { CellIndex } from './cell-index.ts';
import { enlarged } from './enlarged.ts';
import { MEMBER_STAMP, MEMBER_STRIDE, MEMBER_TAG, memberOf } from './member-pool.ts';
import { NEIGHBOUR_CELL, NEIGHBOUR_RADIUS, NEIGHBOUR_STRIDE } from './neighbours.ts';

/** A node of rbush 4 as its `toJSON` gives it: the box of its children, which are nodes, or items in a leaf. */
type TreeNode = Box & { readonly leaf: boolean; readonly children: readonly (TreeNode | CellBox)[] };

/**
 * What a bound may be off by: chords come from vectors with an error in the 16th digit. 64 nanometers on the ground;
 * it costs looking at a cell too many, never one too few.
 */
export const CHORD_ERROR = 1e-14;

export const NO_MEMBER = -1;

/** What is searched, and the questions the search asks its owner while it runs. */
type NearestQuery = {
  /** A tier's number, or `EVERY`. */
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

type FewQuery = Omit<NearestQuery, 'precedes'>;

export type FoundMember = { readonly member: number; readonly chordSquared: number };

/**
 * Searches one index.
 *
 * The nearest member is looked for in the cell that the place lies in, then in those of its neighbours that could have a
 * nearer one. Where that cell is missing, sparse or has too many neighbours, the tree is searched: branch and bound in
 * the manner of N. Roussopoulos, S. Kelley and F. Vincent ("Nearest Neighbor Queries", SIGMOD 1995), of a node's
 * children the one first that can hold the nearest member, and none that can't beat the best so far. A node is bounded
 * by the distance to its box; a cell by the triangle inequality on chords, distance to the centre less radius. Both
 * bounds are true ones, so the answer is exact. Not reentrant: the functions of a query must not search.
 */
export class CellSearch {
  /** The squared chord to the member that `nearest` returned last. */
  chordSquared = 0;
  private readonly index: CellIndex;
  /** What is still to be entered, the nearest on top, each with its lower bound as a chord. */
  private readonly stack: (TreeNode | CellBox)[] = [];
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
    this.aim(query.lat, query.lng);
    const within = query.withinChord + CHORD_ERROR;
    this.chordSquared = within * within;
    const home = this.index.cells.leafAt(cellPath(query.lat, query.lng, this.at, 0));
    if (home === NO_CELL) return this.nearestInTree(NO_MEMBER, query);
    const best = this.nearestIn(home, NO_MEMBER, query);
    const neighbours = this.neighboursCovering(home, Math.sqrt(this.chordSquared) + CHORD_ERROR);
    return neighbours === null ? this.nearestInTree(best, query) : this.nearestAmong(neighbours, best, query);
  }

  /** The up to `count` nearest members of a tier, accepted and fresh, nearest first; equally near ones in any order. */
  nearestFew(query: FewQuery, count: number): FoundMember[] {
    const few: FoundMember[] = [];
    this.aim(query.lat, query.lng);
    const within = query.withinChord + CHORD_ERROR;
    const home = this.index.cells.leafAt(cellPath(query.lat, query.lng, this.at, 0));
    const reach = home === NO_CELL ? within : this.fewIn(home, few, count, query, within);
    const neighbours = home === NO_CELL ? null : this.neighboursCovering(home, reach);
    if (neighbours === null) this.fewInTree(few, count, query, reach, home);
    else this.fewAmong(neighbours, few, count, query, reach);
    return few;
  }

  /** Calls `visit` with every cell of a tier that may have a member within the chord of a place. */
  within(tier: number, lat: number, lng: number, chord: number, visit: (cell: number, bound: number) => void): void {
    this.aim(lat, lng);
    let height = this.pushRoot(tier, chord + CHORD_ERROR);
    while (height > 0) {
      height--;
      const item = this.stack[height] as TreeNode | CellBox;
      if (this.isCell[height] === 1) visit((item as CellBox).cell, this.bounds[height] as number);
      else height = this.pushChildren(item as TreeNode, height, chord + CHORD_ERROR);
    }
  }

  /** The neighbours of a cell, where they are remembered for all places within reach. */
  private neighboursCovering(cell: number, reach: number): Float64Array | null {
    const { neighbours } = this.index;
    const { figures } = this.index.cells;
    const at = cell * CELL_STRIDE;
    const covered = (figures[at + CELL_RADIUS] as number) * COVER_RADII;
    return Math.sqrt(chordSquared(figures, at, this.at, 0)) + reach > covered ? null : neighbours.of(cell, this.index);
  }

  private nearestAmong(neighbours: Float64Array, first: number, query: NearestQuery): number {
    const { tier, oldestStamp } = query;
    const { at } = this;
    const { figures, links } = this.index.cells;
    let best = first;
    let reach = Math.sqrt(this.chordSquared) + CHORD_ERROR;
    for (let i = 0; i < neighbours.length; i += NEIGHBOUR_STRIDE) {
      const touch = (neighbours[i + NEIGHBOUR_RADIUS] as number) + reach;
      if (chordSquared(neighbours, i, at, 0) > touch * touch) continue;
      const cell = neighbours[i + NEIGHBOUR_CELL] as number;
      if (tier !== EVERY && links[cell * LINK_STRIDE + TIER_COUNTS + tier] === 0) continue;
      if ((figures[cell * CELL_STRIDE + CELL_NEWEST] as number) < oldestStamp) continue;
      const found = this.nearestIn(cell, best, query);
      if (found === best) continue;
      best = found;
      reach = Math.sqrt(this.chordSquared) + CHORD_ERROR;
    }
    return best;
  }

  private nearestInTree(first: number, query: NearestQuery): number {
    const { stack } = this;
    let best = first;
    let reach = Math.sqrt(this.chordSquared) + CHORD_ERROR;
    let height = this.pushRoot(query.tier, reach);
    while (height > 0) {
      height--;
      if ((this.bounds[height] as number) > reach) continue;
      if (this.isCell[height] === 0) {
        height = this.pushChildren(stack[height] as TreeNode, height, reach);
        continue;
      }
      const { cell } = stack[height] as CellBox;
      if ((this.index.cells.figures[cell * CELL_STRIDE + CELL_NEWEST] as number) < query.oldestStamp) continue;
      const found = this.nearestIn(cell, best, query);
      if (found === best) continue;
      best = found;
      reach = Math.sqrt(this.chordSquared) + CHORD_ERROR;
    }
    return best;
  }

  private aim(lat: number, lng: number): void {
    writeVector(lat, lng, this.at, 0);
    this.lat = lat;
    this.lng = lng;
    this.cosLat = Math.cos(lat * RADIANS);
  }

  /** Reads a cell through and returns its member that is better than `best`, or `best`. */
  private nearestIn(cell: number, best: number, query: NearestQuery): number {
    const { pool } = this.index;
    const { links } = this.index.cells;
    const members = pool.data;
    const start = links[cell * LINK_STRIDE + BLOCK] as number;
    const end = start + (links[cell * LINK_STRIDE + COUNT] as number) * MEMBER_STRIDE;
    const bit = 1 << query.tier;
    const x = this.at[0] as number;
    const y = this.at[1] as number;
    const z = this.at[2] as number;
    let bestSquared = this.chordSquared;
    let found = best;
    for (let i = start; i < end; i += MEMBER_STRIDE) {
      const dx = (members[i] as number) - x;
      const dy = (members[i + 1] as number) - y;
      const dz = (members[i + 2] as number) - z;
      const squared = dx * dx + dy * dy + dz * dz;
      if (squared > bestSquared) continue;
      const tag = members[i + MEMBER_TAG] as number;
      if ((tag & bit) === 0) continue;
      if ((members[i + MEMBER_STAMP] as number) < query.oldestStamp) continue;
      const member = memberOf(tag);
      if (squared === bestSquared && found !== NO_MEMBER && !query.precedes(member, found)) continue;
      if (query.accepts !== undefined && !query.accepts(member)) continue;
      found = member;
      bestSquared = squared;
    }
    this.chordSquared = bestSquared;
    return found;
  }

  private fewAmong(neighbours: Float64Array, few: FoundMember[], count: number, query: FewQuery, first: number): void {
    let reach = first;
    for (let i = 0; i < neighbours.length; i += NEIGHBOUR_STRIDE) {
      const touch = (neighbours[i + NEIGHBOUR_RADIUS] as number) + reach;
      if (chordSquared(neighbours, i, this.at, 0) > touch * touch) continue;
      reach = this.fewIn(neighbours[i + NEIGHBOUR_CELL] as number, few, count, query, reach);
    }
  }

  /** Searches the tree but for the cell that was read through before. */
  private fewInTree(few: FoundMember[], count: number, query: FewQuery, first: number, home: number): void {
    let reach = first;
    let height = this.pushRoot(query.tier, reach);
    while (height > 0) {
      height--;
      if ((this.bounds[height] as number) > reach) continue;
      if (this.isCell[height] === 0) {
        height = this.pushChildren(this.stack[height] as TreeNode, height, reach);
        continue;
      }
      const { cell } = this.stack[height] as CellBox;
      if (cell !== home) reach = this.fewIn(cell, few, count, query, reach);
    }
  }

  /** Reads a cell through for members nearer than the farthest of the few; returns how far the next may be. */
  private fewIn(cell: number, few: FoundMember[], count: number, query: FewQuery, within: number): number {
    const { pool } = this.index;
    const { links, figures } = this.index.cells;
    if ((figures[cell * CELL_STRIDE + CELL_NEWEST] as number) < query.oldestStamp) return within;
    const members = pool.data;
    const start = links[cell * LINK_STRIDE + BLOCK] as number;
    const end = start + (links[cell * LINK_STRIDE + COUNT] as number) * MEMBER_STRIDE;
    const bit = 1 << query.tier;
    const x = this.at[0] as number;
    const y = this.at[1] as number;
    const z = this.at[2] as number;
    let limit = within * within;
    for (let i = start; i < end; i += MEMBER_STRIDE) {
      const dx = (members[i] as number) - x;
      const dy = (members[i + 1] as number) - y;
      const dz = (members[i + 2] as number) - z;
      const squared = dx * dx + dy * dy + dz * dz;
      if (squared > limit) continue;
      const tag = members[i + MEMBER_TAG] as number;
      if ((tag & bit) === 0 || (members[i + MEMBER_STAMP] as number) < query.oldestStamp) continue;
      const member = memberOf(tag);
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

  private pushRoot(tier: number, reach: number): number {
    return this.pushChildren(this.index.trees[tier]?.toJSON() as TreeNode, 0, reach);
  }

  /** Puts the children of a node that are within reach on the stack at `base`, the nearest on top; returns its height. */
  private pushChildren(node: TreeNode, base: number, reach: number): number {
    const { children, leaf } = node;
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
    return height;
  }

  /** No member of the cell is nearer than this; below 0 the deeper inside the cell's circle, so that one goes first. */
  private chordToCell(cell: number): number {
    const { figures } = this.index.cells;
    const at = cell * CELL_STRIDE;
    return Math.sqrt(chordSquared(figures, at, this.at, 0)) - (figures[at + CELL_RADIUS] as number);
  }

  private growStack(size: number): void {
    this.bounds = enlarged(this.bounds, size * 2);
    this.isCell = enlarged(this.isCell, size * 2);
  }
}
