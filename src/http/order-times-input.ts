import type { FieldError } from '../domain/errors.ts';
import type { OrderExtras } from '../domain/order.ts';
import { DEFAULT_SIZE } from '../domain/vehicle.ts';
import type { FromSchema } from './from-schema.ts';
import { calendarTime, NO_SUCH_TIME } from './input.ts';
import type { JsonObject } from './json.ts';
import { type schemas, TIMESTAMP } from './schemas.ts';

type Schedule = Pick<OrderExtras, 'readyAt' | 'deliverAfter' | 'deliverBy' | 'size'>;

const TIME_FIELDS = ['ready_at', 'deliver_after', 'deliver_by'] as const;
const HAS_TIMESTAMP_FORM = new RegExp(TIMESTAMP, 'u');

/**
 * The times of a body that have the form of a time and are none, such as February 30: one error for each. What
 * is compared with the clock comes later, after the replay of a key.
 */
export function impossibleTimes(body: JsonObject): readonly FieldError[] {
  return TIME_FIELDS.filter((field) => {
    const text = body[field];
    return typeof text === 'string' && HAS_TIMESTAMP_FORM.test(text) && calendarTime(text) === null;
  }).map((field) => ({ field, message: NO_SUCH_TIME }));
}

/** The times and the size of a body that fits its schema. */
export function toSchedule(body: FromSchema<typeof schemas.placeOrder>): Schedule {
  const { ready_at, deliver_after, deliver_by, size = DEFAULT_SIZE } = body;
  const toDate = (text: string | undefined) => (text === undefined ? null : new Date(text));
  return { readyAt: toDate(ready_at), deliverAfter: toDate(deliver_after), deliverBy: toDate(deliver_by), size };
}
