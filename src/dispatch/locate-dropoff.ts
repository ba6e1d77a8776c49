import type { DropoffPoint } from '../domain/dropoff.ts';
import type { DropoffAddress } from '../domain/order.ts';
import { GEOCODER_ACCURACY_METERS, ZIP_ACCURACY_METERS } from '../limits.ts';
import type { Places } from './places.ts';

/** Where the address is as far as its ZIP tells; null for an unknown ZIP. Costs a look into a table. */
export function dropoffByZip(
  { zipCentroid }: Pick<Places, 'zipCentroid'>,
  { zip }: { readonly zip: string },
): DropoffPoint | null {
  const point = zipCentroid(zip.slice(0, 5));
  return point ? { point, accuracyMeters: ZIP_ACCURACY_METERS, source: 'zip_centroid' } : null;
}

/**
 * Finds a dropoff's point: the geocoder, else the centroid of the ZIP, else null for unknown. A geocoder that found no
 * more than a region larger than the ZIP's is not believed over it. `again` says that asking later may tell more.
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

/** Without `line2`: geocoders know houses, and a flat's number only confuses them. */
function dropoffText({ line1, city, state, zip }: DropoffAddress): string {
  return `${line1}, ${city}, ${state} ${zip}`;
}
