import { createHash } from 'node:crypto';
import { MAX_IDEMPOTENCY_KEY_LENGTH } from '../limits.ts';
import type { PlaceOrder } from './order.ts';

/** A caller's word that all requests with this key are one, and what the request says, to tell another one apart. */
export type Idempotency = { readonly key: string; readonly fingerprint: string };
/** What tells one request for an order from another: the caller's key, or else what it says. */
export type Identity = { readonly key: string | null; readonly fingerprint: string };

/** Whether `text` can be an `Idempotency-Key`: printable ASCII, so that it survives every proxy and log. */
export function isIdempotencyKey(text: string): boolean {
  return text.length <= MAX_IDEMPOTENCY_KEY_LENGTH && /^[\x20-\x7e]+$/.test(text);
}

/** SHA-256 of all that an order says, in a fixed order; fields that the contract does not name count for nothing. */
export function fingerprintOf({ retailerId, customer, pickupAddress, dropoffAddress, tierId }: PlaceOrder): string {
  const { name, email, phone, smsOptIn } = customer;
  const { line1, line2, city, state, zip } = dropoffAddress;
  const said = [retailerId, name, email, phone, smsOptIn, pickupAddress, line1, line2, city, state, zip, tierId];
  return createHash('sha256').update(JSON.stringify(said)).digest('hex');
}
