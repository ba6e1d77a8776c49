import type { TierId } from '../domain/tier.ts';
import type { TierTable } from './tier-table.ts';

/**
 * The sets of tiers that drivers serve. Operators choose them, so there are few: each is held once under a
 * number, and a driver has the number of a set.
 *
 * A set keeps every tier of the driver's row. A tier that is not in the table has no bit, so its drivers are
 * not found for it; once the table has the tier, {@link renumber} gives it one.
 */
export class TierSets {
  /** By set: the tiers, their bits by the table of now, and how many of its drivers are on duty, and free. */
  readonly tierIds: (readonly TierId[])[] = [];
  readonly bits: number[] = [];
  readonly onDuty: number[] = [];
  readonly free: number[] = [];
  private readonly table: TierTable;
  private readonly numbers = new Map<string, number>();

  constructor(table: TierTable) {
    this.table = table;
  }

  /** The number of a set, which is new if no driver had it before. */
  numberOf(tierIds: readonly TierId[]): number {
    // No text of Postgres holds U+0000, so two sets never have the same key.
    const key = tierIds.join('\0');
    return this.numbers.get(key) ?? this.add(key, tierIds);
  }

  /** Computes the bits of every set again, after a tier came into the table or left it. */
  renumber(): void {
    for (const [set, tierIds] of this.tierIds.entries()) this.bits[set] = this.table.bits(tierIds);
  }

  /** Sums the counts of all sets, or of those with a tier. */
  sum(counts: readonly number[], tierId?: TierId): number {
    const bit = tierId === undefined ? undefined : this.table.bit(tierId);
    let sum = 0;
    for (let set = 0; set < counts.length; set++) {
      if (bit === undefined || ((this.bits[set] as number) & bit) !== 0) sum += counts[set] as number;
    }
    return sum;
  }

  private add(key: string, tierIds: readonly TierId[]): number {
    const set = this.tierIds.length;
    this.numbers.set(key, set);
    this.tierIds.push([...tierIds]);
    this.bits.push(this.table.bits(tierIds));
    this.onDuty.push(0);
    this.free.push(0);
    return set;
  }
}
