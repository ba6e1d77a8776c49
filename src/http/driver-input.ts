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
  readonly accuracyMeters?: number | undefined;
  /** Degrees clockwise from north, 0 to 360. */
  readonly headingDegrees?: number | undefined;
  readonly speedMetersPerSecond?: number | undefined;
  /** When the phone took the position, milliseconds since 1970 by its own clock. */
  readonly capturedAtMs?: number | undefined;
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
  const { lat, lng } = body;
  const accuracy_m = body.accuracy_m ?? undefined;
  const heading = body.heading ?? undefined;
  const speed = body.speed ?? undefined;
  const captured_at = body.captured_at ?? undefined;
  // Plain objects, not copied over and over: nothing comes in more often than positions.
  const fields = findFieldErrors(driverLocation, { lat, lng, accuracy_m, heading, speed, captured_at });
  if (fields.length > 0) return { fields };
  const capturedAtMs = typeof captured_at === 'string' ? Date.parse(captured_at) : undefined;
  if (capturedAtMs !== undefined && !isCalendarTime(new Date(capturedAtMs)))
    return { fields: [{ field: 'captured_at', message: NO_SUCH_TIME }] };
  const location = {
    lat,
    lng,
    accuracyMeters: accuracy_m,
    headingDegrees: heading,
    speedMetersPerSecond: speed,
    capturedAtMs,
  };
  return { ok: location as DriverLocation };
}
