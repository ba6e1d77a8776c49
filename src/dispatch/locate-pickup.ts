import { findZip, foldAddress } from '../domain/address.ts';
import type { PickupPointSource } from '../domain/order.ts';
import type { Point } from '../geo/point.ts';
import type { Places } from './places.ts';

export type LocatedPickup = { readonly point: Point; readonly source: PickupPointSource };

/**
 * Finds the pickup's point and never fails. The registered address has the registered point. For any other
 * text it is the geocoder's point, else the registered point if the ZIP code agrees, is missing or is
 * unknown, else the centroid of the ZIP code.
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
