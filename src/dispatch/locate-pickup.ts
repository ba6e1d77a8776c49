import { findZip, foldAddress } from '../domain/address.ts';
import type { PickupPointSource } from '../domain/order.ts';
import type { Point } from '../geo/point.ts';
import { below, GEOCODER_ACCURACY_METERS, ZIP_ACCURACY_METERS } from '../limits.ts';
import type { RetailerKey } from '../store/accounts/retailers.ts';
import type { ZipArea } from '../vendors/zips.ts';
import { findAddress, type Places } from './places.ts';

/**
 * Error assumed of a pickup that only the store's own point stands for: another place in its town. Above
 * ZIP_ACCURACY_METERS.
 */
export const FALLBACK_ACCURACY_METERS = 50_000;

below({ ZIP_ACCURACY_METERS }, { FALLBACK_ACCURACY_METERS });

/** A pickup as a point. Its door is within `accuracyMeters` of it, as far as one can tell. */
export type LocatedPickup = {
  readonly point: Point;
  readonly source: PickupPointSource;
  readonly accuracyMeters: number;
};

/**
 * Finds the pickup's point and never fails. The registered address has the registered point. For any other
 * text it is the geocoder's point, unless that says less than what follows: the registered point if the ZIP code
 * agrees, is missing or is unknown, else the centroid of the ZIP code.
 */
export async function locatePickup(
  places: Places,
  text: string,
  registered: Pick<RetailerKey, 'retailerId' | 'address' | 'point'>,
): Promise<LocatedPickup> {
  const { geocoderInvents, zips } = places;
  const zipOfStore = findZip(registered.address);
  if (foldAddress(text) === foldAddress(registered.address)) {
    const accuracyMeters = registeredAccuracy(registered.point, zips.area(zipOfStore ?? ''));
    return { point: registered.point, source: 'registered', accuracyMeters };
  }
  const answer = await findAddress(places, text, registered.retailerId);
  const zip = findZip(text);
  const area = zips.area(zip ?? '');
  const otherwise: LocatedPickup =
    area && zip !== zipOfStore
      ? { ...area, source: 'zip_centroid' }
      : { point: registered.point, source: 'registered_fallback', accuracyMeters: FALLBACK_ACCURACY_METERS };
  if (answer.kind !== 'found' || answer.accuracyMeters > otherwise.accuracyMeters) return otherwise;
  // A geocoder can take one street for another one of the town, whatever the size of the house it found.
  const least = geocoderInvents && area ? area.accuracyMeters : GEOCODER_ACCURACY_METERS;
  return { point: answer.point, source: 'geocoder', accuracyMeters: Math.max(least, answer.accuracyMeters) };
}

/** That of the ZIP where the store was registered at its centroid, else that of a geocoder. */
function registeredAccuracy({ lat, lng }: Point, area: ZipArea | undefined): number {
  const isCentroid = area?.point.lat === lat && area.point.lng === lng;
  return isCentroid ? area.accuracyMeters : GEOCODER_ACCURACY_METERS;
}
