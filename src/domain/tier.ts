import type { Cents } from './money.ts';

/** The delivery tiers of the contract (part 2.4); `standard` is what a store gets when it names none. */
export const TIER_IDS = ['standard', 'priority', 'scheduled'] as const;
export type TierId = (typeof TIER_IDS)[number];
export const DEFAULT_TIER: TierId = 'standard';

/** One row of the tier table: what a delivery costs and how far and how long a driver is looked for. */
export type Tier = {
  readonly id: TierId;
  readonly feeCents: Cents;
  readonly payoutCents: Cents;
  /** How far from the pickup a driver may be when the order is new. */
  readonly radiusMeters: number;
  /** What a minute of waiting adds to the radius, pro rata. */
  readonly radiusGrowthMetersPerMinute: number;
  readonly maxRadiusMeters: number;
  /** A waiting order's claim on a free driver is its waited seconds times this. */
  readonly weight: number;
  /** An order that waited this long for a driver expires. */
  readonly maxWaitSeconds: number;
};

export type Tiers = ReadonlyMap<TierId, Tier>;

/** The radius in meters within which a driver may be, for an order that has waited `waitedMs` (negative counts as 0). */
export function radiusAfter(tier: Tier, waitedMs: number): number {
  const grown = tier.radiusMeters + (tier.radiusGrowthMetersPerMinute * Math.max(0, waitedMs)) / 60_000;
  return Math.min(grown, tier.maxRadiusMeters);
}

export function isTierId(value: unknown): value is TierId {
  return (TIER_IDS as readonly unknown[]).includes(value);
}
