import type { Config } from '../config.ts';
import type { Places } from '../dispatch/places.ts';
import { createGeocoder } from '../vendors/geocoder.ts';
import { loadZips, ZIPS_FILE } from '../vendors/zips.ts';

type GeocoderSetting = 'geocoderUrl' | 'geocoderInvents' | 'supportEmail';

/**
 * Opens the geocoder of the settings, if there is one, and the table of ZIP codes.
 *
 * @param timeoutMs longest wait for the geocoder; by default GEOCODER_TIMEOUT_MS, which an order can wait
 */
export function openPlaces(
  { geocoderUrl, geocoderInvents = false, supportEmail }: Pick<Config, GeocoderSetting>,
  timeoutMs?: number,
): Places {
  const options = { contact: supportEmail, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
  return {
    geocoder: geocoderUrl ? createGeocoder({ url: geocoderUrl, ...options }) : null,
    geocoderInvents,
    zips: loadZips(ZIPS_FILE),
  };
}
