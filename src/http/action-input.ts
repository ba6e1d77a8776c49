import type { FieldError } from '../domain/errors.ts';
import type { ActionStamp } from '../store/lifecycle.ts';
import { findFieldErrors } from './field-errors.ts';
import { isCalendarTime, NO_SUCH_TIME } from './input.ts';
import type { JsonObject } from './json.ts';
import type { Validator } from './validators.d.ts';

export type Validated<Value> = { readonly ok: Value } | { readonly fields: readonly FieldError[] };

/** An action as a phone sent it, with the reason where the schema asks for one. */
export type ActionInput<Reason extends string> = { readonly stamp: ActionStamp; readonly reason: Reason };

/**
 * Validates a driver's action against its schema. `action_id` and `captured_at` may be absent or null: an action without an
 * id is not known again when it is sent twice.
 */
export function validateAction<Reason extends string = never>(
  fits: Validator,
  body: JsonObject,
): Validated<ActionInput<Reason>> {
  const candidate = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
  const fields = findFieldErrors(fits, candidate);
  if (fields.length > 0) return { fields };
  const { action_id, captured_at, reason } = candidate as { [name: string]: string | undefined };
  const capturedAt = captured_at === undefined ? null : new Date(captured_at);
  if (capturedAt && !isCalendarTime(capturedAt)) {
    return { fields: [{ field: 'captured_at', message: NO_SUCH_TIME }] };
  }
  return { ok: { stamp: { actionId: action_id ?? null, capturedAt }, reason: reason as Reason } };
}
