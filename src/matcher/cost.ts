import type { Tier } from '../domain/tier.ts';
import { AGE_DECIDES_MS, WAIT_FACTOR, WAY_METERS_PER_MINUTE } from '../limits.ts';

const MINUTE_MS = 60_000;
/** Above the minutes of any way and the worth of any claim below AGE_DECIDES_MS. */
const LATE = 1_000_000;

/**
 * An order's claim on a driver in milliseconds: the time that it counts as waiting × its tier's weight. A wait
 * that has not begun counts as 0.
 */
export function claimOf(tier: Tier, waitedMs: number): number {
  return Math.max(0, waitedMs) * tier.weight;
}

/** Whether age alone decides about an order: no way is too long for it. */
export function isLate(claimMs: number): boolean {
  return claimMs >= AGE_DECIDES_MS;
}

/**
 * What it costs, in minutes, to send a driver over a distance to an order with this claim: the way, less the
 * claim × `WAIT_FACTOR`. A late order costs less than any other, and the less the stronger its claim is,
 * whatever the way. The cost never falls with the distance, and never grows with the claim.
 */
export function costOf(claimMs: number, distanceMeters: number): number {
  const claim = claimMs / MINUTE_MS;
  return isLate(claimMs) ? -LATE - claim : minutesOfWay(distanceMeters) - WAIT_FACTOR * claim;
}

/** The time of a way by the great circle. */
export function minutesOfWay(distanceMeters: number): number {
  return distanceMeters / WAY_METERS_PER_MINUTE;
}
