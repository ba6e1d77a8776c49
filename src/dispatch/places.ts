import { findZip } from '../domain/address.ts';
import { GEOCODER_ACCURACY_METERS } from '../limits.ts';
import type { Geocoded, Geocoder } from '../vendors/geocoder.ts';
import { areasTouch, type ZipArea, type ZipTable } from '../vendors/zips.ts';

/** The sources of an address's point. */
export type Places = {
  /** Null if none is configured. */
  readonly geocoder: Pick<Geocoder, 'geocode'> | null;
  /** Whether the geocoder's points are made up, so that each may be anywhere in its ZIP. */
  readonly geocoderInvents?: boolean;
  readonly zips: ZipTable;
};

export type FoundAddress = ({ readonly kind: 'found' } & ZipArea) | Exclude<Geocoded, { readonly kind: 'found' }>;

/**
 * Asks the geocoder, if there is one. As not found counts what lies far from the address's ZIP code, a street of
 * the same name in another town, and what says less of the place than the ZIP code does, such as a county.
 *
 * @param caller who shares the geocoder with others, such as a store
 */
export async function findAddress({ geocoder, zips }: Places, text: string, caller: string): Promise<FoundAddress> {
  const answer = (await geocoder?.geocode(text, caller)) ?? { kind: 'not_found' };
  if (answer.kind !== 'found') return answer;
  const { point, accuracyMeters = GEOCODER_ACCURACY_METERS } = answer;
  const area = zips.area(findZip(text) ?? '');
  const found = { point, accuracyMeters };
  if (area && (accuracyMeters > area.accuracyMeters || !areasTouch(area, found))) return { kind: 'not_found' };
  return { kind: 'found', ...found };
}
