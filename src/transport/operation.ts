import type { ErrorCode } from '../domain/errors.ts';

/** A JSON Schema (draft 2020-12). One that has a `title` is named so in the document, once for all its uses. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/**
 * What lets a caller in: a bearer secret, or the tracking token in the path. `read_key` is a key of a store or of
 * an organization.
 */
export type Secret = 'api_key' | 'read_key' | 'driver_token' | 'tracking_token' | 'none';

/**
 * What a machine can read of a route. Its address, the media types and size of its body, and the errors that
 * follow from them are the route's own and are not repeated here.
 */
export type Operation = {
  /** A name for functions that are generated of the document, such as `createOrder`. */
  readonly id: string;
  readonly tag: string;
  /** A line without a full stop. */
  readonly summary: string;
  readonly description?: string;
  readonly secret: Secret;
  /** Whether it heeds an `Idempotency-Key`. */
  readonly idempotent?: boolean;
  /** An object whose properties are the parameters of the query. */
  readonly query?: JsonSchema;
  /** The JSON body. A body of other types needs no schema. */
  readonly body?: JsonSchema;
  /** The replies that are no errors, by status: a JSON body, or the media type of another one. */
  readonly replies: Readonly<Record<number, JsonSchema | { readonly contentType: string }>>;
  /** The errors that the route itself tells of. */
  readonly errors: readonly ErrorCode[];
};
