import { describe, expect, it } from 'vitest';
import { FALLBACK_ACCURACY_METERS, locatePickup } from '../../src/dispatch/locate-pickup.ts';
import type { Places } from '../../src/dispatch/places.ts';
import { addressErrors, distanceErrors } from '../../src/dispatch/serviceable.ts';
import type { Point } from '../../src/geo/point.ts';
import { GEOCODER_ACCURACY_METERS } from '../../src/limits.ts';
import type { Geocoder } from '../../src/vendors/geocoder.ts';
import type { ZipTable } from '../../src/vendors/zips.ts';

const HERE: Point = { lat: 40, lng: -100 };
const east = (meters: number): Point => ({ lat: 40, lng: -100 + meters / 85_180 });
const areaAt = (meters: number, accuracyMeters: number) => ({ point: east(meters), accuracyMeters });
/** ZIPs by how far east of the store they are, and what one knows of them. */
const AREAS = new Map([
  ['11111', areaAt(10, 10_000)],
  ['11112', areaAt(50_900, 10_000)],
  ['11113', areaAt(51_100, 10_000)],
  ['11114', areaAt(90_000, 50_000)],
  ['22222', areaAt(3_000_000, 10_000)],
]);
const zips: ZipTable = {
  area: (zip) => AREAS.get(zip),
  areasOfPrefix: (zip) => [...AREAS].filter(([other]) => other.startsWith(zip.slice(0, 3))).map(([, area]) => area),
  inState: (zip, state) => (zip.startsWith('0') ? 'unknown' : state === 'KS' ? 'yes' : 'no'),
};
const STORE = { retailerId: 'store', address: '1 Main St, Town, KS 11111', point: HERE };
const TIER = { maxDistanceMeters: 40_000 };

async function errors(zip: string, options: { pickup?: string; state?: string; places?: Partial<Places> } = {}) {
  const { pickup = STORE.address, state = 'KS', places = {} } = options;
  const all = { geocoder: null, zips, ...places };
  return distanceErrors(all, { state, zip }, await locatePickup(all, pickup, STORE), TIER);
}
const finds = (point: Point, accuracyMeters: number): Pick<Geocoder, 'geocode'> => ({
  geocode: async () => ({ kind: 'found', point, accuracyMeters }),
});

describe('a dropoff', () => {
  it('is refused by its ZIP where it is out of reach, and not where it could be within', async () => {
    expect(await errors('11112')).toEqual([]);
    expect(await errors('11113')).toEqual([
      { field: 'dropoff_address.zip', message: 'must be within 40 km of the pickup for this delivery tier' },
    ]);
    expect(await errors('11114-0001')).toEqual([]);
    expect(await errors('22222-0001')).toHaveLength(1);
  });

  it('of a new ZIP is refused only where every ZIP of its first three digits is out of reach', async () => {
    expect(await errors('11199')).toEqual([]);
    expect(await errors('22299')).toHaveLength(1);
    expect(await errors('33399')).toEqual([]);
  });

  it.each(['AE', 'AP', 'AA', 'PR', 'VI', 'GU', 'AS', 'MP', 'FM', 'MH', 'PW', 'UM'])(
    'in %s is not judged for want of data',
    async (state) => {
      expect(await errors('22222', { state })).toEqual([]);
    },
  );

  it('counts from the point that a geocoder finds, with at least a street’s error', async () => {
    const geocoder = finds(east(11_000), 20);
    const reach = 40_000 + 10_000 + GEOCODER_ACCURACY_METERS;
    const only = (meters: number) => ({ ...zips, area: (zip: string) => (zip ? areaAt(meters, 10_000) : undefined) });
    const [far, near] = [only(11_000 + reach + 100), only(11_000 + reach - 100)];
    expect(await errors('1', { pickup: 'Pier 9', places: { geocoder, zips: far } })).toHaveLength(1);
    expect(await errors('1', { pickup: 'Pier 9', places: { geocoder, zips: near } })).toEqual([]);
    const region = finds(HERE, 200_000);
    expect(await errors('1', { pickup: 'Kansas', places: { geocoder: region, zips: far } })).toEqual([]);
  });

  it('counts from the ZIP of a pickup whose point is made up', async () => {
    const geocoder = finds(east(139_000), 20);
    const options = { pickup: '2 Main St, KS 11114', places: { geocoder } };
    expect(await errors('11113', options)).toHaveLength(1);
    expect(await errors('11113', { ...options, places: { geocoder, geocoderInvents: true } })).toEqual([]);
  });
});

describe('a pickup', () => {
  const places: Places = { geocoder: null, zips };

  it('is where the store is registered, as well as that was known', async () => {
    const { address } = STORE;
    expect(await locatePickup(places, '1 main st,  Town, ks 11111', STORE)).toMatchObject({ source: 'registered' });
    expect((await locatePickup(places, address, STORE)).accuracyMeters).toBe(GEOCODER_ACCURACY_METERS);
    const atCentroid = { ...STORE, point: east(10) };
    expect((await locatePickup(places, address, atCentroid)).accuracyMeters).toBe(10_000);
  });

  it('is not the middle of a state that a geocoder finds for want of more', async () => {
    const geocoder = finds(east(200_000), 300_000);
    expect(await locatePickup({ ...places, geocoder }, '2 Main St', STORE)).toMatchObject({ point: HERE });
  });

  it('is the centroid of another ZIP, with its error', async () => {
    const found = await locatePickup(places, '2 Main St, KS 11114', STORE);
    expect(found).toEqual({ ...areaAt(90_000, 50_000), source: 'zip_centroid' });
  });

  it.each(['2 Main St, KS 11111', '2 Main St', '2 Main St, KS 99999'])(
    'is the store’s own point for %s, with the error of a town',
    async (text) => {
      const found = await locatePickup(places, text, STORE);
      expect(found).toEqual({ point: HERE, source: 'registered_fallback', accuracyMeters: FALLBACK_ACCURACY_METERS });
    },
  );

  it('is asked for in its store’s name', async () => {
    const asked: string[] = [];
    const geocode: Geocoder['geocode'] = async (_text, caller) => {
      asked.push(caller);
      return { kind: 'busy' };
    };
    const found = await locatePickup({ geocoder: { geocode }, zips }, '2 Main St', STORE);
    expect([asked, found.source]).toEqual([['store'], 'registered_fallback']);
  });
});

describe('a ZIP code and its state', () => {
  const named = (zip: string, state: string) => addressErrors({ zips }, { zip, state }).map(({ field }) => field);
  const BOTH = ['dropoff_address.state', 'dropoff_address.zip'];

  it('are good together by the table, or refused by field', () => {
    expect(named('11111', 'KS')).toEqual([]);
    expect(named('11111-1234', 'KS')).toEqual([]);
    expect(named('11111', 'CA')).toEqual(BOTH);
    expect(named('00000', 'KS')).toEqual(['dropoff_address.zip']);
  });

  it.each([
    ['AE', '09012'],
    ['AA', '34001'],
    ['AP', '96601'],
    ['PR', '00601'],
    ['PR', '00901-1234'],
    ['VI', '00801'],
    ['GU', '96910'],
    ['MP', '96950'],
    ['AS', '96799'],
    ['PW', '96940'],
    ['FM', '96941'],
    ['MH', '96960'],
    ['UM', '96898'],
  ])('%s %s are good by the first three digits', (state, zip) => {
    expect(named(zip, state)).toEqual([]);
    expect(named('10001', state)).toEqual(BOTH);
  });
});
