import type { CellPath } from '../geo/cells.ts';
import { cellPath } from '../geo/hexagons.ts';
import { BLOCK, CELL_EARLIEST, CELL_NEWEST, CELL_OLDEST, CELL_STRIDE, COUNT, LINK_STRIDE, SIZE } from './cell.ts';
import type { Cells } from './cells.ts';
import { enlarged } from './enlarged.ts';
import {
  capacityOf,
  MAX_MEMBERS,
  MEMBER_STAMP,
  MEMBER_STRIDE,
  MEMBER_TAG,
  MemberPool,
  memberOf,
  tagOf,
} from './member-pool.ts';

/** The state of a member stands in one array for all, a cache line each. */
export const STATE_STRIDE = 8;
export const LAT = 0;
export const LNG = 1;
export const STAMP = 2;
/** The path of the member's place, or `UNKNOWN_PATH` until a cell is looked for. */
export const PATH = 3;
/** The tiers that the member serves as bits, `EVERY_BIT` among them; 0 outside the index. */
export const TIERS = 4;
/** The member's cell, and where in the pool the member stands. */
export const HOME = 5;
export const OFFSET = 6;
/** The member's begin: a second stamp, of which a cell keeps the earliest. */
export const BEGIN = 7;

export const UNKNOWN_PATH = -1;
const NO_BLOCK = -1;

/** The state of every member, and the members of every cell side by side in the pool. */
export class Members {
  readonly pool = new MemberPool();
  /** Replaced when it grows. */
  state = new Float64Array(64 * STATE_STRIDE);
  private readonly cells: Cells;

  constructor(cells: Cells) {
    this.cells = cells;
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

  begin(member: number): number {
    return this.state[member * STATE_STRIDE + BEGIN] as number;
  }

  /** The tiers that a member serves as bits, `EVERY_BIT` among them; 0 outside the index. */
  tiers(member: number): number {
    return this.state[member * STATE_STRIDE + TIERS] as number;
  }

  /** The path of a member's place, whose unit vector is given. */
  path(member: number, vector: Float64Array): CellPath {
    const at = member * STATE_STRIDE;
    const known = this.state[at + PATH] as number;
    if (known !== UNKNOWN_PATH) return known;
    const path = cellPath(this.state[at + LAT] as number, this.state[at + LNG] as number, vector, 0);
    this.state[at + PATH] = path;
    return path;
  }

  /** Makes room for the members below `count`. */
  reserve(count: number): void {
    if (count > MAX_MEMBERS) throw new Error(`An index holds at most ${MAX_MEMBERS} members; ${count} were asked for.`);
    if (count * STATE_STRIDE > this.state.length) this.state = enlarged(this.state, count * STATE_STRIDE);
  }

  /** Makes room for one more member, and for half as many again. */
  growFor(member: number): void {
    this.reserve(Math.max(member + 1, Math.min(MAX_MEMBERS, Math.ceil((member + 1) * 1.5))));
  }

  /** Writes a member of a cell to its place in the pool. */
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
    const begin = state[at + BEGIN] as number;
    if (begin < (figures[figure + CELL_EARLIEST] as number)) figures[figure + CELL_EARLIEST] = begin;
  }

  /** Makes room for one more member of a cell and returns its place in the pool. */
  nextOffset(cell: number): number {
    const { pool } = this;
    const { links } = this.cells;
    const link = cell * LINK_STRIDE;
    const count = links[link + COUNT] as number;
    const size = links[link + SIZE] as number;
    if (size < 0 || count === capacityOf(size)) {
      const larger = pool.take(size + 1);
      const block = links[link + BLOCK] as number;
      if (count > 0) this.move(block, larger, count);
      if (size >= 0) pool.giveBack(block, size);
      links[link + BLOCK] = larger;
      links[link + SIZE] = size + 1;
    }
    links[link + COUNT] = count + 1;
    return (links[link + BLOCK] as number) + count * MEMBER_STRIDE;
  }

  private move(from: number, to: number, count: number): void {
    const { data } = this.pool;
    data.copyWithin(to, from, from + count * MEMBER_STRIDE);
    for (let offset = to; offset < to + count * MEMBER_STRIDE; offset += MEMBER_STRIDE) {
      this.state[memberOf(data[offset + MEMBER_TAG] as number) * STATE_STRIDE + OFFSET] = offset;
    }
  }

  /** Takes a member out of its cell; the cell's last member fills the hole. Returns how many are left. */
  takeOut(member: number): number {
    const at = member * STATE_STRIDE;
    const link = (this.state[at + HOME] as number) * LINK_STRIDE;
    const { links } = this.cells;
    const count = (links[link + COUNT] as number) - 1;
    links[link + COUNT] = count;
    const hole = this.state[at + OFFSET] as number;
    const last = (links[link + BLOCK] as number) + count * MEMBER_STRIDE;
    if (hole !== last) {
      const { data } = this.pool;
      for (let i = 0; i < MEMBER_STRIDE; i++) data[hole + i] = data[last + i] as number;
      this.state[memberOf(data[hole + MEMBER_TAG] as number) * STATE_STRIDE + OFFSET] = hole;
    }
    return count;
  }

  /** Takes all members out of a cell and returns a copy of them, as they stood in the pool. */
  takeOutAll(cell: number): Float64Array {
    const { links } = this.cells;
    const link = cell * LINK_STRIDE;
    const block = links[link + BLOCK] as number;
    const members = this.pool.data.slice(block, block + (links[link + COUNT] as number) * MEMBER_STRIDE);
    if ((links[link + SIZE] as number) >= 0) this.pool.giveBack(block, links[link + SIZE] as number);
    links[link + COUNT] = 0;
    links[link + SIZE] = NO_BLOCK;
    return members;
  }
}
