import { isDeepStrictEqual } from 'node:util';
import type { JsonSchema } from '../../transport/operation.ts';
import { isJsonObject } from '../json.ts';
import { textOf } from './field-texts.ts';

/** The headers that replies are said to have. */
const HEADERS = {
  'X-Request-Id': { description: 'Name it when you ask the operator for help.', schema: { type: 'string' } },
  'Retry-After': { description: 'Seconds after which the request may be sent again.', schema: { type: 'string' } },
  Allow: { description: 'The methods that the address takes.', schema: { type: 'string' } },
  'RateLimit-Limit': rate('How many requests fit in the window.', '50'),
  'RateLimit-Remaining': rate('How many are left of them.', '49'),
  'RateLimit-Reset': rate('Seconds until the window ends.', '1'),
  'RateLimit-Policy': rate('The bound and its window in seconds.', '50;w=1'),
  'Idempotent-Replayed': {
    description: 'There where the reply repeats the first one under the same key.',
    schema: { type: 'string', const: 'true' },
  },
};

/** A header of a store's rate, as `store-rate.ts` writes it. */
function rate(says: string, example: string) {
  return { description: `${says} There where a rate holds for the store.`, schema: { type: 'string' }, example };
}

/** The headers of a store's rate. */
export const RATE_HEADERS = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'RateLimit-Policy'] as const;

export type HeaderName = keyof typeof HEADERS;

/** Members of a schema that hold several schemas. */
const LISTS = ['anyOf', 'oneOf', 'allOf'] as const;

/**
 * The named schemas and replies of one document. A schema with a `title` is written once and referred to by
 * its name; each property gets its text and its example.
 */
export class Components {
  readonly schemas: Record<string, JsonSchema> = {};
  readonly responses: Record<string, object> = {};
  readonly headers: Record<string, object> = {};
  readonly #sources = new Map<string, JsonSchema>();

  /**
   * A schema as it stands in the document.
   *
   * @param path the names of the properties that lead to it
   * @throws where two schemas have one name
   */
  use(schema: JsonSchema, path: readonly string[] = []): JsonSchema {
    const { title, ...rest } = schema;
    if (typeof title !== 'string') return this.#inner(rest, path);
    const known = this.#sources.get(title);
    if (known && !isDeepStrictEqual(known, schema)) throw new Error(`two schemas are named ${title}`);
    if (!known) {
      this.#sources.set(title, schema);
      this.schemas[title] = this.#inner(rest, [title]);
    }
    return { $ref: `#/components/schemas/${title}` };
  }

  /** Writes a reply once under its name. */
  useReply(name: string, make: () => object): object {
    this.responses[name] ??= make();
    return { $ref: `#/components/responses/${name}` };
  }

  /** The headers of a reply. */
  useHeaders(...names: readonly HeaderName[]): Record<string, object> {
    for (const name of names) this.headers[name] = HEADERS[name];
    return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
  }

  #inner(schema: JsonSchema, path: readonly string[]): JsonSchema {
    const inner: Record<string, unknown> = { ...schema };
    if (isJsonObject(schema.properties)) {
      const properties = schema.properties as Record<string, JsonSchema>;
      inner.properties = Object.fromEntries(
        Object.entries(properties).map(([name, property]) => [name, this.#property(property, [...path, name])]),
      );
    }
    if (isJsonObject(schema.items)) inner.items = this.use(schema.items, path);
    for (const list of LISTS) {
      const members = schema[list];
      if (Array.isArray(members)) inner[list] = members.map((member: JsonSchema) => this.use(member, path));
    }
    return inner;
  }

  #property(schema: JsonSchema, path: readonly string[]): JsonSchema {
    const text = textOf(path);
    const used = this.use(schema, path);
    if (!text) return used;
    const isLeaf = !('$ref' in used) && !('properties' in used) && !('const' in used);
    const hasExample = isLeaf && text.example !== undefined && !(used.type === 'array');
    // A name that means the same everywhere may have fewer values here.
    const isOne = !Array.isArray(used.enum) || used.enum.includes(text.example);
    return { ...used, description: text.says, ...(hasExample && isOne ? { examples: [text.example] } : {}) };
  }
}

/**
 * A value that fits the schema, made of the examples of its fields.
 *
 * @param fields whether an object has all of its fields, or those only that are always there
 */
export function exampleOf(schema: JsonSchema, fields: 'all' | 'always', path: readonly string[] = []): unknown {
  if ('const' in schema) return schema.const;
  const isObject = isJsonObject(schema.properties);
  const example = isObject ? undefined : textOf(path)?.example;
  if (example !== undefined) return example;
  if (isObject) {
    // A named object is described by its own names alone.
    const root = typeof schema.title === 'string' ? [schema.title] : path;
    const required = Array.isArray(schema.required) ? (schema.required as unknown[]) : [];
    const shown = Object.entries(schema.properties as Record<string, JsonSchema>).filter(
      ([name]) => (fields === 'all' || required.includes(name)) && !textOf([...root, name])?.isSeldom,
    );
    return Object.fromEntries(shown.map(([name, property]) => [name, exampleOf(property, fields, [...root, name])]));
  }
  for (const list of LISTS) {
    const [first] = Array.isArray(schema[list]) ? (schema[list] as JsonSchema[]) : [];
    if (first) return exampleOf(first, fields, path);
  }
  if (isJsonObject(schema.items)) return [exampleOf(schema.items, fields, path)];
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const byType: Readonly<Record<string, unknown>> = { boolean: true, integer: 1, number: 1, null: null };
  const type = String(schema.type);
  return type in byType ? byType[type] : '';
}
