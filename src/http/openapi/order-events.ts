import { TEXT_KINDS } from '../../domain/customer-text.ts';
import { CANCEL_REASONS, RELEASE_REASONS, UNDELIVERABLE_REASONS } from '../../domain/order.ts';
import type { JsonSchema } from '../../transport/operation.ts';
import { choice, ID, INTEGER, object, orNull, STRING, TIME, TIME_RANGE } from './schema.ts';

/** What an action of a driver adds, where the phone sent it. */
const stamped = { captured_at: TIME };
const OPERATOR = { type: 'string', const: 'operator' };
const NOTHING = { type: 'null' };
const STAMP = orNull(object({}, stamped));
const CODE = object({ code: orNull(STRING) });
/** Which text; the versions before had one kind, and named none. */
const TEXT = { kind: choice(TEXT_KINDS) };

/** Why a driver has an order no longer, before its pickup. */
export const RELEASED_BECAUSE = choice([...RELEASE_REASONS, 'driver_silent', 'driver_deactivated']);
/** What the sandbox adds to an order that it tidied up. */
export const BY_SANDBOX = { by: { type: 'string', const: 'sandbox' } };

/** The types of an order's events in `GET /orders/{id}`, with the `data` of each. */
export const ORDER_EVENTS: Readonly<Record<string, JsonSchema>> = {
  created: NOTHING,
  driver_assigned: object({ driver_id: ID, distance_meters: INTEGER }),
  released: object({ driver_id: ID, reason: RELEASED_BECAUSE }, stamped),
  picked_up: STAMP,
  delivered: orNull(object({}, { ...stamped, proof_distance_meters: INTEGER, position_at: TIME })),
  undeliverable: object({ reason: choice(UNDELIVERABLE_REASONS) }, { ...stamped, by: OPERATOR }),
  returned: orNull(object({}, { ...stamped, by: OPERATOR })),
  cancelled: object({ by: choice(['store', 'operator']), reason: choice(CANCEL_REASONS) }),
  expired: orNull(object({}, BY_SANDBOX)),
  payment_paid: NOTHING,
  payment_declined: CODE,
  payment_failed: object({ code: orNull(STRING) }, { retry_after_seconds: INTEGER }),
  payment_retried: object({ by: choice(['store', 'operator', 'service']) }),
  not_charged: NOTHING,
  refunded: NOTHING,
  partly_refunded: object({ refund_id: STRING, amount_cents: INTEGER }),
  refund_retried: NOTHING,
  refund_failed: object({ code: orNull(STRING) }, { refund_id: STRING }),
  disputed: object({ dispute_id: STRING, amount_cents: INTEGER, code: STRING }),
  dispute_closed: object({ dispute_id: STRING, outcome: choice(['won', 'lost']) }),
  dropoff_changed: NOTHING,
  estimate_changed: object({ estimated_delivery: TIME_RANGE }),
  sms_sent: orNull(object({}, TEXT)),
  sms_delivered: object(TEXT),
  sms_undelivered: object({ ...TEXT, code: STRING }),
  sms_failed: object({ code: orNull(STRING) }, TEXT),
  sms_retried: object(TEXT),
  sms_kept: object({ ...TEXT, code: STRING }),
};
