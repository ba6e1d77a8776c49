import { TIER_BITS } from './cell.ts';
import { enlarged } from './enlarged.ts';

/**
 * The members of a cell stand side by side, so that reading a cell is one run over memory. Each is a unit
 * vector, a stamp, and a tag: the member's number above the `TIER_BITS` bits of the tiers that it serves.
 */
export const MEMBER_STRIDE = 5;
export const MEMBER_STAMP = 3;
export const MEMBER_TAG = 4;

/** Most members of an index, since a tag is read as 32 bits: 8.4 million, half as many as a `Map` holds. */
export const MAX_MEMBERS = 2 ** (32 - TIER_BITS);

const FIRST_CAPACITY = 4;
/** Two sizes from one doubling to the next: 4, 6, 8, 12, 16, 24 … members. */
const SIZES = 48;

/** The number of members that a block of the size holds. */
export function capacityOf(size: number): number {
  return (size % 2 === 0 ? FIRST_CAPACITY : FIRST_CAPACITY * 1.5) * 2 ** (size >> 1);
}

/** The smallest size whose blocks hold `count` members. */
export function sizeFor(count: number): number {
  let size = 0;
  while (capacityOf(size) < count) size++;
  return size;
}

/** A member's number and the bits of its tiers as one whole number. */
export function tagOf(member: number, tiers: number): number {
  return member * 2 ** TIER_BITS + tiers;
}

/** The member of a tag. */
export function memberOf(tag: number): number {
  return tag >>> TIER_BITS;
}

/** One array for the members of all cells, in blocks of a few sizes, which are used again. */
export class MemberPool {
  /** Replaced when it grows: read it anew for every search. */
  data = new Float64Array(1024 * MEMBER_STRIDE);
  private end = 0;
  private readonly spare: number[][] = Array.from({ length: SIZES }, () => []);

  /** Makes room for blocks of `numbers` numbers in all beyond those that are taken. */
  reserve(numbers: number): void {
    if (this.end + numbers > this.data.length) this.data = enlarged(this.data, this.end + numbers);
  }

  /** Returns where a block of the size begins in `data`. */
  take(size: number): number {
    const spare = this.spare[size]?.pop();
    if (spare !== undefined) return spare;
    const block = this.end;
    this.end += capacityOf(size) * MEMBER_STRIDE;
    if (this.end > this.data.length) this.data = enlarged(this.data, Math.ceil(this.end * 1.5));
    return block;
  }

  giveBack(block: number, size: number): void {
    this.spare[size]?.push(block);
  }
}
