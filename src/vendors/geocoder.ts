import { withoutUnit } from '../domain/address.ts';
import { distanceMeters, isPoint, type Point } from '../geo/point.ts';
import { below, GEOCODER_ACCURACY_METERS } from '../limits.ts';
import { FairSlots } from './fair-slots.ts';
import { getJson, urlBelow } from './get-json.ts';
import { SharedCache } from './shared-cache.ts';

/**
 * Longest wait for the geocoder while a store waits for its reply: up to half of it in line, the rest for the
 * call. Below LOCATE_TIMEOUT_MS.
 */
const GEOCODER_TIMEOUT_MS = 500;
/** Most calls to the geocoder at once. A store has at most as many as are free: half where it is alone. */
export const MAX_GEOCODER_REQUESTS = 8;
/**
 * Most addresses of one store that wait for such a call; one more goes without an answer. Below
 * LOCATE_CONCURRENCY, so that the jobs of one store leave room for those of others.
 */
export const MAX_GEOCODER_WAITING_PER_STORE = 48;
/** Most addresses whose answers are kept, about 200 bytes each. */
const MAX_GEOCODER_CACHE = 10_000;
/**
 * Most addresses of one store whose answers are kept, also where none was found. Below MAX_GEOCODER_CACHE, so
 * that invented addresses do not push out those of others.
 */
const MAX_GEOCODER_CACHE_PER_STORE = 2_000;
/** Time for which the point of an address is kept. Addresses do not move. */
export const GEOCODER_FOUND_MS = 24 * 60 * 60_000;
/** Time for which it is kept that an address was not found. Below GEOCODER_FOUND_MS, as maps grow. */
export const GEOCODER_NOT_FOUND_MS = 10 * 60_000;
/** Least time between two calls to the public Nominatim, which its usage policy asks for. */
export const PUBLIC_GEOCODER_PACE_MS = 1_000;

below({ MAX_GEOCODER_CACHE_PER_STORE }, { MAX_GEOCODER_CACHE });
below({ GEOCODER_NOT_FOUND_MS }, { GEOCODER_FOUND_MS });

export type Geocoded =
  /** `accuracyMeters`: half the diagonal of the place's box, where the geocoder states one; a street's at least. */
  | { readonly kind: 'found'; readonly point: Point; readonly accuracyMeters?: number }
  | { readonly kind: 'not_found' }
  /** No usable answer in time. Neither this nor `busy` is kept, so a later call may succeed. */
  | { readonly kind: 'unavailable' }
  /** The caller asks for too many addresses at once; the geocoder was not asked for this one. */
  | { readonly kind: 'busy' };

export type Geocoder = {
  /**
   * Finds an address. Never throws, and takes no longer than the time-out. Callers, such as stores, are served
   * in turn.
   */
  geocode(text: string, caller: string): Promise<Geocoded>;
};

export type GeocoderOptions = {
  /**
   * Base URL of a server that speaks Nominatim's search API. A query in it, such as an access key, is kept.
   */
  readonly url: string;
  /** Whom the server's operator may write to. */
  readonly contact?: string;
  readonly timeoutMs?: number;
  /** Most addresses whose answers are kept. */
  readonly maxRemembered?: number;
  /** Milliseconds since 1970, for the age of kept answers. */
  readonly now?: () => number;
};

/** Its usage policy (operations.osmfoundation.org/policies/nominatim) allows a request a second of all clients. */
const PUBLIC_HOST = 'nominatim.openstreetmap.org';
export const isPublicGeocoder = (url: string): boolean => new URL(url).hostname === PUBLIC_HOST;
const publicSlots = new FairSlots(1, MAX_GEOCODER_WAITING_PER_STORE);

/**
 * Asks a Nominatim-compatible server and keeps its answers (nominatim.org/release-docs/latest/api/Search). The
 * public one is asked once a second by all geocoders of this process.
 */
