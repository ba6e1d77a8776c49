import RBush from 'rbush';
import { type CellPath, FINEST } from '../geo/cells.ts';
import { cellPath } from '../geo/hexagons.ts';
import { chordSquared, writeVector } from '../geo/point.ts';
import { CELL_MERGE_MEMBERS, CELL_SPLIT_MEMBERS } from '../limits.ts';
import {
  BLOCK,
  CELL_NEWEST,
  CELL_OLDEST,
  CELL_RADIUS,
  CELL_STRIDE,
  type CellBox,
  COUNT,
  EVERY,
  LINK_STRIDE,
  MAX_TIERS,
  NO_CELL,
  SIZE,
  TIER_COUNTS,
  withMargin,
} from './cell.ts';
import { CellBuilder } from './cell-builder.ts';
import { Cells } from './cells.ts';
import { enlarged } from './enlarged.ts';
import { capacityOf, MEMBER_STAMP, MEMBER_STRIDE, MEMBER_TAG, MemberPool, memberOf, tagOf } from './member-pool.ts';
import { HOME, LAT, LNG, OFFSET, PATH, STAMP, STATE_STRIDE, TIERS, UNKNOWN_PATH } from './member-state.ts';
import { Neighbours } from './neighbours.ts';
import { sortByPath } from './sort-by-path.ts';

const EVERY_BIT = 1 << EVERY;

/**
 * Members (drivers, or waiting orders) at places on the globe, each serving some tiers, held for searching.
 *
 * A member is a small whole number that the owner chooses and uses again. Its place and stamp are kept whether it is in
 * the index or not; `put` puts it in for the tiers whose bits are set, `remove` takes it out.
 *
 * Members stand in buckets, one for an H3 cell. Cells are as coarse as `COARSEST` while they hold few and are divided
 * along H3's hierarchy, down to `FINEST`, while they hold many, so a bucket is short in an empty county and in a
 * crowded street. One rbush R-tree a tier holds the cells that have a member serving it, and one every cell. A step
 * within a cell writes a few numbers; a tree changes only when a cell gains its first or loses its last member of a tier.
 *
 * Nothing rests on the geometry of H3: a cell's circle (centre and radius) covers its members because it is made to.
 * A member stays in its cell while it is inside the circle, so one at a border does not go to and fro, and a circle
 * that proves too small grows.
 *
 * Everything that a search or a step reads stands in a few flat arrays: with a million members what costs is how often
 * the processor waits for memory, and objects that lead to each other make it wait at each.
 */
export class CellIndex {
  /** By tier, `EVERY` included. */
  readonly trees: readonly RBush<CellBox>[] = Array.from({ length: MAX_TIERS + 1 }, () => new RBush<CellBox>());
  readonly everyTree = this.trees[EVERY] as RBush<CellBox>;
  readonly neighbours = new Neighbours();
  readonly pool = new MemberPool();
  readonly cells = new Cells();
  private state = new Float64Array(64 * STATE_STRIDE);
  private readonly vector = new Float64Array(3);

  lat(member: number): number {
    return this.state[member * STATE_STRIDE + LAT] as number;
  }

  lng(member: number): number {
    return this.state[member * STATE_STRIDE + LNG] as number;
  }

  stamp(member: number): number {
    return this.state[member * STATE_STRIDE + STAMP] as number;
  }

  /** The tiers it serves as bits, and one more; 0 while it is not in the index. */
  tiers(member: number): number {
    return this.state[member * STATE_STRIDE + TIERS] as number;
  }

  has(member: number): boolean {
    return this.state[member * STATE_STRIDE + TIERS] !== 0;
  }

  /** Makes room for the members below `count`. */
  reserve(count: number): void {
    if (count * STATE_STRIDE > this.state.length) this.state = enlarged(this.state, count * STATE_STRIDE);
  }

  /** Says where a member is and since when, in milliseconds. The place must be a valid `Point`. */
  locate(member: number, lat: number, lng: number, stamp: number): void {
    const at = member * STATE_STRIDE;
    if (at >= this.state.length) this.reserve(Math.ceil((member + 1) * 1.5));
    const { state, vector } = this;
    const { figures } = this.cells;
    state[at + LAT] = lat;
    state[at + LNG] = lng;
    state[at + STAMP] = stamp;
    state[at + PATH] = UNKNOWN_PATH;
    if (state[at + TIERS] === 0) return;
    const home = state[at + HOME] as number;
    writeVector(lat, lng, vector, 0);
    const radius = figures[home * CELL_STRIDE + CELL_RADIUS] as number;
    if (chordSquared(vector, 0, figures, home * CELL_STRIDE) <= radius * radius) {
      this.write(home, state[at + OFFSET] as number, member, vector);
    } else {
      this.detach(member);
      this.attach(member);
    }
  }

