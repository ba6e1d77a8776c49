import type { Matcher } from '../matcher/matcher.ts';
import type { KnownPosition } from './view.ts';

/** The last position of an order's driver; null where the order has no driver, or nothing is known of where they are. */
export function positionOf(matcher: Pick<Matcher, 'driver'>, driverId: string | null): KnownPosition | null {
  return driverId === null ? null : (matcher.driver(driverId)?.position ?? null);
}