export function createGeocoder(options: GeocoderOptions): Geocoder {
  const { url, contact, timeoutMs = GEOCODER_TIMEOUT_MS, maxRemembered = MAX_GEOCODER_CACHE, now = Date.now } = options;
  const remembered = new SharedCache<Geocoded>(maxRemembered, Math.min(maxRemembered, MAX_GEOCODER_CACHE_PER_STORE));
  const isPublic = isPublicGeocoder(url);
  const slots = isPublic ? publicSlots : new FairSlots(MAX_GEOCODER_REQUESTS, MAX_GEOCODER_WAITING_PER_STORE);
  const asking = new Map<string, Promise<Geocoded>>();

  const known = (text: string, caller: string) => remembered.get(caller, text, now()) ?? asking.get(text);

  async function ask(text: string, caller: string, forMs: number): Promise<Geocoded> {
    const answer = await search(url, text, forMs, contact).finally(() => asking.delete(text));
    if (answer.kind !== 'unavailable') {
      const lifeMs = answer.kind === 'found' ? GEOCODER_FOUND_MS : GEOCODER_NOT_FOUND_MS;
      remembered.set(caller, text, answer, now() + lifeMs);
    }
    return answer;
  }

  return {
    async geocode(address, caller) {
      const text = withoutUnit(address);
      const answer = known(text, caller);
      if (answer) return answer;
      const startedMs = performance.now();
      if (!(await slots.enter(caller, timeoutMs / 2))) return { kind: 'busy' };
      try {
        // Another request may have asked for it meanwhile.
        const answer = known(text, caller);
        if (answer) return await answer;
        // The place may come after its time, where the process stood still meanwhile.
        const leftMs = Math.max(0, Math.ceil(timeoutMs - (performance.now() - startedMs)));
        const asked = ask(text, caller, leftMs);
        asking.set(text, asked);
        return await asked;
      } finally {
        if (isPublic) setTimeout(() => slots.leave(caller), PUBLIC_GEOCODER_PACE_MS).unref();
        else slots.leave(caller);
      }
    },
  };
}

async function search(base: string, text: string, timeoutMs: number, contact?: string): Promise<Geocoded> {
  const reply = await getJson(searchUrl(base, text), AbortSignal.timeout(timeoutMs), contact);
  return reply?.status === 200 ? readPlace(reply.body) : { kind: 'unavailable' };
}

/** Where the addresses of `STATE_CODES` are, by the codes that Nominatim has for countries. */
const COUNTRIES = 'us,pr,vi,gu,as,mp,um,fm,mh,pw';

function searchUrl(base: string, text: string): URL {
  const url = urlBelow(base, '/search');
  url.searchParams.set('format', 'jsonv2');
  url.searchParams.set('limit', '1');
  url.searchParams.set('countrycodes', COUNTRIES);
  url.searchParams.set('q', text);
  return url;
}

/** Nominatim's rank of a house; streets, ZIP codes, towns and states have lower ones. */
const HOUSE_RANK = 30;

/** Reads a list of places. Nominatim writes numbers as strings; other servers write numbers. */
function readPlace(reply: unknown): Geocoded {
  if (!Array.isArray(reply)) return { kind: 'unavailable' };
  if (reply.length === 0) return { kind: 'not_found' };
  const place = reply[0] as { lat?: unknown; lon?: unknown; boundingbox?: unknown; place_rank?: unknown } | null;
  const lat = toNumber(place?.lat);
  const lng = toNumber(place?.lon);
  if (!isPoint(lat, lng)) return { kind: 'unavailable' };
  const box = boxRadiusMeters(place?.boundingbox);
  // The box of a street is that of the part of it that was found, and of a place without an area is made up.
  const isHouse = !(toNumber(place?.place_rank) < HOUSE_RANK);
  const accuracyMeters = isHouse ? box : Math.max(box ?? 0, GEOCODER_ACCURACY_METERS);
  return { kind: 'found', point: { lat, lng }, ...(accuracyMeters === undefined ? {} : { accuracyMeters }) };
}

/** Half the diagonal of `[south, north, west, east]` in degrees. */
function boxRadiusMeters(box: unknown): number | undefined {
  if (!Array.isArray(box) || box.length !== 4) return undefined;
  const [south = Number.NaN, north = Number.NaN, west = Number.NaN, east = Number.NaN] = box.map(toNumber);
  if (!isPoint(south, west) || !isPoint(north, east)) return undefined;
  return Math.round(distanceMeters({ lat: south, lng: west }, { lat: north, lng: east }) / 2);
}

function toNumber(value: unknown): number {
  return typeof value === 'number' || (typeof value === 'string' && value.trim() !== '') ? Number(value) : Number.NaN;
}
