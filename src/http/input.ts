import { type FieldError, ServiceError } from '../domain/errors.ts';
import { isId } from '../domain/ids.ts';
import { MAX_FIELD_ERRORS } from '../limits.ts';
import type { RequestHead } from '../transport/route.ts';
import { type JsonObject, parseJsonObject } from './json.ts';

/**
 * The body as a JSON object.
 *
 * @param emptyIsObject whether an empty body counts as `{}`
 * @throws {ServiceError} `malformed_json`
 */
export function parsed(body: Buffer, emptyIsObject = false): JsonObject {
  if (emptyIsObject && body.length === 0) return {};
  const result = parseJsonObject(body);
  if ('error' in result) throw result.error;
  return result.ok;
}

/**
 * The order that a path names.
 *
 * @throws {ServiceError} `not_found` where it cannot be an id
 */
export function orderIdOf(head: RequestHead): string {
  const [id = ''] = head.params;
  if (!isId(id)) throw new ServiceError('not_found', 'There is no such order.');
  return id;
}

/**
 * Errors for a query's parameters that the schema does not name, since a misspelt one would count as absent.
 */
export function unknownNames(query: URLSearchParams, properties: object): FieldError[] {
  const names = [...new Set(query.keys())].filter((name) => !Object.hasOwn(properties, name));
  return names.slice(0, MAX_FIELD_ERRORS).map((field) => ({ field, message: 'is not known here' }));
}

export const NO_SUCH_TIME = 'must be a time of the calendar, from 1970 to 9999';

/** Whether a client's time exists and its year, in UTC, is one that the tables take: 1970 to 9999. */
export function isCalendarTime(time: Date): boolean {
  const year = time.getUTCFullYear();
  return year >= 1970 && year <= 9999;
}
