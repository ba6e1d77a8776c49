import { describe, expect, it, vi } from 'vitest';
import { dropoffByZip, locateDropoff } from '../../src/dispatch/locate-dropoff.ts';
import { GEOCODER_ACCURACY_METERS, ZIP_ACCURACY_METERS } from '../../src/limits.ts';
import type { Geocoder } from '../../src/vendors/geocoder.ts';
import { NO_ZIPS } from '../harness/towns.ts';

type Answer = Awaited<ReturnType<Geocoder['geocode']>>;

const ADDRESS = { line1: '401 Valencia St', line2: 'Apt 4', city: 'San Francisco', state: 'CA', zip: '94103-1234' };
const DOOR = { lat: 37.7665, lng: -122.4219 };
const CENTROID = { lat: 37.7725, lng: -122.4147 };
const BY_ZIP = { point: CENTROID, accuracyMeters: ZIP_ACCURACY_METERS, source: 'zip_centroid' };
const AREA = { point: CENTROID, accuracyMeters: ZIP_ACCURACY_METERS };
const zips = { ...NO_ZIPS, area: (zip: string) => (zip === '94103' ? AREA : undefined) };
const located = (answer: Answer | null, zip = ADDRESS.zip) =>
  locateDropoff({ geocoder: answer && { geocode: async () => answer }, zips }, { ...ADDRESS, zip }, 'store');

describe('a dropoff', () => {
  it('has the geocoder’s point and accuracy', async () => {
    const found = await located({ kind: 'found', point: DOOR, accuracyMeters: 12.2 });
    expect(found).toEqual({ dropoff: { point: DOOR, accuracyMeters: 13, source: 'geocoder' }, again: null });
  });

  it('has a default accuracy if the geocoder gives none', async () => {
    const { dropoff } = await located({ kind: 'found', point: DOOR });
    expect(dropoff?.accuracyMeters).toBe(GEOCODER_ACCURACY_METERS);
    expect((await located({ kind: 'found', point: DOOR, accuracyMeters: 0 })).dropoff?.accuracyMeters).toBe(1);
  });

  it('is the centroid of its ZIP code if the geocoder does not find it, or if there is none', async () => {
    expect(await located({ kind: 'not_found' })).toEqual({ dropoff: BY_ZIP, again: null });
    expect(await located(null)).toEqual({ dropoff: BY_ZIP, again: null });
    expect(dropoffByZip({ zips }, { zip: '94103' })).toEqual(BY_ZIP);
    expect(ZIP_ACCURACY_METERS).toBeGreaterThanOrEqual(2_000);
  });

  it('is the centroid of its ZIP code if the geocoder finds a larger region only', async () => {
    expect((await located({ kind: 'found', point: DOOR, accuracyMeters: 400_000 })).dropoff).toEqual(BY_ZIP);
    const alone = await located({ kind: 'found', point: DOOR, accuracyMeters: 400_000 }, '00000');
    expect(alone.dropoff).toMatchObject({ source: 'geocoder', accuracyMeters: 400_000 });
  });

  it('is unknown if neither knows it', async () => {
    expect(await located({ kind: 'not_found' }, '00000')).toEqual({ dropoff: null, again: null });
    expect(dropoffByZip({ zips }, { zip: 'x' })).toBeNull();
  });

  it('is to be looked up again if the geocoder is away, or its store asks for too many at once', async () => {
    expect(await located({ kind: 'unavailable' })).toEqual({ dropoff: BY_ZIP, again: 'away' });
    expect(await located({ kind: 'busy' })).toEqual({ dropoff: BY_ZIP, again: 'busy' });
  });

  it('is looked up without its second line', async () => {
    const geocode = vi.fn(async (): Promise<Answer> => ({ kind: 'not_found' }));
    await locateDropoff({ geocoder: { geocode }, zips }, ADDRESS, 'store');
    expect(geocode).toHaveBeenCalledWith('401 Valencia St, San Francisco, CA 94103-1234', 'store');
  });
});
