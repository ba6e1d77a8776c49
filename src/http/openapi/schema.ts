import type { JsonSchema, Operation } from '../../transport/operation.ts';

/** The parts of which schemas of replies are made. Descriptions and examples are in `field-texts.ts`. */

export const STRING = { type: 'string' } as const;
export const INTEGER = { type: 'integer' } as const;
export const BOOLEAN = { type: 'boolean' } as const;
export const ID = { type: 'string', format: 'uuid' } as const;
export const TIME = { type: 'string', format: 'date-time' } as const;
/** As `newTrackingToken` makes it. */
export const TRACKING_TOKEN = { type: 'string', pattern: '^[\\w-]{24}$' } as const;
/** One of the things that were bought. */
export const ITEM = object({ name: STRING, quantity: INTEGER });
/** Beside an order: the fields that were ignored. */
export const WARNINGS = { warnings: listOf(object({ field: STRING, message: STRING })) };
export const TIME_RANGE = object({ from: TIME, to: TIME });
export const POINT = object({ lat: { type: 'number' }, lng: { type: 'number' } });

type Properties = Readonly<Record<string, JsonSchema>>;

/** An object that has all of `properties`, but for those that are only there at times. */
export function object(properties: Properties, optional: Properties = {}): JsonSchema {
  const required = Object.keys(properties);
  return {
    type: 'object',
    ...(required.length > 0 ? { required } : {}),
    properties: { ...properties, ...optional },
  };
}

export function listOf(items: JsonSchema): JsonSchema {
  return { type: 'array', items };
}

export function choice(values: readonly string[]): JsonSchema {
  return { type: 'string', enum: [...values] };
}

/** The same schema under a name of its own in the document. */
export function named(title: string, schema: JsonSchema): JsonSchema {
  return { ...schema, title };
}

export function orNull(schema: JsonSchema): JsonSchema {
  if ('title' in schema) return { anyOf: [schema, { type: 'null' }] };
  const { enum: values } = schema;
  return {
    ...schema,
    type: [schema.type, 'null'],
    ...(Array.isArray(values) ? { enum: [...(values as unknown[]), null] } : {}),
  };
}

/** A body of a reply that is no error. */
export function success(properties: Properties, optional: Properties = {}): JsonSchema {
  return object({ success: { type: 'boolean', const: true }, ...properties }, optional);
}

/**
 * Makes operations. What one says of itself goes before what is shared.
 *
 * @returns takes for `reply` the properties of a 200 beside `success`, and `replies` for any other
 */
export const operations =
  (shared: Pick<Operation, 'tag' | 'secret' | 'errors'>) =>
  (
    id: string,
    summary: string,
    { reply = {}, ...own }: { readonly reply?: Properties } & Partial<Operation>,
  ): Operation => ({ ...shared, id, summary, replies: { 200: success(reply) }, ...own });
