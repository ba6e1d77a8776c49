import { findZip, foldAddress } from '../domain/address.ts';
import type { PickupPointSource } from '../domain/order.ts';
import type { Point } from '../geo/point.ts';
import type { Places } from './places.ts';

export type LocatedPickup = { readonly point: Point; readonly source: PickupPointSource };

/**
 * Finds the pickup's point without ever failing the order: the registered address by its text, else the geocoder, else
 * the registered point if the ZIP agrees or is missing or unknown, else the ZIP's centroid.
 */
export async function locatePickup(
  { geocoder, zipCentroid }: Places,
  text: string,
  registered: { readonly address: string; readonly point: Point },
): Promise<LocatedPickup> {
  if (foldAddress(text) === foldAddress(registered.address)) return { point: registered.point, source: 'registered' };
  const answer = await geocoder?.geocode(text);
  if (answer?.kind === 'found') return { point: answer.point, source: 'geocoder' };
  const zip = findZip(text);
  const centroid = zip === undefined || zip === findZip(registered.address) ? undefined : zipCentroid(zip);
  return centroid
    ? { point: centroid, source: 'zip_centroid' }
    : { point: registered.point, source: 'registered_fallback' };
}
