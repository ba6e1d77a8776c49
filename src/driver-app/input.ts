import type { PositionReport } from '../dispatch/positions.ts';
import { calendarTime, NO_SUCH_TIME } from '../http/input.ts';
import type { JsonObject } from '../http/json.ts';
import { type Validated, validate } from '../http/validate.ts';
import { type Validator, validators } from '../http/validators.js';
import { MAX_DUTY_MS } from '../limits.ts';
import type { ActionStamp } from '../store/orders/driver-action.ts';

/**
 * Validates a position as sent to `POST /driver/location` or over the driver's socket. A phone may send null
 * for what it does not know, as the browser's Geolocation API does. Heading and speed are checked, and nobody reads
 * them; other fields are ignored.
 */
export function validateLocation(body: JsonObject): Validated<PositionReport> {
  const { lat, lng } = body;
  const accuracy_m = body.accuracy_m ?? undefined;
  const heading = body.heading ?? undefined;
  const speed = body.speed ?? undefined;
  const captured_at = body.captured_at ?? undefined;
  // Two plain objects and no copies: nothing comes in more often than positions.
  const checked = validate(validators.driverLocation, { lat, lng, accuracy_m, heading, speed, captured_at });
  if ('fields' in checked) return checked;
  const location = checked.ok;
  const capturedAt = location.captured_at === undefined ? undefined : calendarTime(location.captured_at);
  if (capturedAt === null) return NOT_CAPTURED_THEN;
  return {
    ok: {
      lat: location.lat,
      lng: location.lng,
      accuracyMeters: location.accuracy_m,
      capturedAtMs: capturedAt?.getTime(),
    },
  };
}

/** A driver's wish to be on duty or off, and when they go home; null where they do not say. */
export type DutyWish = { readonly onDuty: boolean; readonly until: Date | null };

/**
 * Validates a duty as sent to `PUT /driver/duty` or over the driver's socket. `until` lies ahead, by at most
 * MAX_DUTY_MS.
 */
export function validateDuty(body: JsonObject, nowMs: number): Validated<DutyWish> {
  const { on_duty, until } = body;
  const checked = validate(validators.driverDuty, { on_duty, ...(until == null ? {} : { until }) });
  if ('fields' in checked) return checked;
  const end = checked.ok.until == null ? undefined : calendarTime(checked.ok.until);
  if (end === null) return { fields: [{ field: 'until', message: NO_SUCH_TIME }] };
  const aheadMs = end ? end.getTime() - nowMs : 1;
  if (aheadMs <= 0) return { fields: [{ field: 'until', message: 'lies in the past' }] };
  if (aheadMs > MAX_DUTY_MS) {
    return { fields: [{ field: 'until', message: `is at most ${MAX_DUTY_MS / 3_600_000} hours ahead` }] };
  }
  return { ok: { onDuty: checked.ok.on_duty, until: end ?? null } };
}

/** What every action may hold: the phone's own id for it, and when it happened. */
export type ActionBody = { readonly action_id?: string; readonly captured_at?: string };

/**
 * Validates a driver's action against its schema. `action_id` and `captured_at` may be absent or null; an
 * action without an id is not recognized when it is sent twice.
 */
export function validateAction<Body extends ActionBody>(
  fits: Validator<Body>,
  sent: JsonObject,
): Validated<{ readonly stamp: ActionStamp; readonly body: Body }> {
  const checked = validate(fits, Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== null)));
  if ('fields' in checked) return checked;
  const { action_id, captured_at } = checked.ok;
  const capturedAt = captured_at === undefined ? undefined : calendarTime(captured_at);
  if (capturedAt === null) return NOT_CAPTURED_THEN;
  return { ok: { stamp: { actionId: action_id ?? null, capturedAt: capturedAt ?? null }, body: checked.ok } };
}

const NOT_CAPTURED_THEN = { fields: [{ field: 'captured_at', message: NO_SUCH_TIME }] };
