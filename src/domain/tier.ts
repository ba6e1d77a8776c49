import type { Cents } from './money.ts';
import type { DispatchMode } from './plan.ts';

/** The key of a row of the tier table. The table decides which tiers there are. */
export type TierId = string;

/** The tiers of the contract (part 2.4), which a store may ask for; the first migration inserts them. */
export const TIER_IDS = ['standard', 'priority', 'scheduled'] as const;
export type ContractTierId = (typeof TIER_IDS)[number];
/** The tier of an order that names none. */
export const DEFAULT_TIER: ContractTierId = 'standard';

/** A row of the tier table: what a delivery costs, how far it goes, and how it looks for a driver. */
export type Tier = {
  readonly id: TierId;
  readonly feeCents: Cents;
  readonly payoutCents: Cents;
  /** How far from the pickup a driver may be when the order is new. */
  readonly radiusMeters: number;
  /** What a minute of waiting adds to the radius, pro rata. */
  readonly radiusGrowthMetersPerMinute: number;
  readonly maxRadiusMeters: number;
  /** Largest distance from pickup to dropoff of a new order. */
  readonly maxDistanceMeters: number;
  /** A waiting order's claim on a free driver is the time that it counts as waiting × this. */
  readonly weight: number;
  /** An order that has waited this long for a driver expires. */
  readonly maxWaitSeconds: number;
  /** Where the store names no end, an order is promised so long after it may first be handed over. */
  readonly promiseMinutes: number;
  /** Who gives its waiting orders to drivers. */
  readonly dispatchMode: DispatchMode;
};

/** The tier table, by id. */
export type Tiers = ReadonlyMap<TierId, Tier>;

/** The greatest distance of a driver from the pickup, in meters. A negative wait counts as 0. */
export function radiusAfter(tier: Tier, waitedMs: number): number {
  const grown = tier.radiusMeters + (tier.radiusGrowthMetersPerMinute * Math.max(0, waitedMs)) / 60_000;
  return Math.min(grown, tier.maxRadiusMeters);
}
