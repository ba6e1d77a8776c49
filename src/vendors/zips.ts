import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isPoint, type Point } from '../geo/point.ts';

/** The table's path, the same from `src/` and from `dist/`. */
export const ZIPS_FILE = fileURLToPath(new URL('../../dist/vendors/zips.bin', import.meta.url));

/** The centroid of a ZIP of five digits; undefined for an unknown one. */
export type ZipCentroid = (zip5: string) => Point | undefined;

/** ZIP, latitude and longitude, four bytes each, as `scripts/build-zips.mjs` writes them. */
const RECORD_BYTES = 12;
const UNITS_PER_DEGREE = 10_000;

/**
 * Loads the table of ZIP codes. The returned function finds the centroid of a five-digit ZIP, or undefined
 * for an unknown one. A centroid is kilometers off: it serves to find drivers, not a door. The data is
 * GeoNames', CC BY 4.0.
 *
 * @throws when the file is missing or is not this table
 */
export function loadZips(path: string): ZipCentroid {
  const table = readFileSync(path);
  const count = table.length / RECORD_BYTES;
  if (count === 0 || !Number.isInteger(count)) throw new Error('zips.bin is damaged: build it again');
  return (zip5) => {
    if (!/^\d{5}$/.test(zip5)) return undefined;
    const at = find(table, count, Number(zip5));
    if (at === undefined) return undefined;
    const lat = table.readInt32LE(at + 4) / UNITS_PER_DEGREE;
    const lng = table.readInt32LE(at + 8) / UNITS_PER_DEGREE;
    return isPoint(lat, lng) ? { lat, lng } : undefined;
  };
}

/** The offset of the ZIP's record, by binary search. */
function find(table: Buffer, count: number, zip: number): number | undefined {
  let low = 0;
  let high = count - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const found = table.readUInt32LE(middle * RECORD_BYTES);
    if (found === zip) return middle * RECORD_BYTES;
    if (found < zip) low = middle + 1;
    else high = middle - 1;
  }
  return undefined;
}
