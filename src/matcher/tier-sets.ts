import type { TierId } from '../domain/tier.ts';
import { carries, type Size, type Vehicle } from '../domain/vehicle.ts';
import type { TierTable } from './tier-table.ts';

/**
 * The sets of tiers that drivers serve, each with what they drive. Operators choose them, so there are few: each
 * is held once under a number, and a driver has the number of a set.
 *
 * A set keeps every tier of the driver's row. A tier that is not in the table has no bit, so its drivers are
 * not found for it; once the table has the tier, {@link renumber} gives it one.
 */
export class TierSets {
  /** By set: the tiers, the vehicle, the bits of the tiers by the table of now, and the drivers on duty, and free. */
  readonly tierIds: (readonly TierId[])[] = [];
  private readonly vehicles: Vehicle[] = [];
  readonly bits: number[] = [];
  readonly onDuty: number[] = [];
  readonly free: number[] = [];
  private readonly table: TierTable;
  private readonly numbers = new Map<string, number>();

  constructor(table: TierTable) {
    this.table = table;
  }

  /** The number of a set, which is new if no driver had it before. */
  numberOf(tierIds: readonly TierId[], vehicle: Vehicle): number {
    // No text of Postgres holds U+0000, so two sets never have the same key.
    const key = [vehicle, ...tierIds].join('\0');
    return this.numbers.get(key) ?? this.add(key, tierIds, vehicle);
  }

  /** Computes the bits of every set again, after a tier came into the table or left it. */
  renumber(): void {
    for (const [set, tierIds] of this.tierIds.entries()) this.bits[set] = this.table.bits(tierIds);
  }

  /** Sums the counts of all sets, or of those with a tier, and with a vehicle for the size. */
  sum(counts: readonly number[], tierId?: TierId, size?: Size): number {
    const bit = tierId === undefined ? undefined : this.table.bit(tierId);
    let sum = 0;
    for (let set = 0; set < counts.length; set++) {
      if (bit !== undefined && ((this.bits[set] as number) & bit) === 0) continue;
      if (size === undefined || carries(this.vehicles[set] as Vehicle, size)) sum += counts[set] as number;
    }
    return sum;
  }

  private add(key: string, tierIds: readonly TierId[], vehicle: Vehicle): number {
    const set = this.tierIds.length;
    this.numbers.set(key, set);
    this.tierIds.push([...tierIds]);
    this.vehicles.push(vehicle);
    this.bits.push(this.table.bits(tierIds));
    this.onDuty.push(0);
    this.free.push(0);
    return set;
  }
}
