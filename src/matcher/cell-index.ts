import RBush from 'rbush';
import { type CellPath, COARSEST, cellCentre, cellPath, childDigit, coarseCell, FINEST } from '../geo/cells.ts';
import { chordSquared, writeVector } from '../geo/point.ts';
import { CELL_MERGE_MEMBERS, CELL_SPLIT_MEMBERS } from '../limits.ts';
import {
  CELL_NEWEST,
  CELL_OLDEST,
  CELL_RADIUS,
  CELL_STRIDE,
  Cell,
  initialRadius,
  MEMBER_STAMP,
  MEMBER_STRIDE,
  MEMBER_TAG,
  TIER_BITS,
} from './cell.ts';
import { enlarged } from './enlarged.ts';

const UNKNOWN_PATH = -1;
/** What is known of a member stands in one array for all, a cache line each. */
const STATE_STRIDE = 8;
const LAT = 0;
const LNG = 1;
const STAMP = 2;
/** The path of the member's place, or `UNKNOWN_PATH` until it is asked for: H3 takes longer than all the rest. */
const PATH = 3;
/** The tiers it serves as bits; 0 while it is not in the index. */
const TIERS = 4;
/** The number of its cell and where in that cell's members it stands. */
const HOME = 5;
const OFFSET = 6;

/** What a radius that turns out too small grows by beyond what is needed, so that it does not grow with every step. */
const RADIUS_MARGIN = 1.02;

/**
 * Members (drivers, or waiting orders) at places on the globe, each serving some tiers, held for searching.
 *
 * A member is a small whole number that the owner chooses and uses again. Its place and stamp are kept whether it is in
 * the index or not; `insert` puts it in for the tiers whose bits are set, `remove` takes it out.
 *
 * Members stand in buckets, one for an H3 cell. Cells are as coarse as `COARSEST` while they hold few and are divided
 * along H3's hierarchy, down to `FINEST`, while they hold many, so a bucket is short in an empty county and in a
 * crowded street. One rbush R-tree a tier holds the cells that have a member serving it. A step within a cell writes
 * four numbers; a tree changes only when a cell gains its first or loses its last member of a tier.
 *
 * Nothing rests on the geometry of H3: a cell's circle (centre and radius) covers its members because it is made to.
 * A member stays in its cell while it is inside the circle, so one at a border does not go to and fro, and a circle
 * that proves too small grows.
 */
export class CellIndex {
  readonly trees: readonly RBush<Cell>[];
  /** See `cell.ts`. Replaced when it grows: read it anew for every search. */
  figures = new Float64Array(64 * CELL_STRIDE);
  private state = new Float64Array(64 * STATE_STRIDE);
  private readonly cells: (Cell | undefined)[] = [];
  private readonly freeCells: number[] = [];
  private readonly coarse = new Map<number, Cell>();
  private readonly vector = new Float64Array(3);

  /** An index for up to `TIER_BITS` tiers. */
  constructor(tierCount: number) {
    this.trees = Array.from({ length: tierCount }, () => new RBush<Cell>());
  }

  lat(member: number): number {
    return this.state[member * STATE_STRIDE + LAT] as number;
  }

  lng(member: number): number {
    return this.state[member * STATE_STRIDE + LNG] as number;
  }

  stamp(member: number): number {
    return this.state[member * STATE_STRIDE + STAMP] as number;
  }

  /** The tiers a member is in the index for, as bits; 0 where it is not in. */
  tiersOf(member: number): number {
    return this.state[member * STATE_STRIDE + TIERS] as number;
  }

  /** Says where a member is and since when, in milliseconds. The place must be a valid `Point`. */
  locate(member: number, lat: number, lng: number, stamp: number): void {
    const at = member * STATE_STRIDE;
    if (at >= this.state.length) this.state = enlarged(this.state, Math.ceil((member + 1) * 1.5) * STATE_STRIDE);
    const { state, vector, figures } = this;
    state[at + LAT] = lat;
    state[at + LNG] = lng;
    state[at + STAMP] = stamp;
    state[at + PATH] = UNKNOWN_PATH;
    if (state[at + TIERS] === 0) return;
    const home = state[at + HOME] as number;
    writeVector(lat, lng, vector, 0);
    const radius = figures[home * CELL_STRIDE + CELL_RADIUS] as number;
    if (chordSquared(vector, 0, figures, home * CELL_STRIDE) <= radius * radius) {
      this.write(this.cells[home] as Cell, state[at + OFFSET] as number, member);
    } else {
      this.detach(member);
      this.attach(member);
    }
  }

