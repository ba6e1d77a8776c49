import { distanceMeters, isPoint, type Point } from '../geo/point.ts';
import {
  GEOCODER_FOUND_MS,
  GEOCODER_NOT_FOUND_MS,
  GEOCODER_TIMEOUT_MS,
  MAX_GEOCODER_CACHE,
  MAX_GEOCODER_CACHE_PER_STORE,
  MAX_GEOCODER_REQUESTS,
  MAX_GEOCODER_WAITING_PER_STORE,
} from '../limits.ts';
import { FairSlots } from './fair-slots.ts';
import { getJson, urlBelow } from './get-json.ts';
import { SharedCache } from './shared-cache.ts';

type Geocoded =
  /** `accuracyMeters`: half the diagonal of the place's bounding box, where the geocoder states one. */
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
  readonly timeoutMs?: number;
  /** Most addresses whose answers are kept. */
  readonly maxRemembered?: number;
  /** Milliseconds since 1970, for the age of kept answers. */
  readonly now?: () => number;
};

/**
 * Asks a Nominatim-compatible server and keeps its answers (nominatim.org/release-docs/latest/api/Search).
 */
export function createGeocoder(options: GeocoderOptions): Geocoder {
  const { url, timeoutMs = GEOCODER_TIMEOUT_MS, maxRemembered = MAX_GEOCODER_CACHE, now = Date.now } = options;
  const remembered = new SharedCache<Geocoded>(maxRemembered, Math.min(maxRemembered, MAX_GEOCODER_CACHE_PER_STORE));
  const slots = new FairSlots(MAX_GEOCODER_REQUESTS, MAX_GEOCODER_WAITING_PER_STORE);
  const asking = new Map<string, Promise<Geocoded>>();

  const known = (text: string, caller: string) => remembered.get(caller, text, now()) ?? asking.get(text);

  async function ask(text: string, caller: string, forMs: number): Promise<Geocoded> {
    const answer = await search(url, text, forMs);
    asking.delete(text);
    if (answer.kind !== 'unavailable') {
      const lifeMs = answer.kind === 'found' ? GEOCODER_FOUND_MS : GEOCODER_NOT_FOUND_MS;
      remembered.set(caller, text, answer, now() + lifeMs);
    }
    return answer;
  }

  return {
    async geocode(text, caller) {
      const answer = known(text, caller);
      if (answer) return answer;
      const startedMs = performance.now();
      if (!(await slots.enter(caller, timeoutMs / 2))) return { kind: 'busy' };
      try {
        // Another request may have asked for it meanwhile.
        const answer = known(text, caller);
        if (answer) return await answer;
        const asked = ask(text, caller, Math.ceil(timeoutMs - (performance.now() - startedMs)));
        asking.set(text, asked);
        return await asked;
      } finally {
        slots.leave(caller);
      }
    },
  };
}

async function search(base: string, text: string, timeoutMs: number): Promise<Geocoded> {
  const reply = await getJson(searchUrl(base, text), AbortSignal.timeout(timeoutMs));
  return reply?.status === 200 ? readPlace(reply.body) : { kind: 'unavailable' };
}

function searchUrl(base: string, text: string): URL {
  const url = urlBelow(base, '/search');
  url.searchParams.set('format', 'jsonv2');
  url.searchParams.set('limit', '1');
  url.searchParams.set('q', text);
  return url;
}

/** Reads a list of places. Nominatim writes numbers as strings; other servers write numbers. */
function readPlace(reply: unknown): Geocoded {
  if (!Array.isArray(reply)) return { kind: 'unavailable' };
  if (reply.length === 0) return { kind: 'not_found' };
  const place = reply[0] as { lat?: unknown; lon?: unknown; boundingbox?: unknown } | null;
  const lat = toNumber(place?.lat);
  const lng = toNumber(place?.lon);
  if (!isPoint(lat, lng)) return { kind: 'unavailable' };
  const accuracyMeters = boxRadiusMeters(place?.boundingbox);
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
