import type { KnownPosition } from '../domain/shown-position.ts';
import type { Matcher } from './matcher.ts';

/**
 * The last position of an order's driver; null where there is no driver, or none of their positions is known.
 */
export function positionOf(matcher: Pick<Matcher, 'driver'>, driverId: string | null): KnownPosition | null {
  return driverId === null ? null : (matcher.driver(driverId)?.position ?? null);
}
