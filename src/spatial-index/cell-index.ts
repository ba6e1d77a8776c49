import { FINEST } from '../geo/cells.ts';
import { chordSquared, writeVector } from '../geo/point.ts';
import { below } from '../limits.ts';
import { CELL_RADIUS, CELL_STRIDE, COUNT, EVERY_BIT, LINK_STRIDE, NO_CELL, withMargin } from './cell.ts';
import { CELL_SPLIT_MEMBERS, CellBuilder } from './cell-builder.ts';
import { CellTrees } from './cell-trees.ts';
import { Cells } from './cells.ts';
import { MEMBER_STRIDE, MEMBER_TAG, memberOf, tagOf } from './member-pool.ts';
import { BEGIN, HOME, LAT, LNG, Members, OFFSET, PATH, STAMP, STATE_STRIDE, TIERS, UNKNOWN_PATH } from './members.ts';
import { sortByPath } from './sort-by-path.ts';

/** Most members of a divided cell that is merged. Below CELL_SPLIT_MEMBERS, or cells would go to and fro. */
export const CELL_MERGE_MEMBERS = 16;

below({ CELL_MERGE_MEMBERS }, { CELL_SPLIT_MEMBERS });

/**
 * Members (drivers, or waiting orders) at places on the globe, each serving some tiers, indexed for searches.
 *
 * A member is a small whole number that the owner chooses and may use again. The index keeps the place and
 * the stamp of every member; `put` inserts a member for the tiers whose bits are set, and `remove` takes it
 * out.
 *
 * Each member stands in the bucket of an H3 cell. A cell is as coarse as `COARSEST` while it holds few
 * members and is divided along H3's hierarchy, down to `FINEST`, while it holds many, so buckets are short in
 * an empty county and in a crowded street. One R-tree a tier (rbush) holds the cells with a member that
 * serves it, and one holds every cell with members. A step within a cell writes a few numbers; a tree changes
 * only when a cell gains its first member of a tier or loses its last.
 *
 * Nothing rests on the geometry of H3: a cell's circle (centre and radius) covers its members because the
 * index makes it so. A member stays in its cell while it is inside the circle, so one near a border does not
 * change cells with every step, and a circle that is too small grows.
 *
 * A few flat arrays hold whatever a search or a step reads. With a million members, most of the time goes
 * into waiting for memory, and objects that lead to each other wait once each.
 */
export class CellIndex {
  readonly cells = new Cells();
  readonly members = new Members(this.cells);
  readonly trees = new CellTrees(this.cells);
  private readonly vector = new Float64Array(3);

  has(member: number): boolean {
    return this.members.tiers(member) !== 0;
  }

  /** Sets a member's place, which must be a valid `Point`, its stamp and its begin in milliseconds. */
  locate(member: number, lat: number, lng: number, stamp: number, begin: number = stamp): void {
    const at = member * STATE_STRIDE;
    if (at >= this.members.state.length) this.members.growFor(member);
    const { vector } = this;
    const { state } = this.members;
    const { figures } = this.cells;
    state[at + LAT] = lat;
    state[at + LNG] = lng;
    state[at + STAMP] = stamp;
    state[at + BEGIN] = begin;
    state[at + PATH] = UNKNOWN_PATH;
    if (state[at + TIERS] === 0) return;
    const home = state[at + HOME] as number;
    writeVector(lat, lng, vector, 0);
    const radius = figures[home * CELL_STRIDE + CELL_RADIUS] as number;
    if (chordSquared(vector, 0, figures, home * CELL_STRIDE) <= radius * radius) {
      this.members.write(home, state[at + OFFSET] as number, member, vector);
    } else {
      this.detach(member);
      this.attach(member);
    }
  }

  /** Inserts a located member, or changes it, for exactly the tiers whose bits are set, if any. */
  put(member: number, tiers: number): void {
    const at = member * STATE_STRIDE;
    const { state } = this.members;
    const before = state[at + TIERS] as number;
    const after = tiers | EVERY_BIT;
    if (before === after) return;
    state[at + TIERS] = after;
    if (before === 0) {
      this.attach(member);
      return;
    }
    this.members.pool.data[(state[at + OFFSET] as number) + MEMBER_TAG] = tagOf(member, after);
    const home = state[at + HOME] as number;
    this.trees.count(home, before & ~after, -1);
    this.trees.count(home, after & ~before, 1);
  }

  /**
   * Does the same for many members, each with the bits that `tiersOf` returns. Coarse cells that are new are
   * built whole (`cell-builder.ts`), so an empty index takes a small part of the time of as many `put`s.
   */
  putAll(members: readonly number[], tiersOf: (member: number) => number): void {
    const fresh: number[] = [];
    for (const member of members) {
      if (this.has(member)) {
        this.put(member, tiersOf(member));
        continue;
      }
      // The member counts as inserted from here on, so that it is not taken twice.
      this.members.state[member * STATE_STRIDE + TIERS] = tiersOf(member) | EVERY_BIT;
      fresh.push(member);
    }
    this.attachAll(Int32Array.from(fresh));
  }

