import type { Tier, TierId, Tiers } from '../domain/tier.ts';
import { MAX_TIERS } from '../limits.ts';

/**
 * The tier table with a number below `MAX_TIERS` for each tier, so that the bits of a number are a set of tiers.
 *
 * A tier keeps its number while its row is there. When the row goes, another tier may get the number: whoever
 * keeps numbers or bits must compute them again whenever {@link replace} returns true.
 */
export class TierTable {
  private rows: Tiers = new Map();
  private readonly numbers = new Map<TierId, number>();

  constructor(rows: Tiers) {
    this.replace(rows);
  }

  /**
   * Takes new rows. True if a tier came or went, or has another dispatch mode or weight. Throws, without effect, for
   * more than `MAX_TIERS` rows.
   */
  replace(rows: Tiers): boolean {
    if (rows.size > MAX_TIERS) {
      throw new Error(`The tier table has ${rows.size} rows, but the matcher holds at most ${MAX_TIERS} tiers.`);
    }
    const isOther = Array.from(rows.values()).some(({ id, dispatchMode, weight }) => {
      const before = this.rows.get(id);
      return before?.dispatchMode !== dispatchMode || before.weight !== weight;
    });
    this.rows = rows;
    const gone = [...this.numbers.keys()].filter((id) => !rows.has(id));
    const fresh = [...rows.keys()].filter((id) => !this.numbers.has(id));
    for (const id of gone) this.numbers.delete(id);
    for (const id of fresh) this.numbers.set(id, this.smallestFreeNumber());
    return isOther || gone.length + fresh.length > 0;
  }

  get(id: TierId): Tier | undefined {
    return this.rows.get(id);
  }

  all(): Iterable<Tier> {
    return this.rows.values();
  }

  /** A tier's number; undefined for one that is not in the table. */
  number(id: TierId): number | undefined {
    return this.numbers.get(id);
  }

  /** The bit of a tier's number; 0 for one that is not in the table, so that no set holds it. */
  bit(id: TierId): number {
    const number = this.numbers.get(id);
    return number === undefined ? 0 : 1 << number;
  }

  /** The bits of those of these tiers that are in the table. */
  bits(ids: readonly TierId[]): number {
    return ids.reduce((bits, id) => bits | this.bit(id), 0);
  }

  private smallestFreeNumber(): number {
    const taken = new Set(this.numbers.values());
    let number = 0;
    while (taken.has(number)) number++;
    return number;
  }
}
