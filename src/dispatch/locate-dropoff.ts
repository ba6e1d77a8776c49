import type { DropoffPoint } from '../domain/dropoff.ts';
import type { DropoffAddress } from '../domain/order.ts';
import { findAddress, type Places } from './places.ts';

/** The centroid of an address's ZIP code, from memory; null for an unknown ZIP code. */
export function dropoffByZip({ zips }: Pick<Places, 'zips'>, { zip }: { readonly zip: string }): DropoffPoint | null {
  const area = zips.area(zip.slice(0, 5));
  return area ? { ...area, source: 'zip_centroid' } : null;
}

/**
 * Finds a dropoff's point: the geocoder's, else the centroid of the ZIP code, else null. `again` says why a later
 * call may find more: the geocoder is `away`, or `busy` with the many dropoffs of this store.
 */
export async function locateDropoff(
  places: Places,
  address: DropoffAddress,
  retailerId: string,
): Promise<{ readonly dropoff: DropoffPoint | null; readonly again: 'away' | 'busy' | null }> {
  const byZip = dropoffByZip(places, address);
  const answer = await findAddress(places, dropoffText(address), retailerId);
  if (answer.kind === 'busy') return { dropoff: byZip, again: 'busy' };
  if (answer.kind !== 'found') return { dropoff: byZip, again: answer.kind === 'unavailable' ? 'away' : null };
  const accuracyMeters = Math.max(1, Math.ceil(answer.accuracyMeters));
  return { dropoff: { point: answer.point, accuracyMeters, source: 'geocoder' }, again: null };
}

/** The address without `line2`: geocoders know houses, and a flat's number makes them miss the house. */
function dropoffText({ line1, city, state, zip }: DropoffAddress): string {
  return `${line1}, ${city}, ${state} ${zip}`;
}
