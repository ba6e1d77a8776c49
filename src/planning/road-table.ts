import { EARTH_RADIUS_METERS } from '../geo/point.ts';
import type { Place } from '../planner/place.ts';

/**
 * Edge in meters of the cells by which roads are kept: narrower than the rivers and railways of which a cell
 * would have both sides, and half a minute of a car.
 */
const ROAD_CELL_METERS = 200;

/** Of a way of which nothing is known. */
export const UNKNOWN = -(2 ** 31);

/** Cells on the Earth's radius. */
const CELLS = EARTH_RADIUS_METERS / ROAD_CELL_METERS;
/** Slots that a way may be in. */
const WAYS_PER_BUCKET = 8;
/** The cells of a way in three numbers, the meters, and when they were set. */
const FIGURES = 5;
const BUCKET = WAYS_PER_BUCKET * FIGURES;

/**
 * How many meters of road a way has beyond the model's, by the cells of its ends. It takes the same memory
 * however many ways are set: a bucket that is full loses its oldest way.
 *
 * A cell is a cube of a grid through the globe, in which the unit vector of a place lies. The planner asks
 * for ways some million times a pass, and a cube takes three multiplications, where the H3 cell would have to
 * be kept with each place (`latLngToCell` takes 1.4 µs, and a `WeakMap` of places 15 ns a look).
 */
export class RoadTable {
  readonly #figures: Int32Array;
  readonly #lastBucket: number;
  #freshFrom = 1;

  /** @param most ways that are kept; a power of two, at least 8 */
  constructor(most: number) {
    this.#figures = new Int32Array(most * FIGURES);
    this.#lastBucket = most / WAYS_PER_BUCKET - 1;
  }

  /** `UNKNOWN`, or the meters beyond the model's; 0 within a cell. */
  get(from: Place, to: Place): number {
    const high = highOf(from, to);
    const fromLow = lowOf(from);
    const toLow = lowOf(to);
    if (fromLow === toLow && high >>> 16 === (high & 0xffff)) return 0;
    const figures = this.#figures;
    let at = bucketOf(high, fromLow, toLow) & this.#lastBucket;
    at *= BUCKET;
    for (const end = at + BUCKET; at < end; at += FIGURES) {
      if (figures[at] === fromLow && figures[at + 1] === toLow && figures[at + 2] === high) {
        return (figures[at + 4] as number) < this.#freshFrom ? UNKNOWN : (figures[at + 3] as number);
      }
      if (figures[at + 4] === 0) return UNKNOWN;
    }
    return UNKNOWN;
  }

  /** @param atSeconds when it was found out, by the caller's clock; 1 or more */
  set(from: Place, to: Place, extraMeters: number, atSeconds: number): void {
    const figures = this.#figures;
    const high = highOf(from, to);
    const fromLow = lowOf(from);
    const toLow = lowOf(to);
    const bucket = (bucketOf(high, fromLow, toLow) & this.#lastBucket) * BUCKET;
    let slot = bucket;
    for (let at = bucket; at < bucket + BUCKET; at += FIGURES) {
      const isSame = figures[at] === fromLow && figures[at + 1] === toLow && figures[at + 2] === high;
      if (figures[at + 4] === 0 || isSame) {
        slot = at;
        break;
      }
      if ((figures[at + 4] as number) < (figures[slot + 4] as number)) slot = at;
    }
    figures[slot] = fromLow;
    figures[slot + 1] = toLow;
    figures[slot + 2] = high;
    figures[slot + 3] = Math.round(extraMeters);
    figures[slot + 4] = atSeconds;
  }

  /** What was set before counts as unknown. */
  forgetBefore(seconds: number): void {
    this.#freshFrom = Math.max(1, seconds);
  }
}

/** The number of a place's cell, a whole number below 2⁴⁸. */
export function cellOf(place: Place): number {
  return cube(place.x) * 2 ** 32 + (lowOf(place) >>> 0);
}

function highOf(from: Place, to: Place): number {
  return (cube(from.x) << 16) | cube(to.x);
}

function lowOf(place: Place): number {
  return (cube(place.y) << 16) | cube(place.z);
}

/** Which cube along an axis, from 0 to 65,535; positive, so that it is rounded down. */
function cube(figure: number): number {
  return (figure * CELLS + 2 ** 15) | 0;
}

/** The multipliers of xxHash (github.com/Cyan4973/xxHash, 32 bits), mixed as by MurmurHash3's last step. */
function bucketOf(high: number, fromLow: number, toLow: number): number {
  let hash = Math.imul(fromLow, 0x9e3779b1) ^ Math.imul(toLow, 0x85ebca77) ^ Math.imul(high, 0xc2b2ae3d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x27d4eb2f);
  return hash ^ (hash >>> 13);
}
