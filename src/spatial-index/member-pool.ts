import { enlarged } from './enlarged.ts';

/**
 * Members of a cell stand packed side by side, so that reading a cell through is one run over memory: unit vector, time
 * stamp, and a tag of the member's number (in all bits above) and the tiers it serves (the low `TIER_BITS`).
 */
export const MEMBER_STRIDE = 5;
export const MEMBER_STAMP = 3;
export const MEMBER_TAG = 4;
export const TIER_BITS = 4;

const FIRST_CAPACITY = 4;
/** Two sizes from one doubling to the next: 4, 6, 8, 12, 16, 24 … members. */
const SIZES = 48;

/** How many members a block of the size holds. */
export function capacityOf(size: number): number {
  return (size % 2 === 0 ? FIRST_CAPACITY : FIRST_CAPACITY * 1.5) * 2 ** (size >> 1);
}

/** The smallest size whose blocks hold `count` members. */
export function sizeFor(count: number): number {
  let size = 0;
  while (capacityOf(size) < count) size++;
  return size;
}

/** A member's number and the bits of what it serves as one whole number. */
export function tagOf(member: number, tiers: number): number {
  return member * 2 ** TIER_BITS + tiers;
}

/** The member of a tag. */
export function memberOf(tag: number): number {
  return tag >>> TIER_BITS;
}

/** One array for the members of all cells, in blocks of a few sizes; a block given back is taken again first. */
export class MemberPool {
  /** Replaced when it grows: read it anew for every search. */
  data = new Float64Array(1024 * MEMBER_STRIDE);
  private end = 0;
  private readonly spare: number[][] = Array.from({ length: SIZES }, () => []);

  /** Makes room for blocks of so many numbers in all beyond those that are taken. */
  reserve(numbers: number): void {
    if (this.end + numbers > this.data.length) this.data = enlarged(this.data, this.end + numbers);
  }

  /** Where a block of the size begins in `data`. */
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
