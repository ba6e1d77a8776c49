import { createHash } from 'node:crypto';
import { findZip, foldAddress, withoutUnit } from '../domain/address.ts';
import type { Point } from '../geo/point.ts';
import { around, seededRandom } from './simulated-world.ts';
import { type StandIn, type StandInReply, startStandIn } from './stand-in.ts';

/** The true points of the addresses in the printed example, by how they begin. */
const KNOWN: readonly (readonly [street: string, point: Point])[] = [
  ['401 valencia st,', { lat: 37.76655, lng: -122.42185 }],
  ['2000 mission st,', { lat: 37.76415, lng: -122.41957 }],
];
/** Largest distance of a made-up street from the centroid of its ZIP, in meters. */
const SPREAD_METERS = 1_200;
/** What Nominatim finds: its rank and words, and half the side of its box in degrees. */
type Kind = { readonly rank: number; readonly category: string; readonly type: string; readonly degrees: number };
/** A box of about 20 m. */
const HOUSE: Kind = { rank: 30, category: 'place', type: 'house', degrees: 0.0002 };
/** One part of the street between two corners, as maps have them. */
const STREET: Kind = { rank: 26, category: 'highway', type: 'residential', degrees: 0.0005 };
const ZIP: Kind = { rank: 21, category: 'place', type: 'postcode', degrees: 0.05 };
/** Addresses whose house it does not know, by how they begin, and what it finds in its place. */
const COARSE: readonly (readonly [street: string, kind: Kind])[] = [
  ['1 street only st,', STREET],
  ['1 zip code only st,', ZIP],
];
/** An address of which it takes the namesake in another town. */
const NAMESAKE = '1 other town st,';
const OTHER_TOWN: Point = { lat: 44.3668, lng: -100.3538 };
/** What it finds first where the search is not bounded to a country. */
const ABROAD: Point = { lat: 48.8566, lng: 2.3522 };

/**
 * Starts Nominatim's search (`GET /search?q=…&format=jsonv2`) for the sandbox. It knows every ZIP and makes
 * up where in it a street is, the same point for the same text. An address without a known ZIP, or with a flat in
 * it, is not found. It stores nothing.
 */
export function startGeocoderStandIn({ zipCentroid }: { readonly zipCentroid: ZipCentroid }): Promise<StandIn> {
  return startStandIn({
    async answer({ method, path, query }, pause) {
      await pause();
      if (method !== 'GET' || path !== '/search') return failure(404);
      const text = query.get('q') ?? '';
      const folded = foldAddress(text);
      const isBounded = query.get('countrycodes')?.split(',').includes('us');
      const point = isBounded ? find(folded, zipCentroid) : ABROAD;
      const kind = COARSE.find(([street]) => folded.startsWith(street))?.[1] ?? HOUSE;
      return { status: 200, body: point ? [placeBody(text, point, kind)] : [] };
    },
    failure,
  });
}

type ZipCentroid = (zip5: string) => Point | undefined;

const failure = (status: number): StandInReply => {
  return { status, body: { error: { code: status, message: 'not available' } } };
};

function find(text: string, zipCentroid: ZipCentroid): Point | undefined {
  if (withoutUnit(text) !== text) return undefined;
  if (text.startsWith(NAMESAKE)) return OTHER_TOWN;
  const known = KNOWN.find(([street]) => text.startsWith(street));
  if (known) return known[1];
  const centroid = zipCentroid(findZip(text) ?? '');
  if (!centroid) return undefined;
  return around(centroid, SPREAD_METERS, seededRandom(createHash('sha256').update(text).digest().readInt32LE()));
}

/** A place in Nominatim's form, with numbers as text where it has them so. */
function placeBody(text: string, { lat, lng }: Point, { rank, category, type, degrees }: Kind) {
  const box = [lat - degrees, lat + degrees, lng - degrees, lng + degrees];
  return {
    place_id: 1,
    licence: 'Data © OpenStreetMap contributors, ODbL 1.0. http://osm.org/copyright',
    osm_type: 'node',
    osm_id: 1,
    lat: lat.toFixed(7),
    lon: lng.toFixed(7),
    category,
    type,
    place_rank: rank,
    importance: 0.00001,
    addresstype: category === 'highway' ? 'road' : type === 'house' ? 'place' : type,
    name: '',
    display_name: text,
    boundingbox: box.map((side) => side.toFixed(7)),
  };
}
