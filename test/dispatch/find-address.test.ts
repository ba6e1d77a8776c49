import { expect, onTestFinished, test } from 'vitest';
import { locateDropoff } from '../../src/dispatch/locate-dropoff.ts';
import { FALLBACK_ACCURACY_METERS, locatePickup } from '../../src/dispatch/locate-pickup.ts';
import { GEOCODER_ACCURACY_METERS } from '../../src/limits.ts';
import { startGeocoderStandIn } from '../../src/sandbox/geocoder-stand-in.ts';
import { createGeocoder } from '../../src/vendors/geocoder.ts';
import { loadZips, ZIPS_FILE } from '../../src/vendors/zips.ts';

const zips = loadZips(ZIPS_FILE);
const DOOR = { city: 'San Francisco', state: 'CA', zip: '94103', line2: null };
const STORE = {
  retailerId: 'store',
  address: '1 Market St, San Francisco, CA 94105',
  point: { lat: 37.79, lng: -122.39 },
};

/** Finds as the service does, by a geocoder with the real one's faults. */
async function world() {
  const standIn = await startGeocoderStandIn({ zipCentroid: (zip5) => zips.area(zip5)?.point });
  onTestFinished(() => standIn.close());
  const places = { zips, geocoder: createGeocoder({ url: standIn.url }) };
  return {
    dropoff: async (line1: string) => (await locateDropoff(places, { ...DOOR, line1 }, 'store')).dropoff,
    pickup: (text: string) => locatePickup(places, text, STORE),
  };
}

test('a street of the same name in another town is neither a door nor a pickup', async () => {
  const { dropoff, pickup } = await world();
  expect(await dropoff('1 Other Town St')).toMatchObject({ source: 'zip_centroid' });
  expect(await pickup('1 Other Town St, San Francisco, CA 94103')).toMatchObject({ source: 'zip_centroid' });
  expect(await pickup('1 Other Town St, San Francisco, CA 94105')).toMatchObject({
    source: 'registered_fallback',
    point: STORE.point,
    accuracyMeters: FALLBACK_ACCURACY_METERS,
  });
});

test('a street and a ZIP code that are found for a house do not pass for its door', async () => {
  const { dropoff } = await world();
  expect(await dropoff('1 Street Only St')).toMatchObject({ accuracyMeters: GEOCODER_ACCURACY_METERS });
  const [found, area] = [await dropoff('1 ZIP Code Only St'), zips.area('94103')];
  expect(found?.accuracyMeters).toBeGreaterThan(GEOCODER_ACCURACY_METERS);
  expect(found?.accuracyMeters).toBeLessThanOrEqual(area?.accuracyMeters ?? 0);
});

test('a door is found whatever its flat is called, and in its country', async () => {
  const { dropoff, pickup } = await world();
  const door = await dropoff('401 Valencia St');
  expect(door).toMatchObject({ source: 'geocoder', point: { lat: 37.76655, lng: -122.42185 } });
  for (const line of ['401 Valencia St #4', '401 Valencia St, Apt 4B', '401 Valencia St Ste. 200']) {
    expect(await dropoff(line)).toEqual(door);
  }
  expect(await pickup('2000 Mission St #4, San Francisco, CA 94110')).toMatchObject({ source: 'geocoder' });
});
