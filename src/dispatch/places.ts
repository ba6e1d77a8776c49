import type { Geocoder } from '../vendors/geocoder.ts';
import type { ZipTable } from '../vendors/zips.ts';

/** The sources of an address's point. */
export type Places = {
  /** Null if none is configured. */
  readonly geocoder: Pick<Geocoder, 'geocode'> | null;
  /** Whether the geocoder's points are made up, so that each may be anywhere in its ZIP. */
  readonly geocoderInvents?: boolean;
  readonly zips: ZipTable;
};
