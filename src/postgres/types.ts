/**
 * The types of values sent to and read from Postgres. The client's start-up query for array types is switched
 * off, because it can crash the process on a lost connection. So the array types of the service are declared
 * here.
 *
 * No serializer throws, because the client would reject the statement that is active on the connection, not
 * the one with the bad value. A value that cannot be serialized is sent as a text that Postgres refuses
 * (22xxx).
 */

type Serialize = (value: unknown) => string;
type Parse = (text: string) => unknown;

/** A number if it is exact, else a bigint. */
export function parseInt8(text: string): number | bigint {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}

function serializeDate(value: unknown): string {
  const date = value instanceof Date ? value : new Date(value as string | number);
  return Number.isNaN(date.getTime()) ? 'not a date' : date.toISOString();
}

function serializeJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'not JSON';
  } catch {
    return 'not JSON';
  }
}

const ESCAPED = /[\\"]/;
const quote = (text: string): string => (ESCAPED.test(text) ? `"${text.replace(/[\\"]/g, '\\$&')}"` : `"${text}"`);
/** A number needs no quotes; whatever else comes is Postgres's to refuse. */
const number = (value: unknown): string => (Number.isFinite(value) ? String(value) : quote(String(value)));

/** The types of elements, each with its OID and that of its arrays, for `sql.array(values, TYPES.bool.array)`. */
export const TYPES = {
  bool: { oid: 16, array: 1000, serialize: (value) => (value ? 't' : 'f'), parse: (text) => text === 't' },
  int4: { oid: 23, array: 1007, serialize: number, parse: Number },
  text: { oid: 25, array: 1009, serialize: (value) => quote(String(value)), parse: (text) => text },
  int8: { oid: 20, array: 1016, serialize: number, parse: parseInt8 },
  float8: { oid: 701, array: 1022, serialize: number, parse: Number },
  timestamptz: {
    oid: 1184,
    array: 1185,
    serialize: (value) => quote(serializeDate(value)),
    parse: (text) => new Date(text),
  },
  uuid: { oid: 2950, array: 2951, serialize: (value) => quote(String(value)), parse: (text) => text },
  jsonb: {
    oid: 3802,
    array: 3807,
    serialize: (value) => quote(serializeJson(value)),
    parse: (text) => JSON.parse(text),
  },
} satisfies Record<string, { oid: number; array: number; serialize: Serialize; parse: Parse }>;

/** OIDs of array types by those of their elements, which the client's `sql.array(values)` looks up. */
export const ARRAY_OF_ELEMENT: Readonly<Record<number, number>> = Object.fromEntries(
  Object.values(TYPES).map(({ oid, array }) => [oid, array]),
);

/** An array as Postgres reads it; null and undefined become NULL. */
function serializeArray(values: unknown, serialize: Serialize): string {
  if (!Array.isArray(values)) return 'not an array';
  let text = '{';
  for (let index = 0; index < values.length; index++) {
    const value: unknown = values[index];
    if (index > 0) text += ',';
    text += value === null || value === undefined ? 'NULL' : serialize(value);
  }
  return `${text}}`;
}

/**
 * One element, or one bracket or comma, of an array as Postgres writes it (array_out in its manual, 8.15.6).
 */
const ARRAY_TOKEN = /"((?:[^"\\]|\\.)*)"|[{},]|[^"{},]+/gsy;

/** Reads an array of any depth as Postgres writes it. */
export function parseArray(text: string, parse: Parse): unknown[] {
  const root: unknown[] = [];
  const open: unknown[][] = [root];
  // A lower bound other than 1 is written in front: [0:1]={a,b}.
  ARRAY_TOKEN.lastIndex = text.indexOf('{');
  for (let match = ARRAY_TOKEN.exec(text); match !== null; match = ARRAY_TOKEN.exec(text)) {
    const [token, quoted] = match;
    const current = open.at(-1) as unknown[];
    if (quoted !== undefined) current.push(parse(quoted.replace(/\\(.)/gs, '$1')));
    else if (token === '{') {
      const inner: unknown[] = [];
      current.push(inner);
      open.push(inner);
    } else if (token === '}') open.pop();
    else if (token !== ',') current.push(token === 'NULL' ? null : parse(token));
  }
  return root[0] as unknown[];
}

type ClientType = { to: number; from: number[]; serialize: Serialize; parse: Parse };

const arrayTypes = Object.fromEntries(
  Object.entries(TYPES).map(([type, { array, serialize, parse }]): [string, ClientType] => [
    `${type}Array`,
    {
      to: array,
      from: [array],
      serialize: (values) => serializeArray(values, serialize),
      parse: (text) => parseArray(text, parse),
    },
  ]),
);

/** For the client's `types` option. */
export const CLIENT_TYPES: Readonly<Record<string, ClientType>> = {
  ...arrayTypes,
  int8: { to: 20, from: [20], serialize: String, parse: parseInt8 },
  // The client's own serializers of these two throw.
  date: { to: 1184, from: [1082, 1114, 1184], serialize: serializeDate, parse: (text) => new Date(text) },
  json: { to: 114, from: [114, 3802], serialize: serializeJson, parse: (text) => JSON.parse(text) },
};
