import { radiusAfter, type Tier } from '../domain/tier.ts';
import type { WaitingOrder } from '../domain/waiting-order.ts';
import type { DriverQuery } from './driver-search.ts';

/** Since when a waiting order counts as waiting. */
export function countsFrom({ sinceMs, fairStartMs }: WaitingOrder): number {
  return fairStartMs ?? sinceMs;
}

/** The search for drivers for a waiting order: within the radius it has by now, without those it excludes. */
export function queryFor(order: WaitingOrder, tier: Tier, nowMs: number): DriverQuery {
  const { tierId, point, sinceMs, excludedDriverIds, size, dropoff, readyAtMs, deliverAfterMs } = order;
  const radiusMeters = radiusAfter(tier, nowMs - sinceMs);
  const asked = { size, dropoff, readyAtMs, deliverAfterMs };
  return { tierId, point, radiusMeters, nowMs, exclude: excludedDriverIds, ...asked };
}
