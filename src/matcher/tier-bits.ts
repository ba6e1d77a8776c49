import { TIER_IDS, type TierId } from '../domain/tier.ts';

/** Tiers as the matcher holds them: a number for each, and a set of them as bits. */
export const TIER_COUNT = TIER_IDS.length;

export function tierNumber(id: TierId): number {
  return TIER_IDS.indexOf(id);
}

export function tierBits(ids: readonly TierId[]): number {
  let bits = 0;
  for (const id of ids) bits |= 1 << tierNumber(id);
  return bits;
}

/** The tiers of every set, in the order of `TIER_IDS`. */
export const TIERS_OF_BITS: readonly (readonly TierId[])[] = Array.from({ length: 1 << TIER_COUNT }, (_, bits) =>
  TIER_IDS.filter((_, tier) => (bits & (1 << tier)) !== 0),
);
