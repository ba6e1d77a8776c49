import { cellPath } from '../geo/hexagons.ts';
import { chordSquared, writeVector } from '../geo/point.ts';
import {
  BLOCK,
  CELL_NEWEST,
  CELL_RADIUS,
  CELL_STRIDE,
  COUNT,
  COVER_RADII,
  LINK_STRIDE,
  NO_CELL,
  SERVED,
} from './cell.ts';
import type { CellIndex } from './cell-index.ts';
import { CellWalk } from './cell-walk.ts';
import { MEMBER_STAMP, MEMBER_STRIDE, MEMBER_TAG, memberOf } from './member-pool.ts';
import { NEIGHBOUR_CELL, NEIGHBOUR_RADIUS, NEIGHBOUR_STRIDE } from './neighbours.ts';

/**
 * The error of a bound: chords come from vectors with an error in the 16th digit. It is 64 nanometers on the
 * ground, and it makes a search read a cell too many, never one too few.
 */
export const CHORD_ERROR = 1e-14;

export const NO_MEMBER = -1;

/** What a search looks for, and what it asks its owner on the way. */
export type NearestQuery = {
  /** A tier's number, or `EVERY`. */
  readonly tier: number;
  readonly lat: number;
  readonly lng: number;
  /** The greatest distance as a chord; the caller must refuse a member that is farther by rounding. */
  readonly withinChord: number;
  /** Members with an older stamp are not found. */
  readonly oldestStamp: number;
  readonly accepts: ((member: number) => boolean) | undefined;
  /** Whether the first of two members at exactly the same distance is preferred. */
  readonly precedes: (member: number, other: number) => boolean;
};

type FewQuery = Omit<NearestQuery, 'precedes'>;

export type FoundMember = { readonly member: number; readonly chordSquared: number };

/**
 * Searches one index.
 *
 * A search for the nearest member begins in the cell that the place lies in and goes on in those of its
 * neighbours that may have a nearer one. If that cell is missing or sparse, or has too many neighbours, the
 * search walks the tree. A neighbour is bounded by the triangle inequality on chords: distance to the centre
 * less radius. All bounds are true ones, so the answer is exact. The functions of a query must not search.
 */
export class CellSearch {
  /** The squared chord to the member that `nearest` returned last. */
  chordSquared = 0;
  private readonly index: CellIndex;
  private readonly walk: CellWalk;
  /** The unit vector of the place. */
  private readonly at = new Float64Array(3);

  constructor(index: CellIndex) {
    this.index = index;
    this.walk = new CellWalk(index.cells, index.trees);
  }

  /** The nearest member of a tier that is accepted and fresh; `NO_MEMBER` if there is none. */
  nearest(query: NearestQuery): number {
    writeVector(query.lat, query.lng, this.at, 0);
    const within = query.withinChord + CHORD_ERROR;
    this.chordSquared = within * within;
    const home = this.index.cells.leafAt(cellPath(query.lat, query.lng, this.at, 0));
    if (home === NO_CELL) return this.nearestInTree(NO_MEMBER, query);
    const best = this.nearestIn(home, NO_MEMBER, query);
    const neighbours = this.neighboursCovering(home, Math.sqrt(this.chordSquared) + CHORD_ERROR);
    return neighbours === null ? this.nearestInTree(best, query) : this.nearestAmong(neighbours, best, query);
  }

  /** The up to `count` nearest members of a tier that are accepted and fresh, nearest first. */
  nearestFew(query: FewQuery, count: number): FoundMember[] {
    const few: FoundMember[] = [];
    writeVector(query.lat, query.lng, this.at, 0);
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
    const { walk } = this;
    const reach = chord + CHORD_ERROR;
    writeVector(lat, lng, this.at, 0);
    walk.begin(tier, lat, lng, this.at, reach);
    for (let cell = walk.next(reach); cell !== NO_CELL; cell = walk.next(reach)) visit(cell, walk.bound);
  }

  /** The neighbours of a cell if their list covers all places within reach. */
  private neighboursCovering(cell: number, reach: number): Float64Array | null {
    const { figures } = this.index.cells;
    const at = cell * CELL_STRIDE;
    const covered = (figures[at + CELL_RADIUS] as number) * COVER_RADII;
    return Math.sqrt(chordSquared(figures, at, this.at, 0)) + reach > covered
      ? null
      : this.index.trees.neighbours.of(cell);
  }

  private nearestAmong(neighbours: Float64Array, first: number, query: NearestQuery): number {
    const { oldestStamp } = query;
    const { at } = this;
    const { figures, links } = this.index.cells;
    const bit = 1 << query.tier;
    let best = first;
    let reach = Math.sqrt(this.chordSquared) + CHORD_ERROR;
    for (let i = 0; i < neighbours.length; i += NEIGHBOUR_STRIDE) {
      const touch = (neighbours[i + NEIGHBOUR_RADIUS] as number) + reach;
      if (chordSquared(neighbours, i, at, 0) > touch * touch) continue;
      const cell = neighbours[i + NEIGHBOUR_CELL] as number;
      if (((links[cell * LINK_STRIDE + SERVED] as number) & bit) === 0) continue;
      if ((figures[cell * CELL_STRIDE + CELL_NEWEST] as number) < oldestStamp) continue;
      const found = this.nearestIn(cell, best, query);
      if (found === best) continue;
      best = found;
      reach = Math.sqrt(this.chordSquared) + CHORD_ERROR;
    }
    return best;
  }

  private nearestInTree(first: number, query: NearestQuery): number {
    const { walk } = this;
    let best = first;
    let reach = Math.sqrt(this.chordSquared) + CHORD_ERROR;
    walk.begin(query.tier, query.lat, query.lng, this.at, reach);
    for (let cell = walk.next(reach); cell !== NO_CELL; cell = walk.next(reach)) {
      if ((this.index.cells.figures[cell * CELL_STRIDE + CELL_NEWEST] as number) < query.oldestStamp) continue;
      const found = this.nearestIn(cell, best, query);
      if (found === best) continue;
      best = found;
      reach = Math.sqrt(this.chordSquared) + CHORD_ERROR;
    }
    return best;
  }

  /** Reads a cell and returns the member of it that is better than `best`, or `best`. */
  private nearestIn(cell: number, best: number, query: NearestQuery): number {
    const { links } = this.index.cells;
    const members = this.index.members.pool.data;
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

  /** Walks the tree without the cell `home`, which was read before. */
  private fewInTree(few: FoundMember[], count: number, query: FewQuery, first: number, home: number): void {
    const { walk } = this;
    let reach = first;
    walk.begin(query.tier, query.lat, query.lng, this.at, reach);
    for (let cell = walk.next(reach); cell !== NO_CELL; cell = walk.next(reach)) {
      if (cell !== home) reach = this.fewIn(cell, few, count, query, reach);
    }
  }

  /** Reads a cell for members nearer than the farthest of the few; returns the new reach. */
  private fewIn(cell: number, few: FoundMember[], count: number, query: FewQuery, within: number): number {
    const { links, figures } = this.index.cells;
    if ((figures[cell * CELL_STRIDE + CELL_NEWEST] as number) < query.oldestStamp) return within;
    const members = this.index.members.pool.data;
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
}
