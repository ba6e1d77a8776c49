import { findZip, foldAddress } from '../domain/address.ts';
import type { PickupPointSource } from '../domain/order.ts';
import type { Point } from '../geo/point.ts';

export type LocatedPickup = { readonly point: Point; readonly source: PickupPointSource };

/**
 * Finds the pickup's point without ever failing the order: the registered address by its text, else the geocoder, else
 * the registered point if the ZIP agrees or is missing or unknown, else the ZIP's centroid.
 *
 * @param geocode null when no geocoder is set; it answers null for "not found" and "not now"
 * @param zipCentroid undefined for an unknown ZIP
 */
export async function locatePickup(
  text: string,
  registered: { readonly address: string; readonly point: Point },
  geocode: ((text: string) => Promise<Point | null>) | null,
  zipCentroid: (zip: string) => Point | undefined,
): Promise<LocatedPickup> {
  if (foldAddress(text) === foldAddress(registered.address)) return { point: registered.point, source: 'registered' };
  const found = (await geocode?.(text)) ?? null;
  if (found) return { point: found, source: 'geocoder' };
  const zip = findZip(text);
  const centroid = zip === undefined || zip === findZip(registered.address) ? undefined : zipCentroid(zip);
  return centroid
    ? { point: centroid, source: 'zip_centroid' }
    : { point: registered.point, source: 'registered_fallback' };
}
