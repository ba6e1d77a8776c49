import { createHash } from 'node:crypto';
import { findZip, foldAddress } from '../domain/address.ts';
import type { Point } from '../geo/point.ts';
import { around, seededRandom } from './simulated-world.ts';
import { type StandIn, type StandInReply, type StandInRequest, startStandIn, type VendorApi } from './stand-in.ts';

/** The true points of the addresses in the printed example, by how they begin. */
const KNOWN: readonly (readonly [street: string, point: Point])[] = [
  ['401 valencia st,', { lat: 37.76655, lng: -122.42185 }],
  ['2000 mission st,', { lat: 37.76415, lng: -122.41957 }],
];
/** Largest distance of a made-up street from the centroid of its ZIP, in meters. */
const SPREAD_METERS = 1_200;
/** Half the side of the box around a house, in degrees: about 20 m. */
const HOUSE_DEGREES = 0.0002;

/**
 * Starts Nominatim's search (`GET /search?q=…&format=jsonv2`) for the sandbox. It knows every ZIP and makes
 * up where in it a street is, the same point for the same text. An address without a known ZIP is not found.
 * It stores nothing.
 */
export function startGeocoderStandIn(options: {
  readonly zipCentroid: (zip5: string) => Point | undefined;
  readonly port?: number;
}): Promise<StandIn> {
  return startStandIn(new GeocoderApi(options.zipCentroid), options.port ?? 0);
}

class GeocoderApi implements VendorApi {
  readonly #zipCentroid: (zip5: string) => Point | undefined;

  constructor(zipCentroid: (zip5: string) => Point | undefined) {
    this.#zipCentroid = zipCentroid;
  }

  async answer({ method, path, query }: StandInRequest, pause: () => Promise<void>): Promise<StandInReply> {
    await pause();
    if (method !== 'GET' || path !== '/search') return this.failure(404);
    const text = query.get('q') ?? '';
    const point = this.#find(foldAddress(text));
    return { status: 200, body: point ? [placeBody(text, point)] : [] };
  }

  failure(status: number): StandInReply {
    return { status, body: { error: { code: status, message: 'not available' } } };
  }

  repeat(): void {}

  entries(): readonly unknown[] {
    return [];
  }

  close(): void {}

  #find(text: string): Point | undefined {
    const known = KNOWN.find(([street]) => text.startsWith(street));
    if (known) return known[1];
    const centroid = this.#zipCentroid(findZip(text) ?? '');
    if (!centroid) return undefined;
    return around(centroid, SPREAD_METERS, seededRandom(createHash('sha256').update(text).digest().readInt32LE()));
  }
}

/** A place in Nominatim's form, with numbers as text. */
function placeBody(text: string, { lat, lng }: Point) {
  const box = [lat - HOUSE_DEGREES, lat + HOUSE_DEGREES, lng - HOUSE_DEGREES, lng + HOUSE_DEGREES];
  return {
    lat: lat.toFixed(7),
    lon: lng.toFixed(7),
    category: 'place',
    type: 'house',
    display_name: text,
    boundingbox: box.map((degrees) => degrees.toFixed(7)),
  };
}