  /** Has a located member in the index for exactly the tiers whose bits are set, which may be none. */
  put(member: number, tiers: number): void {
    const at = member * STATE_STRIDE;
    const before = this.state[at + TIERS] as number;
    const after = tiers | EVERY_BIT;
    if (before === after) return;
    this.state[at + TIERS] = after;
    if (before === 0) {
      this.attach(member);
      return;
    }
    this.pool.data[(this.state[at + OFFSET] as number) + MEMBER_TAG] = tagOf(member, after);
    const home = this.state[at + HOME] as number;
    this.countTiers(home, before & ~after, -1);
    this.countTiers(home, after & ~before, 1);
  }

  /**
   * The same for many, each with the bits that `tiersOf` says. Coarse cells that are not there yet are built whole
   * (`cell-builder.ts`), so an index that was empty takes a small part of the time of as many `put`s.
   */
  putAll(members: readonly number[], tiersOf: (member: number) => number): void {
    const fresh: number[] = [];
    for (const member of members) {
      if (this.has(member)) {
        this.put(member, tiersOf(member));
        continue;
      }
      // From here on it counts as in, so that it is not taken twice.
      this.state[member * STATE_STRIDE + TIERS] = tiersOf(member) | EVERY_BIT;
      fresh.push(member);
    }
    this.attachAll(Int32Array.from(fresh));
  }

  /** Takes a member out, where it is in. */
  remove(member: number): void {
    if (!this.has(member)) return;
    this.detach(member);
    this.state[member * STATE_STRIDE + TIERS] = 0;
  }

  // --- Members of cells -------------------------------------------------------------------------------------------

  private attach(member: number): void {
    writeVector(this.lat(member), this.lng(member), this.vector, 0);
    this.append(this.leafWithRoom(member), member);
  }

  private attachAll(members: Int32Array): void {
    const paths = new Float64Array(members.length);
    for (let i = 0; i < members.length; i++) {
      const member = members[i] as number;
      writeVector(this.lat(member), this.lng(member), this.vector, 0);
      paths[i] = this.pathOf(member);
    }
    sortByPath(paths, members);
    const builder = new CellBuilder(this, paths, members);
    const others: number[] = [];
    for (let from = 0; from < members.length; ) {
      const to = builder.endOfCoarse(from);
      if (this.cells.leafAt(paths[from] as number) === NO_CELL) builder.divide(from, to);
      else for (const member of members.subarray(from, to)) others.push(member);
      from = to;
    }
    builder.finish();
    for (const member of others) this.attach(member);
  }

  private detach(member: number): void {
    const at = member * STATE_STRIDE;
    const cell = this.state[at + HOME] as number;
    const link = cell * LINK_STRIDE;
    const count = (this.cells.links[link + COUNT] as number) - 1;
    this.cells.links[link + COUNT] = count;
    const hole = this.state[at + OFFSET] as number;
    const last = (this.cells.links[link + BLOCK] as number) + count * MEMBER_STRIDE;
    if (hole !== last) {
      const { data } = this.pool;
      for (let i = 0; i < MEMBER_STRIDE; i++) data[hole + i] = data[last + i] as number;
      this.state[memberOf(data[hole + MEMBER_TAG] as number) * STATE_STRIDE + OFFSET] = hole;
    }
    this.countTiers(cell, this.state[at + TIERS] as number, -1);
    if (count === 0) this.everyTree.remove(this.cells.box(cell));
    // Of a branch that has become sparse, one child at least is this small.
    if (count * 8 <= CELL_MERGE_MEMBERS) this.tidy(cell);
  }

  /** Adds a member, whose vector stands in `this.vector`, to a leaf. */
  private append(cell: number, member: number): void {
    const { vector } = this;
    const { figures } = this.cells;
    const fromCentre = chordSquared(vector, 0, figures, cell * CELL_STRIDE);
    const radius = figures[cell * CELL_STRIDE + CELL_RADIUS] as number;
    if (fromCentre > radius * radius) this.growRadius(cell, withMargin(Math.sqrt(fromCentre)));
    const offset = this.nextOffset(cell);
    this.write(cell, offset, member, vector);
    if (this.cells.links[cell * LINK_STRIDE + COUNT] === 1) this.show(cell);
    this.countTiers(cell, this.tiers(member), 1);
  }

  /** Makes room for one more member of a cell and returns where in the pool it goes. */
  private nextOffset(cell: number): number {
    const { pool } = this;
    const { links } = this.cells;
    const link = cell * LINK_STRIDE;
    const count = links[link + COUNT] as number;
    const size = links[link + SIZE] as number;
    if (size < 0 || count === capacityOf(size)) {
      const larger = pool.take(size + 1);
      const block = links[link + BLOCK] as number;
      if (count > 0) this.moveMembers(block, larger, count);
      if (size >= 0) pool.giveBack(block, size);
      links[link + BLOCK] = larger;
      links[link + SIZE] = size + 1;
    }
    links[link + COUNT] = count + 1;
    return (links[link + BLOCK] as number) + count * MEMBER_STRIDE;
  }

  private moveMembers(from: number, to: number, count: number): void {
    const { data } = this.pool;
    data.copyWithin(to, from, from + count * MEMBER_STRIDE);
    for (let offset = to; offset < to + count * MEMBER_STRIDE; offset += MEMBER_STRIDE) {
      this.state[memberOf(data[offset + MEMBER_TAG] as number) * STATE_STRIDE + OFFSET] = offset;
    }
  }

