import type { Geocoder } from '../vendors/geocoder.ts';
import type { ZipCentroid } from '../vendors/zips.ts';

/** What tells where an address is. */
export type Places = {
  /** Null where none is set. */
  readonly geocoder: Pick<Geocoder, 'geocode'> | null;
  readonly zipCentroid: ZipCentroid;
};