  /** Puts a located member in for the tiers whose bits are set (at least one). It must not be in. */
  insert(member: number, tiers: number): void {
    this.state[member * STATE_STRIDE + TIERS] = tiers;
    this.attach(member);
  }

  /** Takes a member out. It must be in. */
  remove(member: number): void {
    this.detach(member);
    this.state[member * STATE_STRIDE + TIERS] = 0;
  }

  private attach(member: number): void {
    const cell = this.leafWithRoom(member);
    writeVector(this.lat(member), this.lng(member), this.vector, 0);
    this.append(cell, member);
  }

  private detach(member: number): void {
    const at = member * STATE_STRIDE;
    const cell = this.cells[this.state[at + HOME] as number] as Cell;
    const hole = this.state[at + OFFSET] as number;
    const last = --cell.count * MEMBER_STRIDE;
    if (hole !== last) {
      const { members } = cell;
      for (let i = 0; i < MEMBER_STRIDE; i++) members[hole + i] = members[last + i] as number;
      this.state[((members[hole + MEMBER_TAG] as number) >>> TIER_BITS) * STATE_STRIDE + OFFSET] = hole;
    }
    const tiers = this.state[at + TIERS] as number;
    for (let tier = 0; tier < this.trees.length; tier++) {
      if ((tiers & (1 << tier)) === 0) continue;
      const after = (cell.tierCounts[tier] as number) - 1;
      cell.tierCounts[tier] = after;
      if (after === 0) this.trees[tier]?.remove(cell);
    }
    // Of a branch that has become sparse, one child at least is this small.
    if (cell.count * 8 <= CELL_MERGE_MEMBERS) this.tidy(cell);
  }

  /** Adds the member, whose vector stands in `this.vector`, to a leaf. */
  private append(cell: Cell, member: number): void {
    const fromCentre = chordSquared(this.vector, 0, this.figures, cell.number * CELL_STRIDE);
    const radius = this.figures[cell.number * CELL_STRIDE + CELL_RADIUS] as number;
    if (fromCentre > radius * radius) this.growRadius(cell, Math.sqrt(fromCentre) * RADIUS_MARGIN);
    const offset = cell.nextOffset();
    const at = member * STATE_STRIDE;
    this.state[at + HOME] = cell.number;
    this.state[at + OFFSET] = offset;
    this.write(cell, offset, member);
    const tiers = this.state[at + TIERS] as number;
    for (let tier = 0; tier < this.trees.length; tier++) {
      if ((tiers & (1 << tier)) === 0) continue;
      const before = cell.tierCounts[tier] as number;
      cell.tierCounts[tier] = before + 1;
      if (before === 0) this.trees[tier]?.insert(cell);
    }
  }

  /** Writes what a cell knows of a member, whose vector stands in `this.vector`. */
  private write(cell: Cell, offset: number, member: number): void {
    const { members } = cell;
    const { vector, figures, state } = this;
    const stamp = state[member * STATE_STRIDE + STAMP] as number;
    members[offset] = vector[0] as number;
    members[offset + 1] = vector[1] as number;
    members[offset + 2] = vector[2] as number;
    members[offset + MEMBER_STAMP] = stamp;
    members[offset + MEMBER_TAG] = (member << TIER_BITS) | (state[member * STATE_STRIDE + TIERS] as number);
    const at = cell.number * CELL_STRIDE;
    if (stamp < (figures[at + CELL_OLDEST] as number)) figures[at + CELL_OLDEST] = stamp;
    if (stamp > (figures[at + CELL_NEWEST] as number)) figures[at + CELL_NEWEST] = stamp;
  }

  /** The leaf that a member goes to, divided until that one has room. */
  private leafWithRoom(member: number): Cell {
    const path = this.pathOf(member);
    for (;;) {
      const cell = this.leafOf(path);
      if (cell.count < CELL_SPLIT_MEMBERS || cell.resolution === FINEST) return cell;
      this.split(cell);
    }
  }

  /** Turns a leaf into a branch. Members that had wandered over its border may go elsewhere than into its children. */
  private split(cell: Cell): void {
    const members = this.takeOut(cell);
    cell.children = new Array<Cell | undefined>(7).fill(undefined);
    this.appendAll(members, (member) => this.leafWithRoom(member));
    this.tidy(cell);
  }

