import type { DropoffPoint } from '../domain/dropoff.ts';
import type { DropoffAddress } from '../domain/order.ts';
import { GEOCODER_ACCURACY_METERS, ZIP_ACCURACY_METERS } from '../limits.ts';
import type { Places } from './places.ts';

/** The centroid of an address's ZIP code, from memory; null for an unknown ZIP code. */
export function dropoffByZip(
  { zipCentroid }: Pick<Places, 'zipCentroid'>,
  { zip }: { readonly zip: string },
): DropoffPoint | null {
  const point = zipCentroid(zip.slice(0, 5));
  return point ? { point, accuracyMeters: ZIP_ACCURACY_METERS, source: 'zip_centroid' } : null;
}

/**
 * Finds a dropoff's point: the geocoder's, else the centroid of the ZIP code, else null. The centroid comes
 * first if the geocoder's answer is less accurate. `again` says whether a later call may find more.
 */
export async function locateDropoff(
  places: Places,
  address: DropoffAddress,
): Promise<{ readonly dropoff: DropoffPoint | null; readonly again: boolean }> {
  const byZip = dropoffByZip(places, address);
  const answer = (await places.geocoder?.geocode(dropoffText(address))) ?? { kind: 'not_found' };
  if (answer.kind !== 'found') return { dropoff: byZip, again: answer.kind === 'unavailable' };
  const accuracyMeters = Math.max(1, Math.ceil(answer.accuracyMeters ?? GEOCODER_ACCURACY_METERS));
  if (byZip && byZip.accuracyMeters < accuracyMeters) return { dropoff: byZip, again: false };
  return { dropoff: { point: answer.point, accuracyMeters, source: 'geocoder' }, again: false };
}

/** The address without `line2`: geocoders know houses, and a flat's number makes them miss the house. */
function dropoffText({ line1, city, state, zip }: DropoffAddress): string {
  return `${line1}, ${city}, ${state} ${zip}`;
}
