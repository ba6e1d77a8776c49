/**
 * The types of values sent to and read from Postgres. The client's start-up query for array types is switched
 * off, because it can crash the process on a lost connection. So the array types of the service are declared
 * here.
 *
 * No serializer throws, because the client would reject the statement that is active on the connection, not
 * the one with the bad value. A value that cannot be serialized is sent as a text that Postgres refuses
 * (22xxx).
 */

/** OIDs of array types, for `sql.array(values, ARRAY_OF.bool)`. */
export const ARRAY_OF = {
  bool: 1000,
  int4: 1007,
  text: 1009,
  int8: 1016,
  float8: 1022,
  timestamptz: 1185,
  uuid: 2951,
  jsonb: 3807,
} as const;

type ArrayType = keyof typeof ARRAY_OF;

const ELEMENT_OF: Record<ArrayType, number> = {
  bool: 16,
  int4: 23,
  text: 25,
  int8: 20,
  float8: 701,
  timestamptz: 1184,
  uuid: 2950,
  jsonb: 3802,
};

/** OIDs of array types by those of their elements, which the client's `sql.array(values)` looks up. */
export const ARRAY_OF_ELEMENT: Readonly<Record<number, number>> = Object.fromEntries(
  (Object.keys(ARRAY_OF) as ArrayType[]).map((type) => [ELEMENT_OF[type], ARRAY_OF[type]]),
);

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

const ELEMENTS: Record<ArrayType, { serialize: Serialize; parse: Parse }> = {
  bool: { serialize: (value) => (value ? 't' : 'f'), parse: (text) => text === 't' },
  int4: { serialize: number, parse: Number },
  text: { serialize: (value) => quote(String(value)), parse: (text) => text },
  int8: { serialize: number, parse: parseInt8 },
  float8: { serialize: number, parse: Number },
  timestamptz: { serialize: (value) => quote(serializeDate(value)), parse: (text) => new Date(text) },
  uuid: { serialize: (value) => quote(String(value)), parse: (text) => text },
  jsonb: { serialize: (value) => quote(serializeJson(value)), parse: (text) => JSON.parse(text) },
};

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
  (Object.keys(ARRAY_OF) as ArrayType[]).map((type): [string, ClientType] => [
    `${type}Array`,
    {
      to: ARRAY_OF[type],
      from: [ARRAY_OF[type]],
      serialize: (values) => serializeArray(values, ELEMENTS[type].serialize),
      parse: (text) => parseArray(text, ELEMENTS[type].parse),
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
