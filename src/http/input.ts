import { type FieldError, ServiceError } from '../domain/errors.ts';
import { isId } from '../domain/ids.ts';
import { MAX_FIELD_ERRORS } from '../limits.ts';
import type { RequestHead } from '../transport/route.ts';
import { type JsonObject, parseJsonObject } from './json.ts';

/** The body as a JSON object; an empty one counts as `{}` where the route says so. Throws what to reply with. */
export function parsed(body: Buffer, emptyIsObject = false): JsonObject {
  if (emptyIsObject && body.length === 0) return {};
  const result = parseJsonObject(body);
  if ('error' in result) throw result.error;
  return result.ok;
}

/** The validated value. Throws `invalid_request` with the fields otherwise. */
export function valid<Value>(result: { readonly ok: Value } | { readonly fields: readonly FieldError[] }): Value {
  if ('ok' in result) return result.ok;
  throw new ServiceError('invalid_request', 'Some fields are not usable; nothing was changed.', {
    fields: result.fields,
  });
}

/** The order that a path names. Throws `not_found` for what can't be an id. */
export function orderIdOf(head: RequestHead): string {
  const [id = ''] = head.params;
  if (!isId(id)) throw new ServiceError('not_found', 'There is no such order.');
  return id;
}

/** The parameters of a query that the schema does not name: one with a slip in its name would else count as absent. */
export function unknownNames(query: URLSearchParams, properties: object): FieldError[] {
  const names = [...new Set(query.keys())].filter((name) => !Object.hasOwn(properties, name));
  return names.slice(0, MAX_FIELD_ERRORS).map((field) => ({ field, message: 'is not known here' }));
}

export const NO_SUCH_TIME = 'must be a time of the calendar, from 1970 to 9999';

/** Whether a time that a client gave exists and lies in a year that a table takes: 1970 to 9999, in UTC. */
export function isCalendarTime(time: Date): boolean {
  const year = time.getUTCFullYear();
  return year >= 1970 && year <= 9999;
}
