import type { DropoffPoint } from '../domain/dropoff.ts';
import type { DropoffAddress } from '../domain/order.ts';
import type { Point } from '../geo/point.ts';
import { GEOCODER_ACCURACY_METERS, ZIP_ACCURACY_METERS } from '../limits.ts';

/** What a geocoder says of a dropoff; `unavailable` may answer later. */
export type DropoffAnswer =
  | { readonly kind: 'found'; readonly point: Point; readonly accuracyMeters?: number }
  | { readonly kind: 'not_found' | 'unavailable' };

/** Where the address is as far as its ZIP tells; null for an unknown ZIP. Costs a look into a table. */
export function dropoffByZip(
  { zip }: { readonly zip: string },
  zipCentroid: (zip: string) => Point | undefined,
): DropoffPoint | null {
  const point = zipCentroid(zip.slice(0, 5));
  return point ? { point, accuracyMeters: ZIP_ACCURACY_METERS, source: 'zip_centroid' } : null;
}

/**
 * Finds a dropoff's point: the geocoder, else the centroid of the ZIP, else null for unknown. A geocoder that found no
 * more than a region larger than the ZIP's is not believed over it. `again` says that asking later may tell more.
 *
 * @param geocode null where no geocoder is set
 */
export async function locateDropoff(
  address: DropoffAddress,
  geocode: ((text: string) => Promise<DropoffAnswer>) | null,
  zipCentroid: (zip: string) => Point | undefined,
): Promise<{ readonly dropoff: DropoffPoint | null; readonly again: boolean }> {
  const byZip = dropoffByZip(address, zipCentroid);
  const answer = (await geocode?.(dropoffText(address))) ?? { kind: 'not_found' };
  if (answer.kind !== 'found') return { dropoff: byZip, again: answer.kind === 'unavailable' };
  const accuracyMeters = Math.max(1, Math.ceil(answer.accuracyMeters ?? GEOCODER_ACCURACY_METERS));
  if (byZip && byZip.accuracyMeters < accuracyMeters) return { dropoff: byZip, again: false };
  return { dropoff: { point: answer.point, accuracyMeters, source: 'geocoder' }, again: false };
}

/** Without `line2`: geocoders know houses, and a flat's number only confuses them. */
function dropoffText({ line1, city, state, zip }: DropoffAddress): string {
  return `${line1}, ${city}, ${state} ${zip}`;
}
