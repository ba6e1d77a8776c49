import { CANCEL_REASONS, RELEASE_REASONS, UNDELIVERABLE_REASONS } from '../../domain/order.ts';
import type { JsonSchema } from '../../transport/operation.ts';
import { choice, ID, INTEGER, object, orNull, STRING, TIME } from './schema.ts';

/** What an action of a driver adds, where the phone sent it. */
const stamped = { captured_at: TIME };
const OPERATOR = { type: 'string', const: 'operator' };
const NOTHING = { type: 'null' };
const STAMP = orNull(object({}, stamped));
const CODE = object({ code: orNull(STRING) });

/** The types of an order's events in `GET /orders/{id}`, with the `data` of each. */
export const ORDER_EVENTS: Readonly<Record<string, JsonSchema>> = {
  created: NOTHING,
  driver_assigned: object({ driver_id: ID, distance_meters: INTEGER }),
  released: object(
    { driver_id: ID, reason: choice([...RELEASE_REASONS, 'driver_silent', 'driver_deactivated']) },
    stamped,
  ),
  picked_up: STAMP,
  delivered: orNull(object({}, { ...stamped, proof_distance_meters: INTEGER, position_at: TIME })),
  undeliverable: object({ reason: choice(UNDELIVERABLE_REASONS) }, { ...stamped, by: OPERATOR }),
  returned: orNull(object({}, { ...stamped, by: OPERATOR })),
  cancelled: object({ by: choice(['store', 'operator']), reason: choice(CANCEL_REASONS) }),
  expired: NOTHING,
  payment_paid: NOTHING,
  payment_declined: CODE,
  payment_failed: CODE,
  payment_retried: object({ by: OPERATOR }),
  not_charged: NOTHING,
  refunded: NOTHING,
  refund_failed: CODE,
  sms_sent: NOTHING,
  sms_failed: CODE,
};
