import { distanceMeters, isPoint, type Point } from '../geo/point.ts';
import {
  GEOCODER_FOUND_MS,
  GEOCODER_NOT_FOUND_MS,
  GEOCODER_TIMEOUT_MS,
  MAX_GEOCODER_CACHE,
  MAX_GEOCODER_REQUESTS,
  MAX_VENDOR_REPLY_BYTES,
} from '../limits.ts';

type Geocoded =
  /** `accuracyMeters`: half the diagonal of the place's bounding box, where the geocoder states one. */
  | { readonly kind: 'found'; readonly point: Point; readonly accuracyMeters?: number }
  | { readonly kind: 'not_found' }
  /** No usable answer in time, or too many calls at once. It is not kept, so a later call may succeed. */
  | { readonly kind: 'unavailable' };

export type Geocoder = {
  /** Finds an address. Never throws, and takes no longer than the time-out. */
  geocode(text: string): Promise<Geocoded>;
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
  const remembered = new Map<string, { readonly answer: Geocoded; readonly untilMs: number }>();
  const asking = new Map<string, Promise<Geocoded>>();

  function recall(text: string): Geocoded | undefined {
    const entry = remembered.get(text);
    if (!entry) return undefined;
    // Taken out and put back, so that the Map's order is the order of use and its first entry the least
    // recent.
    remembered.delete(text);
    if (entry.untilMs <= now()) return undefined;
    remembered.set(text, entry);
    return entry.answer;
  }

  function remember(text: string, answer: Geocoded): void {
    if (answer.kind === 'unavailable') return;
    const lifeMs = answer.kind === 'found' ? GEOCODER_FOUND_MS : GEOCODER_NOT_FOUND_MS;
    remembered.set(text, { answer, untilMs: now() + lifeMs });
    const [oldest] = remembered.keys();
    if (remembered.size > maxRemembered && oldest !== undefined) remembered.delete(oldest);
  }

  async function ask(text: string): Promise<Geocoded> {
    const answer = await search(url, text, timeoutMs);
    asking.delete(text);
    remember(text, answer);
    return answer;
  }

  return {
    async geocode(text) {
      const known = recall(text) ?? asking.get(text);
      if (known) return known;
      if (asking.size >= MAX_GEOCODER_REQUESTS) return { kind: 'unavailable' };
      const answer = ask(text);
      asking.set(text, answer);
      return answer;
    },
  };
}

async function search(base: string, text: string, timeoutMs: number): Promise<Geocoded> {
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const reply = await fetch(searchUrl(base, text), {
      // Nominatim's usage policy asks clients to identify themselves.
      headers: { Accept: 'application/json', 'User-Agent': 'sameday-dispatch' },
      signal,
    });
    const body = await readBounded(reply);
    return reply.ok ? readPlace(JSON.parse(body)) : { kind: 'unavailable' };
  } catch {
    // Refused, reset, too slow, too large or not JSON: the caller can do the same about each.
    return { kind: 'unavailable' };
  }
}

function searchUrl(base: string, text: string): URL {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/search`;
  url.searchParams.set('format', 'jsonv2');
  url.searchParams.set('limit', '1');
  url.searchParams.set('q', text);
  return url;
}

async function readBounded(reply: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of reply.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_VENDOR_REPLY_BYTES) throw new RangeError('reply too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
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
