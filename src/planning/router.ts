import type { Point } from '../geo/point.ts';
import { getJson, urlBelow } from '../vendors/get-json.ts';

/** Longest call to the router. A table of ROAD_TABLE_PLACES takes some 20 ms. Below ROAD_ROUND_MS. */
const ROUTER_TIMEOUT_MS = 1_000;

export type RouterTable =
  /** Milliseconds by source and destination; null where there is no road. */
  | { readonly kind: 'found'; readonly durationsMs: readonly (readonly (number | null)[])[] }
  /** The router does not take this table: it has too many places, or one that is near no road. */
  | { readonly kind: 'refused' }
  /** No usable answer in time. */
  | { readonly kind: 'unavailable' };

/** Places of a table and which of them are sources and destinations, as indices. */
export type TableOfPlaces = {
  readonly places: readonly Point[];
  readonly sources: readonly number[];
  readonly destinations: readonly number[];
};

export type Router = ReturnType<typeof createRouter>;

/** URI or body too large for the server or a proxy in front of it; OSRM itself says 400. */
const REFUSED: readonly number[] = [400, 413, 414];

/**
 * Asks the table service of a server that speaks OSRM's HTTP API, version 1 (`docs/http.md` of
 * Project-OSRM/osrm-backend). Durations are what it answers by default, and old servers refuse options that
 * they do not know, so none is sent.
 *
 * @param options.url base URL; a query in it, such as an access key, is kept
 */
export function createRouter(options: { readonly url: string; readonly timeoutMs?: number }) {
  const { url, timeoutMs = ROUTER_TIMEOUT_MS } = options;
  const closing = new AbortController();
  return {
    /**
     * How long a car takes from each source to each destination. Never throws, and takes no longer than the
     * time-out.
     */
    async table(of: TableOfPlaces): Promise<RouterTable> {
      const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(timeoutMs)]);
      const reply = await getJson(tableUrl(url, of), signal);
      if (reply?.status === 200) return readTable(reply.body, of);
      return { kind: reply && REFUSED.includes(reply.status) ? 'refused' : 'unavailable' };
    },
    /** Ends calls in progress. */
    close: () => closing.abort(),
  };
}

function tableUrl(base: string, { places, sources, destinations }: TableOfPlaces): URL {
  // Five decimals are a meter, and a hundred places then fit any server's longest address.
  const list = places.map(({ lat, lng }) => `${lng.toFixed(5)},${lat.toFixed(5)}`).join(';');
  const url = urlBelow(base, `/table/v1/driving/${list}`);
  // By hand, as OSRM takes a semicolon as it is.
  const options = `sources=${sources.join(';')}&destinations=${destinations.join(';')}`;
  url.search = url.search ? `${url.search}&${options}` : options;
  return url;
}

function readTable(body: unknown, { sources, destinations }: TableOfPlaces): RouterTable {
  const { code, durations } = (body ?? {}) as { code?: unknown; durations?: unknown };
  if (code !== 'Ok' || !isListOf(durations, sources.length)) return { kind: 'unavailable' };
  const durationsMs: (number | null)[][] = [];
  for (const row of durations) {
    if (!isListOf(row, destinations.length) || !row.every(isSeconds)) return { kind: 'unavailable' };
    durationsMs.push(row.map((seconds) => (seconds === null ? null : seconds * 1_000)));
  }
  return { kind: 'found', durationsMs };
}

function isListOf(value: unknown, length: number): value is unknown[] {
  return Array.isArray(value) && value.length === length;
}

/** JSON has neither NaN nor infinity, but `1e999` reads as the latter. */
function isSeconds(value: unknown): value is number | null {
  return value === null || (typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY);
}
