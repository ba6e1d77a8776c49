import { type FieldError, ServiceError } from '../domain/errors.ts';
import { isId } from '../domain/ids.ts';
import { MAX_JSON_BYTES } from '../limits.ts';
import type { RequestHead, Route } from '../transport/route.ts';
import { MAX_FIELD_ERRORS, NOT_KNOWN } from './field-errors.ts';
import { type JsonObject, parseJsonObject } from './json.ts';
import { valid, validate } from './validate.ts';
import { validators } from './validators.js';

/** What a route takes whose body is JSON. */
export const JSON_BODY = { contentTypes: ['application/json'], maxBytes: MAX_JSON_BYTES };

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

/** What a route takes whose body may be left out, and holds nothing: see {@link refuseFields}. */
export const NO_FIELDS = { ...JSON_BODY, optional: true };

/**
 * Refuses every field of a body of {@link NO_FIELDS}: who sends one expects something of it.
 *
 * @throws {ServiceError} `malformed_json`, `invalid_request`
 */
export function refuseFields(body: Buffer): void {
  valid(validate(validators.noFields, parsed(body, true)));
}

/**
 * The order that a path names.
 *
 * @throws {ServiceError} `not_found` where it cannot be an id
 */
export function orderIdOf(head: RequestHead): string {
  const id = head.params[0]?.toLowerCase() ?? '';
  if (!isId(id)) throw new ServiceError('not_found', 'There is no such order.');
  return id;
}

/** Errors for a query's parameters that the schema does not name, and for those that are there twice. */
export function wrongNames(query: URLSearchParams, properties: object): FieldError[] {
  const errors = [...new Set(query.keys())].flatMap((field) => {
    if (!Object.hasOwn(properties, field)) return [{ field, message: NOT_KNOWN }];
    return query.getAll(field).length > 1 ? [{ field, message: 'must be there once' }] : [];
  });
  return errors.slice(0, MAX_FIELD_ERRORS);
}

/**
 * The route, refusing every parameter of its query where stores call it and it takes none. Pages, drivers' apps
 * and vendors may send what they like.
 */
export function withoutQuery(route: Route): Route {
  const { secret, query } = route.operation ?? {};
  if ((secret !== 'api_key' && secret !== 'read_key') || query) return route;
  return {
    ...route,
    handle(request) {
      const fields = wrongNames(request.head.query, {});
      if (fields.length > 0) throw new ServiceError('invalid_request', 'This address has no parameters.', { fields });
      return route.handle(request);
    },
  };
}

export const NO_SUCH_TIME = 'must be a time of the calendar, from 1970 to 9999';

/** Whether a client's time exists and its year, in UTC, is one that the tables take: 1970 to 9999. */
export function isCalendarTime(time: Date): boolean {
  const year = time.getUTCFullYear();
  return year >= 1970 && year <= 9999;
}

/**
 * The time that a date, or a date and time, of ISO 8601 from outside names; null where the calendar has none such.
 * `Date` alone takes February 30 for a day of March.
 */
export function calendarTime(text: string): Date | null {
  const time = new Date(text);
  const day = new Date(`${text.slice(0, DAY_LENGTH)}T00:00:00Z`);
  const isReal = day.getUTCDate() === Number(text.slice(DAY_LENGTH - 2, DAY_LENGTH));
  return isReal && isCalendarTime(day) && isCalendarTime(time) ? time : null;
}

/** Length of `2026-02-28`. */
const DAY_LENGTH = 10;