  /** Writes where a member of a cell stands in the pool, and there what the cell knows of it. */
  write(cell: number, offset: number, member: number, vector: Float64Array): void {
    const { state } = this;
    const { figures } = this.cells;
    const { data } = this.pool;
    const at = member * STATE_STRIDE;
    state[at + HOME] = cell;
    state[at + OFFSET] = offset;
    const stamp = state[at + STAMP] as number;
    data[offset] = vector[0] as number;
    data[offset + 1] = vector[1] as number;
    data[offset + 2] = vector[2] as number;
    data[offset + MEMBER_STAMP] = stamp;
    data[offset + MEMBER_TAG] = tagOf(member, state[at + TIERS] as number);
    const figure = cell * CELL_STRIDE;
    if (stamp < (figures[figure + CELL_OLDEST] as number)) figures[figure + CELL_OLDEST] = stamp;
    if (stamp > (figures[figure + CELL_NEWEST] as number)) figures[figure + CELL_NEWEST] = stamp;
  }

  /** Counts one member more or less for each of the tiers; with the first and the last the cell's tree changes. */
  private countTiers(cell: number, tiers: number, by: 1 | -1): void {
    for (let tier = 0; tier < MAX_TIERS; tier++) {
      if ((tiers & (1 << tier)) === 0) continue;
      const link = cell * LINK_STRIDE + TIER_COUNTS + tier;
      const after = (this.cells.links[link] as number) + by;
      this.cells.links[link] = after;
      if (after === 0) this.trees[tier]?.remove(this.cells.box(cell));
      else if (after === 1 && by === 1) this.trees[tier]?.insert(this.cells.box(cell));
    }
  }

  /** Takes a leaf out of the trees and all its members out of it. */
  private takeOut(cell: number): Float64Array {
    const link = cell * LINK_STRIDE;
    for (const tree of this.treesOf(cell)) tree.remove(this.cells.box(cell));
    const { pool } = this;
    const { links } = this.cells;
    const block = links[link + BLOCK] as number;
    const members = pool.data.slice(block, block + (links[link + COUNT] as number) * MEMBER_STRIDE);
    if ((links[link + SIZE] as number) >= 0) pool.giveBack(block, links[link + SIZE] as number);
    links[link + COUNT] = 0;
    links[link + SIZE] = -1;
    links.fill(0, link + TIER_COUNTS, link + TIER_COUNTS + MAX_TIERS);
    return members;
  }

  private appendAll(members: Float64Array, leafFor: (member: number) => number): void {
    for (let at = 0; at < members.length; at += MEMBER_STRIDE) {
      const member = memberOf(members[at + MEMBER_TAG] as number);
      for (let axis = 0; axis < 3; axis++) this.vector[axis] = members[at + axis] as number;
      this.append(leafFor(member), member);
    }
  }

  // --- Cells ------------------------------------------------------------------------------------------------------

  /** The leaf that a member goes to, divided until that one has room. */
  private leafWithRoom(member: number): number {
    const path = this.pathOf(member);
    for (;;) {
      const cell = this.cells.leafOf(path);
      const hasRoom = this.cells.count(cell) < CELL_SPLIT_MEMBERS || this.cells.resolution(cell) === FINEST;
      if (hasRoom) return cell;
      this.split(cell);
    }
  }

  private pathOf(member: number): CellPath {
    const at = member * STATE_STRIDE;
    const known = this.state[at + PATH] as number;
    if (known !== UNKNOWN_PATH) return known;
    const path = cellPath(this.lat(member), this.lng(member), this.vector, 0);
    this.state[at + PATH] = path;
    return path;
  }

  /** Turns a leaf into a branch. Members that had wandered over its border may go elsewhere than into its children. */
  private split(cell: number): void {
    const current = this.vector.slice();
    const members = this.takeOut(cell);
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
      this.appendAll(this.takeOut(child), () => branch);
      this.cells.forget(child);
    }
  }

  /** Joins what has become sparse around a cell, and drops it if it holds nothing. */
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
    this.takeOut(left);
    cells.drop(left);
  }

  /** Puts a cell that has got its first member where a search for anybody finds it. */
  private show(cell: number): void {
    this.everyTree.insert(this.cells.box(cell));
    this.neighbours.dropAround(cell, this);
  }

  private growRadius(cell: number, radius: number): void {
    const inTrees = this.treesOf(cell);
    const box = this.cells.box(cell);
    for (const tree of inTrees) tree.remove(box);
    box.cover(radius);
    this.cells.figures[cell * CELL_STRIDE + CELL_RADIUS] = radius;
    for (const tree of inTrees) tree.insert(box);
    this.neighbours.dropAround(cell, this);
  }

  /** The trees that a cell stands in. */
  private treesOf(cell: number): RBush<CellBox>[] {
    const link = cell * LINK_STRIDE;
    return this.trees.filter((_, tier) => {
      return (this.cells.links[link + (tier === EVERY ? COUNT : TIER_COUNTS + tier)] as number) > 0;
    });
  }
}
