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
  MEMBER_NUMBER,
  MEMBER_STAMP,
  MEMBER_STRIDE,
} from './cell.ts';

const UNKNOWN_PATH = -1;
/** What a radius that turns out too small grows by beyond what is needed, so that it does not grow with every step. */
const RADIUS_MARGIN = 1.05;

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
  cells = new Float64Array(64 * CELL_STRIDE);
  /** The tiers each member serves, as bits; 0 while it is not in the index. */
  tiers = new Uint8Array(64);
  private lats = new Float64Array(64);
  private lngs = new Float64Array(64);
  private stamps = new Float64Array(64);
  private paths = new Float64Array(64);
  private offsets = new Int32Array(64);
  private readonly homes: (Cell | undefined)[] = [];
  private readonly coarse = new Map<number, Cell>();
  private readonly freeCells: number[] = [];
  private cellCount = 0;
  private readonly vector = new Float64Array(3);

  constructor(tierCount: number) {
    this.trees = Array.from({ length: tierCount }, () => new RBush<Cell>());
  }

  lat(member: number): number {
    return this.lats[member] as number;
  }

  lng(member: number): number {
    return this.lngs[member] as number;
  }

  stamp(member: number): number {
    return this.stamps[member] as number;
  }

  /** Says where a member is and since when, in milliseconds. The place must be a valid `Point`. */
  locate(member: number, lat: number, lng: number, stamp: number): void {
    if (member >= this.tiers.length) this.growMembers(member);
    this.lats[member] = lat;
    this.lngs[member] = lng;
    this.stamps[member] = stamp;
    this.paths[member] = UNKNOWN_PATH;
    if (this.tiers[member] === 0) return;
    const cell = this.homes[member] as Cell;
    const { vector } = this;
    writeVector(lat, lng, vector, 0);
    const radius = this.cells[cell.number * CELL_STRIDE + CELL_RADIUS] as number;
    if (chordSquared(vector, 0, this.cells, cell.number * CELL_STRIDE) <= radius * radius) {
      this.write(cell, this.offsets[member] as number, member);
    } else {
      this.detach(member);
      this.attach(member);
    }
  }

  /** Puts a located member in for the tiers whose bits are set (at least one). It must not be in. */
  insert(member: number, tiers: number): void {
    this.tiers[member] = tiers;
    this.attach(member);
  }

  /** Takes a member out. It must be in. */
  remove(member: number): void {
    this.detach(member);
    this.tiers[member] = 0;
  }

  private attach(member: number): void {
    const cell = this.leafWithRoom(member);
    writeVector(this.lats[member] as number, this.lngs[member] as number, this.vector, 0);
    this.append(cell, member);
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
    this.moveIn(members);
    this.tidy(cell);
  }

  /** Turns a branch into a leaf that holds all its members. */
  private merge(branch: Cell): void {
    const taken: Float64Array[] = [];
    const pending = [branch];
    for (let cell = pending.pop(); cell !== undefined; cell = pending.pop()) {
      for (const child of cell.children ?? []) if (child !== undefined) pending.push(child);
      if (cell.children === undefined) taken.push(this.takeOut(cell));
      if (cell !== branch) this.freeCells.push(cell.number);
    }
    branch.children = undefined;
    this.cells[branch.number * CELL_STRIDE + CELL_OLDEST] = Number.POSITIVE_INFINITY;
    this.cells[branch.number * CELL_STRIDE + CELL_NEWEST] = Number.NEGATIVE_INFINITY;
    for (const members of taken) this.moveInto(branch, members);
  }

  private moveIn(members: Float64Array): void {
    for (let at = 0; at < members.length; at += MEMBER_STRIDE) {
      const member = members[at + MEMBER_NUMBER] as number;
      const cell = this.leafWithRoom(member);
      this.vector.set(members.subarray(at, at + 3));
      this.append(cell, member);
    }
  }

  private moveInto(cell: Cell, members: Float64Array): void {
    for (let at = 0; at < members.length; at += MEMBER_STRIDE) {
      this.vector.set(members.subarray(at, at + 3));
      this.append(cell, members[at + MEMBER_NUMBER] as number);
    }
  }

  /** Empties a leaf: out of the trees, out of every count. */
  private takeOut(cell: Cell): Float64Array {
    for (let tier = 0; tier < this.trees.length; tier++) {
      if ((cell.tierCounts[tier] as number) > 0) this.trees[tier]?.remove(cell);
    }
    for (let around: Cell | undefined = cell.parent; around; around = around.parent) around.total -= cell.count;
    cell.total = 0;
    return cell.takeMembers();
  }

  private append(cell: Cell, member: number): void {
    const at = cell.number * CELL_STRIDE;
    const radius = this.cells[at + CELL_RADIUS] as number;
    const fromCentre = chordSquared(this.vector, 0, this.cells, at);
    if (fromCentre > radius * radius) this.growRadius(cell, Math.sqrt(fromCentre) * RADIUS_MARGIN);
    const offset = cell.nextOffset();
    this.homes[member] = cell;
    this.offsets[member] = offset;
    this.write(cell, offset, member);
    for (let around: Cell | undefined = cell; around; around = around.parent) around.total++;
    const tiers = this.tiers[member] as number;
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
    const { vector, cells } = this;
    const stamp = this.stamps[member] as number;
    members[offset] = vector[0] as number;
    members[offset + 1] = vector[1] as number;
    members[offset + 2] = vector[2] as number;
    members[offset + MEMBER_STAMP] = stamp;
    members[offset + MEMBER_NUMBER] = member;
    const at = cell.number * CELL_STRIDE;
    if (stamp < (cells[at + CELL_OLDEST] as number)) cells[at + CELL_OLDEST] = stamp;
    if (stamp > (cells[at + CELL_NEWEST] as number)) cells[at + CELL_NEWEST] = stamp;
  }

  private detach(member: number): void {
    const cell = this.homes[member] as Cell;
    this.homes[member] = undefined;
    const tiers = this.tiers[member] as number;
    const hole = this.offsets[member] as number;
    const last = --cell.count * MEMBER_STRIDE;
    if (hole !== last) {
      cell.members.copyWithin(hole, last, last + MEMBER_STRIDE);
      this.offsets[cell.members[hole + MEMBER_NUMBER] as number] = hole;
    }
    for (let around: Cell | undefined = cell; around; around = around.parent) around.total--;
    for (let tier = 0; tier < this.trees.length; tier++) {
      if ((tiers & (1 << tier)) === 0) continue;
      const after = (cell.tierCounts[tier] as number) - 1;
      cell.tierCounts[tier] = after;
      if (after === 0) this.trees[tier]?.remove(cell);
    }
    this.tidy(cell);
  }

  /** Joins what has become sparse around a cell that lost members, and lets go of cells that hold nothing. */
  private tidy(cell: Cell): void {
    let sparse: Cell | undefined;
    for (let around: Cell | undefined = cell; around; around = around.parent) {
      if (around.children !== undefined && around.total <= CELL_MERGE_MEMBERS) sparse = around;
    }
    if (sparse !== undefined) this.merge(sparse);
    const left = sparse ?? cell;
    if (left.total > 0) return;
    this.freeCells.push(left.number);
    if (left.parent === undefined) this.coarse.delete(coarseCell(left.path));
    else if (left.parent.children) left.parent.children[childDigit(left.path, left.resolution)] = undefined;
  }

  private pathOf(member: number): CellPath {
    const known = this.paths[member] as number;
    if (known !== UNKNOWN_PATH) return known;
    const path = cellPath(this.lats[member] as number, this.lngs[member] as number);
    this.paths[member] = path;
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
    const number = this.freeCells.pop() ?? this.cellCount++;
    const at = number * CELL_STRIDE;
    if (at === this.cells.length) this.cells = enlarged(this.cells, at * 2);
    const cell = new Cell(number, path, resolution, parent, this.trees.length);
    const centre = cellCentre(path, resolution);
    const radius = initialRadius(resolution);
    writeVector(centre.lat, centre.lng, this.cells, at);
    this.cells[at + CELL_RADIUS] = radius;
    this.cells[at + CELL_OLDEST] = Number.POSITIVE_INFINITY;
    this.cells[at + CELL_NEWEST] = Number.NEGATIVE_INFINITY;
    cell.coverCircle(centre.lat, centre.lng, radius);
    return cell;
  }

  private growRadius(cell: Cell, radius: number): void {
    const inTrees = this.trees.filter((_, tier) => (cell.tierCounts[tier] as number) > 0);
    for (const tree of inTrees) tree.remove(cell);
    const centre = cellCentre(cell.path, cell.resolution);
    cell.coverCircle(centre.lat, centre.lng, radius);
    this.cells[cell.number * CELL_STRIDE + CELL_RADIUS] = radius;
    for (const tree of inTrees) tree.insert(cell);
  }

  private growMembers(member: number): void {
    const size = Math.ceil((member + 1) * 1.5);
    this.tiers = enlarged(this.tiers, size);
    this.lats = enlarged(this.lats, size);
    this.lngs = enlarged(this.lngs, size);
    this.stamps = enlarged(this.stamps, size);
    this.paths = enlarged(this.paths, size);
    this.offsets = enlarged(this.offsets, size);
  }
}

/** A copy with room for `size` numbers. */
export function enlarged<T extends Float64Array | Int32Array | Uint8Array>(array: T, size: number): T {
  const larger = new (array.constructor as new (size: number) => T)(size);
  larger.set(array as never);
  return larger;
}
