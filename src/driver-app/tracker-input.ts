import type { PositionReport } from '../dispatch/positions.ts';
import { calendarTime, isCalendarTime } from '../http/input.ts';
import { isJsonObject, type JsonObject, parseJsonObject } from '../http/json.ts';
import type { RequestHead } from '../transport/route.ts';
import { validateLocation } from './input.ts';

/** What a tracking app sent: who it says it is, and its position where it has a usable one. */
export type Tracked = { readonly secret: string | null; readonly location: PositionReport | null };

/** What both forms come to; a value is null where it was not sent. */
type Fields = {
  readonly secret: unknown;
  readonly lat: unknown;
  readonly lng: unknown;
  readonly accuracy: unknown;
  readonly time: unknown;
};

/**
 * Reads a request of Traccar Client: from its version 10 on and before 9 the parameters of the OsmAnd protocol,
 * in a form or in the query, and in version 9 JSON (https://www.traccar.org/osmand/). What it adds beside these
 * fields is not read.
 */
export function readTracked(head: Pick<RequestHead, 'query' | 'header'>, body: Buffer): Tracked {
  const isJson = (head.header('content-type') ?? '').trim().toLowerCase().startsWith('application/json');
  const fields = isJson ? ofJson(body) : ofParameters(head.query.size > 0 ? head.query : formOf(body));
  const { secret } = fields;
  return { secret: typeof secret === 'string' ? secret : null, location: locationOf(fields) };
}

const formOf = (body: Buffer): URLSearchParams => new URLSearchParams(body.toString('latin1'));

function ofParameters(query: URLSearchParams): Fields {
  const isValid = !['false', '0'].includes(query.get('valid') ?? '');
  return {
    secret: query.get('id') ?? query.get('deviceid'),
    lat: isValid ? numberOf(query.get('lat')) : null,
    lng: numberOf(query.get('lon')),
    accuracy: numberOf(query.get('accuracy')),
    time: query.get('timestamp'),
  };
}

function ofJson(body: Buffer): Fields {
  const read = parseJsonObject(body);
  const root = 'ok' in read ? read.ok : {};
  const location = partOf(root, 'location');
  const coords = partOf(location, 'coords');
  return {
    secret: root.device_id,
    lat: coords.latitude,
    lng: coords.longitude,
    accuracy: coords.accuracy,
    time: location.timestamp ?? null,
  };
}

function partOf(whole: JsonObject, name: string): JsonObject {
  const part = whole[name];
  return isJsonObject(part) ? part : {};
}

/** Longest number of a parameter in characters; a double has 24 at most. */
const NUMBER_LENGTH = 32;

function numberOf(text: string | null): number | null {
  return text === null || text === '' || text.length > NUMBER_LENGTH ? null : Number(text);
}

/** Null for a position that no phone's page could report either, or whose time cannot be read. */
function locationOf({ lat, lng, accuracy, time }: Fields): PositionReport | null {
  const captured = time === null ? null : timeOf(time);
  if (captured === 'unreadable') return null;
  // A phone that does not know the accuracy writes a negative one.
  const accuracy_m = typeof accuracy === 'number' && accuracy >= 0 ? accuracy : null;
  const checked = validateLocation({ lat, lng, accuracy_m, captured_at: captured?.toISOString() ?? null });
  return 'ok' in checked ? checked.ok : null;
}

/** Numbers below this are seconds, as the protocol has it. */
const FIRST_MILLISECONDS = 2 ** 31;
/** From the start of a second to its last millisecond. */
const LAST_OF_SECOND_MS = 999;

/**
 * A time in whole seconds is the last moment of its second: the position was taken then or before, and as the
 * second's start it would be older than what the page reported in that second.
 */
function timeOf(sent: unknown): Date | 'unreadable' {
  if (typeof sent !== 'string') return 'unreadable';
  const number = /^\d{1,15}$/.test(sent) ? Number(sent) : null;
  const isText = /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)$/.test(sent);
  if (number === null && !isText) return 'unreadable';
  const isWhole = number === null ? !sent.includes('.') : number < FIRST_MILLISECONDS;
  const time = number === null ? calendarTime(sent) : new Date(isWhole ? number * 1_000 : number);
  if (time === null || !isCalendarTime(time)) return 'unreadable';
  return isWhole ? new Date(time.getTime() + LAST_OF_SECOND_MS) : time;
}
