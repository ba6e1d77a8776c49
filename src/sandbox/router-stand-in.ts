import { distanceMeters, isPoint, type Point } from '../geo/point.ts';
import { ARRIVAL_DETOUR, CAR_METERS_PER_MINUTE, ROAD_TABLE_PLACES } from '../limits.ts';
import { type StandIn, type StandInReply, type StandInRequest, startStandIn } from './stand-in.ts';

/**
 * The one bridge over a river from north to south, 1.5 km east of the demo store and 3 km north of it. Who has the
 * store's near bank is decided by the bridge.
 */
const DEMO_BRIDGE: Point = { lat: 37.791, lng: -122.4025 };
/** How much longer or shorter than by the usual detour the road of a pair is, at most. */
const SPREAD = 0.2;

/**
 * Starts OSRM's table service (`GET /table/v1/driving/{lng,lat;…}?sources=…&destinations=…`) for the sandbox.
 * It makes up how long each way takes, the same for the same places: the usual detour, more or less by a
 * fifth, and over the bridge where a river lies between.
 */
export function startRouterStandIn(bridge: Point = DEMO_BRIDGE): Promise<StandIn> {
  return startStandIn({
    async answer(request, pause) {
      await pause();
      return answer(request, bridge);
    },
    failure,
  });
}

function answer({ method, path, query }: StandInRequest, bridge: Point): StandInReply {
  const [, list] = /^\/table\/v1\/driving\/([^/]+)$/.exec(path) ?? [];
  if (method !== 'GET' || list === undefined) return failure(404);
  const places = list.split(';').map(readPlace);
  if (places.length > ROAD_TABLE_PLACES) return refusal('TooBig', 'Too many table coordinates');
  const sources = readIndices(query.get('sources'), places.length);
  const destinations = readIndices(query.get('destinations'), places.length);
  if (places.includes(null) || !sources || !destinations) return refusal('InvalidQuery', 'Query string malformed');
  const known = places as Point[];
  const durations = sources.map((from) =>
    destinations.map((to) => seconds(known[from] as Point, known[to] as Point, bridge)),
  );
  return { status: 200, body: { code: 'Ok', durations } };
}

const failure = (status: number): StandInReply => {
  return { status, body: { code: 'InvalidService', message: 'not available' } };
};

function seconds(from: Point, to: Point, bridge: Point): number {
  const isAcross = from.lng < bridge.lng !== to.lng < bridge.lng;
  return isAcross ? secondsOf(from, bridge) + secondsOf(bridge, to) : secondsOf(from, to);
}

const refusal = (code: string, message: string): StandInReply => ({ status: 400, body: { code, message } });

function readPlace(text: string): Point | null {
  const [lng = Number.NaN, lat = Number.NaN, more] = text.split(',').map(Number);
  return more === undefined && isPoint(lat, lng) ? { lat, lng } : null;
}

/** `all` where nothing is said, as OSRM has it; null where a number is none of a place. */
function readIndices(text: string | null, count: number): number[] | null {
  if (text === null || text === 'all') return Array.from({ length: count }, (_, index) => index);
  const indices = text.split(';').map(Number);
  return indices.every((index) => Number.isInteger(index) && index >= 0 && index < count) ? indices : null;
}

/** To a tenth, as OSRM. */
function secondsOf(from: Point, to: Point): number {
  const usual = (distanceMeters(from, to) * ARRIVAL_DETOUR * 60) / CAR_METERS_PER_MINUTE;
  // A smooth function of the places, so that neighbours have similar roads.
  const share =
    1 + (SPREAD / 2) * (Math.sin(from.lat * 700 + to.lng * 900) + Math.sin(from.lng * 500 - to.lat * 1_100));
  return Math.round(usual * share * 10) / 10;
}
