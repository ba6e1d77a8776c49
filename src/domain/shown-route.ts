import { bestRoute, type CarriedOrder, type Start, type Stop } from './route.ts';

/** Longest time for which a route that was planned is shown again. A phone tells its position about as often. */
const SHOWN_ROUTE_MS = 1_000;
/** Most routes that are kept. One of 20 orders has 7 KB, most have less. */
export const MAX_SHOWN_ROUTES = 1_000;

/** The stops of a driver, and when they were planned. */
export type ShownRoute = { readonly atMs: number; readonly stops: readonly Stop[] };

/** By what they were planned of, but for the time; the oldest ones are first. */
const shown = new Map<string, ShownRoute>();

/**
 * The best route as readers see it: at most SHOWN_ROUTE_MS old, and planned anew as soon as the driver is elsewhere or
 * anything of their orders is another. Planning a route of 20 takes 10 ms, which many readers of one driver share.
 */
export function shownRoute(start: Start, orders: readonly CarriedOrder[]): ShownRoute {
  const { from, atMs, vehicle } = start;
  const key = JSON.stringify([from?.lat, from?.lng, vehicle, orders]);
  const known = shown.get(key);
  if (known && Math.abs(atMs - known.atMs) <= SHOWN_ROUTE_MS) return known;
  const route = { atMs, stops: bestRoute(start, orders).stops };
  shown.delete(key);
  shown.set(key, route);
  const [oldest] = shown.keys();
  if (shown.size > MAX_SHOWN_ROUTES && oldest !== undefined) shown.delete(oldest);
  return route;
}
