import type { Tier } from '../domain/tier.ts';
import { atMost, WAY_METERS_PER_MINUTE } from '../limits.ts';

/**
 * Minutes of way that a minute of waiting is worth, at weight 1. From 0.3 to 0.7 the customers of public days
 * wait least (docs/performance.md).
 */
export const WAIT_FACTOR = 0.5;
/** Claim (time waited × weight) from which an order's age decides, however long the way: 2 h at weight 1. */
export const AGE_DECIDES_MS = 2 * 3_600_000;
/**
 * Steps in which it does: of orders with the same whole hours of claim the cost decides. By the exact age
 * every way would be long where most orders are old, drivers would carry a fifth less, and all would wait
 * longer, the oldest too (docs/performance.md). At most AGE_DECIDES_MS.
 */
export const AGE_STEP_MS = 3_600_000;

atMost({ AGE_STEP_MS }, { AGE_DECIDES_MS });

const MINUTE_MS = 60_000;
/** What an order's urgency takes off its cost, in minutes: above any way, which is 54,000 to the antipode. */
const URGENT = 100_000;

/**
 * An order's claim on a driver in milliseconds: the time that it counts as waiting × its tier's weight. A
 * wait that has not begun counts as 0.
 */
export function claimOf(tier: Tier, waitedMs: number): number {
  return Math.max(0, waitedMs) * tier.weight;
}

/**
 * The cost of an order for a driver, in minutes: those of the way over a distance by the great circle, less those of
 * the claim × `WAIT_FACTOR`. From AGE_DECIDES_MS on no way is too long for the greater claim, in whole AGE_STEP_MS.
 * It never falls with the distance, and never grows with the claim.
 */
export function costOf(claimMs: number, distanceMeters: number): number {
  const urgency = claimMs < AGE_DECIDES_MS ? 0 : Math.floor(claimMs / AGE_STEP_MS);
  return distanceMeters / WAY_METERS_PER_MINUTE - (WAIT_FACTOR * claimMs) / MINUTE_MS - URGENT * urgency;
}