  /** Turns a branch whose children are leaves into a leaf that holds all their members. */
  private merge(branch: Cell): void {
    const children = (branch.children ?? []).filter((child) => child !== undefined);
    branch.children = undefined;
    this.figures[branch.number * CELL_STRIDE + CELL_OLDEST] = Number.POSITIVE_INFINITY;
    this.figures[branch.number * CELL_STRIDE + CELL_NEWEST] = Number.NEGATIVE_INFINITY;
    for (const child of children) {
      this.appendAll(this.takeOut(child), () => branch);
      this.letGo(child);
    }
  }

  private appendAll(members: Float64Array, leafFor: (member: number) => Cell): void {
    for (let at = 0; at < members.length; at += MEMBER_STRIDE) {
      const member = (members[at + MEMBER_TAG] as number) >>> TIER_BITS;
      const cell = leafFor(member);
      this.vector.set(members.subarray(at, at + 3));
      this.append(cell, member);
    }
  }

  /** Takes a leaf out of the trees and all its members out of it. */
  private takeOut(cell: Cell): Float64Array {
    for (let tier = 0; tier < this.trees.length; tier++) {
      if ((cell.tierCounts[tier] as number) > 0) this.trees[tier]?.remove(cell);
    }
    return cell.takeMembers();
  }

  /** Joins what has become sparse around a cell, and drops it if it holds nothing. */
  private tidy(cell: Cell): void {
    let left = cell;
    let around = cell.children === undefined ? cell.parent : cell;
    for (; around !== undefined && membersBelow(around) <= CELL_MERGE_MEMBERS; around = around.parent) {
      this.merge(around);
      left = around;
    }
    if (left.children !== undefined || left.count > 0) return;
    this.letGo(left);
    if (left.parent === undefined) this.coarse.delete(coarseCell(left.path));
    else if (left.parent.children) left.parent.children[childDigit(left.path, left.resolution)] = undefined;
  }

  private letGo(cell: Cell): void {
    this.cells[cell.number] = undefined;
    this.freeCells.push(cell.number);
  }

  private pathOf(member: number): CellPath {
    const known = this.state[member * STATE_STRIDE + PATH] as number;
    if (known !== UNKNOWN_PATH) return known;
    const path = cellPath(this.lat(member), this.lng(member));
    this.state[member * STATE_STRIDE + PATH] = path;
    return path;
  }

  /** The leaf that a path ends in, made where there is none. */
  private leafOf(path: CellPath): Cell {
    let cell = this.coarse.get(coarseCell(path));
    if (cell === undefined) {
      cell = this.newCell(path, COARSEST, undefined);
      this.coarse.set(coarseCell(path), cell);
    }
    while (cell.children !== undefined) {
      const resolution = cell.resolution + 1;
      const digit = childDigit(path, resolution);
      let child: Cell | undefined = cell.children[digit];
      if (child === undefined) {
        child = this.newCell(path, resolution, cell);
        cell.children[digit] = child;
      }
      cell = child;
    }
    return cell;
  }

  private newCell(path: CellPath, resolution: number, parent: Cell | undefined): Cell {
    const number = this.freeCells.pop() ?? this.cells.length;
    const at = number * CELL_STRIDE;
    if (at === this.figures.length) this.figures = enlarged(this.figures, at * 2);
    const cell = new Cell(number, path, resolution, parent, this.trees.length);
    this.cells[number] = cell;
    const { figures } = this;
    const centre = cellCentre(path, resolution);
    const radius = initialRadius(resolution);
    writeVector(centre.lat, centre.lng, figures, at);
    figures[at + CELL_RADIUS] = radius;
    figures[at + CELL_OLDEST] = Number.POSITIVE_INFINITY;
    figures[at + CELL_NEWEST] = Number.NEGATIVE_INFINITY;
    cell.coverCircle(centre.lat, centre.lng, radius);
    return cell;
  }

  private growRadius(cell: Cell, radius: number): void {
    const inTrees = this.trees.filter((_, tier) => (cell.tierCounts[tier] as number) > 0);
    for (const tree of inTrees) tree.remove(cell);
    const centre = cellCentre(cell.path, cell.resolution);
    cell.coverCircle(centre.lat, centre.lng, radius);
    this.figures[cell.number * CELL_STRIDE + CELL_RADIUS] = radius;
    for (const tree of inTrees) tree.insert(cell);
  }
}

/** How many members the leaves of a branch hold; infinitely many where a child is a branch itself. */
function membersBelow(branch: Cell): number {
  let sum = 0;
  for (const child of branch.children ?? []) {
    if (child !== undefined) sum += child.children === undefined ? child.count : Number.POSITIVE_INFINITY;
  }
  return sum;
}