  /** Takes a member out if it is in the index. */
  remove(member: number): void {
    if (!this.has(member)) return;
    this.detach(member);
    this.members.state[member * STATE_STRIDE + TIERS] = 0;
  }

  // --- Members of cells ------------------------------------------------------------------------------------

  private attach(member: number): void {
    writeVector(this.members.lat(member), this.members.lng(member), this.vector, 0);
    this.append(this.leafWithRoom(member), member);
  }

  private attachAll(members: Int32Array): void {
    const paths = new Float64Array(members.length);
    for (let i = 0; i < members.length; i++) {
      const member = members[i] as number;
      writeVector(this.members.lat(member), this.members.lng(member), this.vector, 0);
      paths[i] = this.members.path(member, this.vector);
    }
    sortByPath(paths, members);
    const builder = new CellBuilder(this, paths, members);
    const others: number[] = [];
    for (let from = 0; from < members.length; ) {
      const to = builder.endOfCoarse(from);
      if (!this.cells.hasCoarse(paths[from] as number)) builder.divide(from, to);
      else for (const member of members.subarray(from, to)) others.push(member);
      from = to;
    }
    builder.finish();
    for (const member of others) this.attach(member);
  }

  private detach(member: number): void {
    const { state } = this.members;
    const cell = state[member * STATE_STRIDE + HOME] as number;
    const left = this.members.takeOut(member);
    this.trees.count(cell, state[member * STATE_STRIDE + TIERS] as number, -1);
    if (left === 0) this.trees.hide(cell);
    // A branch that has become sparse has at least one child this small.
    if (left * 8 <= CELL_MERGE_MEMBERS) this.tidy(cell);
  }

  /** Adds a member, whose unit vector stands in `this.vector`, to a leaf. */
  private append(cell: number, member: number): void {
    const { vector } = this;
    const { figures } = this.cells;
    const fromCentre = chordSquared(vector, 0, figures, cell * CELL_STRIDE);
    const radius = figures[cell * CELL_STRIDE + CELL_RADIUS] as number;
    if (fromCentre > radius * radius) this.trees.growRadius(cell, withMargin(Math.sqrt(fromCentre)));
    this.members.write(cell, this.members.nextOffset(cell), member, vector);
    if (this.cells.links[cell * LINK_STRIDE + COUNT] === 1) this.trees.show(cell);
    this.trees.count(cell, this.members.tiers(member), 1);
  }

  private appendAll(members: Float64Array, leafFor: (member: number) => number): void {
    for (let at = 0; at < members.length; at += MEMBER_STRIDE) {
      const member = memberOf(members[at + MEMBER_TAG] as number);
      for (let axis = 0; axis < 3; axis++) this.vector[axis] = members[at + axis] as number;
      this.append(leafFor(member), member);
    }
  }

  /** Takes all members out of a leaf, and the leaf out of the trees. */
  private takeOutAll(cell: number): Float64Array {
    this.trees.takeOut(cell);
    return this.members.takeOutAll(cell);
  }

  // --- Cells -----------------------------------------------------------------------------------------------

  /** The leaf for a member. A full leaf is divided until the member's own has room. */
  private leafWithRoom(member: number): number {
    const path = this.members.path(member, this.vector);
    for (;;) {
      const cell = this.cells.leafOf(path);
      const hasRoom = this.cells.count(cell) < CELL_SPLIT_MEMBERS || this.cells.resolution(cell) === FINEST;
      if (hasRoom) return cell;
      this.split(cell);
    }
  }

  /** Turns a leaf into a branch. A member beyond the leaf's border may go to a cell beside it. */
  private split(cell: number): void {
    const current = this.vector.slice();
    const members = this.takeOutAll(cell);
    this.cells.makeBranch(cell);
    this.appendAll(members, (member) => this.leafWithRoom(member));
    this.tidy(cell);
    this.vector.set(current);
  }

  /** Turns a branch whose children are leaves into a leaf that holds all their members. */
  private merge(branch: number): void {
    const children = this.cells.childrenOf(branch);
    this.cells.makeLeaf(branch);
    for (const child of children) {
      this.appendAll(this.takeOutAll(child), () => branch);
      this.cells.forget(child);
    }
  }

  /** Merges the sparse branches above a cell, and removes what holds nothing. */
  private tidy(cell: number): void {
    const { cells } = this;
    let left = cell;
    let around = cells.isBranch(cell) ? cell : cells.parent(cell);
    while (around !== NO_CELL && cells.membersBelow(around) <= CELL_MERGE_MEMBERS) {
      this.merge(around);
      left = around;
      around = cells.parent(around);
    }
    if (cells.isBranch(left) || cells.count(left) > 0) return;
    this.takeOutAll(left);
    cells.drop(left);
  }
}
