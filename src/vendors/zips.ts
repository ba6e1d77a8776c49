import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { distanceMeters, type Point } from '../geo/point.ts';
import { ZIP_ACCURACY_METERS } from '../limits.ts';

/** The table's path, the same from `src/` and from `dist/`. */
export const ZIPS_FILE = fileURLToPath(new URL('../../dist/vendors/zips.bin', import.meta.url));

/** The centroid of a ZIP, and how far from it the ZIP's doors are at most, as far as one can tell. */
export type ZipArea = { readonly point: Point; readonly accuracyMeters: number };

/** Whether a door may be in both areas. */
export function areasTouch(one: ZipArea, other: ZipArea): boolean {
  return distanceMeters(one.point, other.point) <= one.accuracyMeters + other.accuracyMeters;
}

/** The ZIP codes of the 50 states and DC. A ZIP is five digits as text; anything else is an unknown ZIP. */
export type ZipTable = {
  /** The area of a ZIP; undefined for an unknown one. */
  area(zip5: string): ZipArea | undefined;
  /** The areas of the known ZIPs with the same first three digits, which one sorting center serves. */
  areasOfPrefix(zip5: string): readonly ZipArea[];
  /**
   * Whether a ZIP may be in a state: it is a ZIP of that state, or its area touches that of one. An unknown ZIP
   * may be a new one, and counts by its first three digits; `unknown` where no ZIP has those.
   */
  inState(zip5: string, state: string): 'yes' | 'no' | 'unknown';
};

/** ZIP, latitude, longitude, distance to other ZIPs and state, as `scripts/build-zips.mjs` writes them. */
const RECORD_BYTES = 16;
const UNITS_PER_DEGREE = 10_000;
const METERS_PER_UNIT = 100;
const ZIPS_PER_PREFIX = 100;

/**
 * Loads the table of ZIP codes. A centroid is kilometers off: it serves to find drivers, not a door. The data
 * is GeoNames', CC BY 4.0, which knows one point and one state of a ZIP. Its accuracy is at least
 * ZIP_ACCURACY_METERS and the distance to the sixth nearest other ZIP, since the ZIPs of a desert are large.
 *
 * @throws when the file is missing or is not this table
 */
export function loadZips(path: string): ZipTable {
  const table = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  const count = table.length / RECORD_BYTES;
  if (count === 0 || !Number.isInteger(count)) throw new Error(`${path} is missing or damaged: build it again`);
  return new LoadedZips(table, count);
}

class LoadedZips implements ZipTable {
  readonly #table: Buffer;
  readonly #count: number;

  constructor(table: Buffer, count: number) {
    this.#table = table;
    this.#count = count;
  }

  area(zip5: string): ZipArea | undefined {
    const index = this.#find(zip5);
    return index === undefined ? undefined : this.#areaAt(index);
  }

  areasOfPrefix(zip5: string): readonly ZipArea[] {
    return this.#indexesOfPrefix(zip5).map((index) => this.#areaAt(index));
  }

  inState(zip5: string, state: string): 'yes' | 'no' | 'unknown' {
    const index = this.#find(zip5);
    if (index !== undefined)
      return this.#stateAt(index) === codeOf(state) || this.#reaches(index, state) ? 'yes' : 'no';
    const prefix = this.#indexesOfPrefix(zip5);
    if (prefix.length === 0) return 'unknown';
    return prefix.some((other) => this.#stateAt(other) === codeOf(state)) ? 'yes' : 'no';
  }

  /** Whether the area of this ZIP touches that of a ZIP of that state. */
  #reaches(index: number, state: string): boolean {
    const here = this.#areaAt(index);
    const code = codeOf(state);
    for (let other = 0; other < this.#count; other++) {
      if (this.#stateAt(other) !== code) continue;
      const there = this.#areaAt(other);
      if (areasTouch(here, there)) return true;
    }
    return false;
  }

  #areaAt(index: number): ZipArea {
    const lng = this.#table.readInt32LE(index * RECORD_BYTES + 8) / UNITS_PER_DEGREE;
    const spacing = this.#table.readUInt16LE(index * RECORD_BYTES + 12) * METERS_PER_UNIT;
    return {
      point: { lat: this.#latAt(index) / UNITS_PER_DEGREE, lng },
      accuracyMeters: Math.max(ZIP_ACCURACY_METERS, spacing),
    };
  }

  #latAt(index: number): number {
    return this.#table.readInt32LE(index * RECORD_BYTES + 4);
  }

  /** The letters of a state's code as a number; 0 for a military ZIP. */
  #stateAt(index: number): number {
    return this.#table.readUInt16LE(index * RECORD_BYTES + 14);
  }

  #find(zip5: string): number | undefined {
    if (!/^\d{5}$/.test(zip5)) return undefined;
    const index = this.#firstFrom(Number(zip5));
    return index < this.#count && this.#zipAt(index) === Number(zip5) ? index : undefined;
  }

  #indexesOfPrefix(zip5: string): number[] {
    if (!/^\d{5}$/.test(zip5)) return [];
    const first = Math.floor(Number(zip5) / ZIPS_PER_PREFIX) * ZIPS_PER_PREFIX;
    const [from, to] = [this.#firstFrom(first), this.#firstFrom(first + ZIPS_PER_PREFIX)];
    return Array.from({ length: to - from }, (_, i) => from + i);
  }

  /** The first record of this ZIP or a higher one, by binary search. */
  #firstFrom(zip: number): number {
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#zipAt(middle) < zip) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #zipAt(index: number): number {
    return this.#table.readUInt32LE(index * RECORD_BYTES);
  }
}

const codeOf = (state: string): number => Buffer.from(state, 'latin1').readUInt16LE();
