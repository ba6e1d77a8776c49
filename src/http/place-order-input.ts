import type { FieldError } from '../domain/errors.ts';
import type { PlaceOrder } from '../domain/order.ts';
import { type ContractTierId, DEFAULT_TIER } from '../domain/tier.ts';
import { findFieldErrors } from './field-errors.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { placeOrder as fits } from './validators.js';

/**
 * The store that a body names, exactly as sent, or undefined where it names none; a string that is not the key's store is
 * a 401 before any other field is looked at, a missing or ill-typed one is an error of that field.
 */
export function readRetailerId(body: JsonObject): string | undefined {
  return typeof body.retailer_id === 'string' ? body.retailer_id : undefined;
}

/**
 * Validates the body of `POST /orders/create` and brings it into the domain's form: outer spaces trimmed, state in upper
 * case, an empty second line dropped, defaults filled in. Fields that the contract does not name are ignored. All bad
 * fields are named at once.
 */
export function validatePlaceOrder(
  body: JsonObject,
): { readonly ok: PlaceOrder } | { readonly fields: readonly FieldError[] } {
  const candidate = normalise(body);
  const fields = findFieldErrors(fits, candidate);
  return fields.length > 0 ? { fields } : { ok: toPlaceOrder(candidate as Candidate) };
}

/** The known fields alone, tidied where they are text; whether they are is for the schema to say. */
function normalise(body: JsonObject): JsonObject {
  return present({
    retailer_id: body.retailer_id,
    customer: isJsonObject(body.customer) ? normaliseCustomer(body.customer) : body.customer,
    pickup_address: trimmed(body.pickup_address),
    dropoff_address: isJsonObject(body.dropoff_address) ? normaliseAddress(body.dropoff_address) : body.dropoff_address,
    delivery_tier: body.delivery_tier,
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
  const line2 = trimmed(address.line2);
  return present({
    line1: trimmed(address.line1),
    line2: line2 === null || line2 === '' ? undefined : line2,
    city: trimmed(address.city),
    state: upperCaseCode(trimmed(address.state)),
    zip: trimmed(address.zip),
  });
}

function trimmed(value: unknown): unknown {
  return typeof value === 'string' ? value.trim() : value;
}

/** ASCII letters only: `toUpperCase` makes `SS` of `ß`. */
function upperCaseCode(value: unknown): unknown {
  return typeof value === 'string' && /^[A-Za-z]{2}$/.test(value) ? value.toUpperCase() : value;
}

function present(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** A candidate that the schema found good. */
type Candidate = JsonObject & {
  readonly retailer_id: string;
  readonly customer: { name: string; email: string; phone: string; sms_opt_in?: boolean };
  readonly pickup_address: string;
  readonly dropoff_address: { line1: string; line2?: string; city: string; state: string; zip: string };
  readonly delivery_tier?: ContractTierId;
};

function toPlaceOrder({
  retailer_id,
  customer,
  pickup_address,
  dropoff_address,
  delivery_tier,
}: Candidate): PlaceOrder {
  const { name, email, phone, sms_opt_in } = customer;
  const { line1, line2, city, state, zip } = dropoff_address;
  return {
    retailerId: retailer_id,
    customer: { name, email, phone, smsOptIn: sms_opt_in ?? false },
    pickupAddress: pickup_address,
    dropoffAddress: { line1, line2: line2 ?? null, city, state, zip },
    tierId: delivery_tier ?? DEFAULT_TIER,
  };
}
