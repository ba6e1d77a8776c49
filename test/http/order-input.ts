import type { JsonObject } from '../../src/http/json.ts';
import { validatePlaceOrder } from '../../src/http/place-order-input.ts';

/** A good order with every field of the contract. */
export const ORDER = {
  retailer_id: '0190a1b2-0000-7000-8000-000000000001',
  customer: { name: 'Ada Lovelace', email: 'ada@example.com', phone: '+14155550123', sms_opt_in: true },
  pickup_address: '1 Market St, San Francisco, CA 94105',
  dropoff_address: { line1: '2 Mission St', line2: 'Apt 3', city: 'San Francisco', state: 'CA', zip: '94105' },
  delivery_tier: 'priority',
};

/** What a good body says in the domain's form. */
export function accepted(body: JsonObject, isSandbox = false) {
  const result = validatePlaceOrder(body, isSandbox);
  if ('fields' in result) throw new Error(JSON.stringify(result.fields));
  return result.ok;
}

/** The bad fields of a body, as `path: message`; empty where it is good. */
export function problems(body: unknown, isSandbox = false): string[] {
  const result = validatePlaceOrder(body as JsonObject, isSandbox);
  return 'fields' in result ? result.fields.map(({ field, message }) => `${field}: ${message}`) : [];
}
