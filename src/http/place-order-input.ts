import type { PlaceOrder } from '../domain/order.ts';
import { DEFAULT_TIER } from '../domain/tier.ts';
import type { FromSchema } from './from-schema.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { normaliseExtras, toExtras } from './order-extras-input.ts';
import { impossibleTimes } from './order-times-input.ts';
import type { schemas } from './schemas.ts';
import { present, trimmed, unlessEmpty } from './tidy.ts';
import { type Validated, validate } from './validate.ts';
import { validators } from './validators.js';

/**
 * The store that a body names, or undefined where it names none. A string other than the key's store is a 401
 * before any other field is checked; a missing or ill-typed one is an error of that field.
 */
export function readRetailerId(body: JsonObject): string | undefined {
  const id = normaliseId(body.retailer_id);
  return typeof id === 'string' ? id : undefined;
}

/** A UUID is the same in capitals (RFC 9562). */
function normaliseId(id: unknown): unknown {
  return typeof id === 'string' ? id.trim().toLowerCase() : id;
}

/**
 * Validates the body of `POST /orders/create` and brings it into the domain's form: outer spaces trimmed,
 * state in upper case, an empty second line dropped, defaults filled in. Fields that the schema does not name
 * are ignored; `warningsOf` names them. All wrong fields are named at once.
 *
 * @param isSandbox whether `sandbox` is a field of an order
 */
export function validatePlaceOrder(body: JsonObject, isSandbox = false): Validated<PlaceOrder> {
  const normal = normalise(body, isSandbox);
  const checked = validate(validators.placeOrder, normal);
  const fields = [...('fields' in checked ? checked.fields : []), ...impossibleTimes(normal)];
  return 'fields' in checked || fields.length > 0 ? { fields } : { ok: toPlaceOrder(checked.ok) };
}

/** The fields of the schema, tidied where they are text; the schema checks what they are. */
function normalise(body: JsonObject, isSandbox: boolean): JsonObject {
  return present({
    retailer_id: normaliseId(body.retailer_id),
    customer: isJsonObject(body.customer) ? normaliseCustomer(body.customer) : body.customer,
    pickup_address: trimmed(body.pickup_address),
    dropoff_address: isJsonObject(body.dropoff_address) ? normaliseAddress(body.dropoff_address) : body.dropoff_address,
    delivery_tier: body.delivery_tier,
    ...normaliseExtras(body, isSandbox),
  });
}

function normaliseCustomer(customer: JsonObject): JsonObject {
  return present({
    name: trimmed(customer.name),
    email: trimmed(customer.email),
    phone: trimmed(customer.phone),
    sms_opt_in: customer.sms_opt_in,
  });
}

function normaliseAddress(address: JsonObject): JsonObject {
  return present({
    line1: trimmed(address.line1),
    line2: unlessEmpty(trimmed(address.line2)),
    city: trimmed(address.city),
    state: upperCaseCode(trimmed(address.state)),
    zip: trimmed(address.zip),
  });
}

/** ASCII letters only: `toUpperCase` makes `SS` of `ß`. */
function upperCaseCode(value: unknown): unknown {
  return typeof value === 'string' && /^[A-Za-z]{2}$/.test(value) ? value.toUpperCase() : value;
}

function toPlaceOrder(body: FromSchema<typeof schemas.placeOrder>): PlaceOrder {
  const { name, email, phone, sms_opt_in } = body.customer;
  const { line1, line2, city, state, zip } = body.dropoff_address;
  return {
    retailerId: body.retailer_id,
    customer: { name, email, phone, smsOptIn: sms_opt_in ?? false },
    pickupAddress: body.pickup_address,
    dropoffAddress: { line1, line2: line2 ?? null, city, state, zip },
    tierId: body.delivery_tier ?? DEFAULT_TIER,
    extras: toExtras(body),
  };
}
