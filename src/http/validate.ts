import { type FieldError, ServiceError } from '../domain/errors.ts';
import { describeErrors } from './field-errors.ts';
import type { Validator } from './validators.js';

/** A value in its validated form, or what is wrong with it. */
export type Validated<Value> = { readonly ok: Value } | { readonly fields: readonly FieldError[] };

/** Checks `data` against a compiled schema. */
export function validate<Value>(fits: Validator<Value>, data: unknown): Validated<Value> {
  return fits(data) ? { ok: data } : { fields: describeErrors(fits.errors ?? []) };
}

/**
 * The validated value.
 *
 * @throws {ServiceError} `invalid_request` with the fields where it is not valid
 */
export function valid<Value>(result: Validated<Value>): Value {
  if ('ok' in result) return result.ok;
  throw new ServiceError('invalid_request', 'Some fields are not usable; nothing was changed.', {
    fields: result.fields,
  });
}
