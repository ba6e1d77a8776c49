import { expect, onTestFinished, test } from 'vitest';
import { distanceMeters } from '../../src/geo/point.ts';
import { startGeocoderStandIn } from '../../src/sandbox/geocoder-stand-in.ts';
import { createGeocoder } from '../../src/vendors/geocoder.ts';
import { loadZips, ZIPS_FILE } from '../../src/vendors/zips.ts';

const zips = loadZips(ZIPS_FILE);
const zipCentroid = (zip5: string) => zips.area(zip5)?.point;

async function standIn() {
  const started = await startGeocoderStandIn({ zipCentroid });
  onTestFinished(() => started.close());
  return started;
}

test('answers the real client with a place in the ZIP, known to a house, the same for the same text', async () => {
  const { url } = await standIn();
  const first = await createGeocoder({ url }).geocode('350 5th Ave, New York, NY 10118', 'store');
  const again = await createGeocoder({ url }).geocode('350  5th ave, new york, NY 10118', 'store');
  const other = await createGeocoder({ url }).geocode('351 5th Ave, New York, NY 10118', 'store');
  if (first.kind !== 'found' || other.kind !== 'found') throw new Error('not found');
  expect(again).toEqual(first);
  expect(first.accuracyMeters).toBeLessThan(50);
  const centroid = zipCentroid('10118');
  expect(centroid && distanceMeters(first.point, centroid)).toBeLessThanOrEqual(1_200);
  expect(distanceMeters(first.point, other.point)).toBeGreaterThan(0);
});

test('knows where the door of the printed example is', async () => {
  const { url } = await standIn();
  const found = await createGeocoder({ url }).geocode('401 Valencia St, San Francisco, CA 94103', 'store');
  expect(found).toMatchObject({ kind: 'found', point: { lat: 37.76655, lng: -122.42185 } });
});

test('does not find an address without a known ZIP', async () => {
  const { url } = await standIn();
  for (const text of ['1 Nowhere Road', '1 Nowhere Road, CA 00000', '']) {
    expect(await createGeocoder({ url }).geocode(text, 'store')).toEqual({ kind: 'not_found' });
  }
});
