import type { FieldError } from '../domain/errors.ts';
import { findFieldErrors } from './field-errors.ts';
import { isCalendarTime, NO_SUCH_TIME } from './input.ts';
import type { JsonObject } from './json.ts';
import { driverDuty, driverLocation } from './validators.js';

export type DriverLocation = {
  /** Degrees, −90 to 90. */
  readonly lat: number;
  /** Degrees, −180 to 180. */
  readonly lng: number;
  readonly accuracyMeters?: number;
  /** Degrees clockwise from north, 0 to 360. */
  readonly headingDegrees?: number;
  readonly speedMetersPerSecond?: number;
  /** When the phone took the position, milliseconds since 1970 by its own clock. */
  readonly capturedAtMs?: number;
};

type Validated<Value> = { readonly ok: Value } | { readonly fields: readonly FieldError[] };

/** Validates the body of `PUT /driver/duty`. */
export function validateDriverDuty(body: JsonObject): Validated<{ readonly onDuty: boolean }> {
  const fields = findFieldErrors(driverDuty, body);
  return fields.length > 0 ? { fields } : { ok: { onDuty: body.on_duty === true } };
}

/**
 * Validates a position as sent to `POST /driver/location` or over the driver's socket. What a phone does not know it may
 * send as null, as the browser's Geolocation API does; other fields are ignored.
 */
export function validateDriverLocation(body: JsonObject): Validated<DriverLocation> {
  const { lat, lng, accuracy_m, heading, speed, captured_at } = body;
  const candidate = { lat, lng, ...known({ accuracy_m, heading, speed, captured_at }) };
  const fields = findFieldErrors(driverLocation, candidate);
  if (fields.length > 0) return { fields };
  const capturedAtMs = typeof captured_at === 'string' ? Date.parse(captured_at) : undefined;
  if (capturedAtMs !== undefined && !isCalendarTime(new Date(capturedAtMs)))
    return { fields: [{ field: 'captured_at', message: NO_SUCH_TIME }] };
  const telemetry = { accuracyMeters: accuracy_m, headingDegrees: heading, speedMetersPerSecond: speed, capturedAtMs };
  return { ok: { lat, lng, ...known(telemetry) } as DriverLocation };
}

function known(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}
