import { isJsonObject, type JsonObject } from './json.ts';
import { STORABLE_TEXT } from './schemas.ts';

/** Keywords that hold a schema. */
const OF_ONE: ReadonlySet<string> = new Set(['items', 'additionalProperties']);
/** Keywords beside those that say nothing of a text; any other one could hold a schema that goes unseen. */
const PLAIN: ReadonlySet<string> = new Set([
  ...['title', 'type', 'required', 'default', 'enum', 'pattern', 'uniqueItems', 'minimum', 'maximum'],
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'maxProperties'],
]);
const KNOWN: ReadonlySet<string> = new Set([...OF_ONE, ...PLAIN, 'properties', 'propertyNames']);
const CHECK = { type: 'string', pattern: STORABLE_TEXT } as const;

/**
 * A schema whose every text, name of a member included, is one that Postgres can store. The validators are
 * compiled of these, so that a field cannot lack the check. What must be one of a list needs none.
 *
 * @throws for a keyword under which a text could go unseen, such as `anyOf`
 */
export function storable(schema: JsonObject): JsonObject {
  const unknown = Object.keys(schema).find((keyword) => !KNOWN.has(keyword));
  if (unknown !== undefined || Array.isArray(schema.type)) throw new Error(`unseen texts: ${unknown ?? 'two types'}`);
  const inner = Object.entries(schema).map(([keyword, value]) => [keyword, innerOf(keyword, value)]);
  const checked: JsonObject = Object.fromEntries(inner);
  if (schema.type !== 'string' || Array.isArray(schema.enum)) return checked;
  return { ...checked, allOf: [CHECK] };
}

function innerOf(keyword: string, value: unknown): unknown {
  if (keyword === 'propertyNames' && isJsonObject(value)) return storable({ type: 'string', ...value });
  if (!isJsonObject(value)) return value;
  if (OF_ONE.has(keyword)) return storable(value);
  if (keyword !== 'properties') return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, isJsonObject(each) ? storable(each) : each]),
  );
}
