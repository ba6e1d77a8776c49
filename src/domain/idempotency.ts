import { createHash } from 'node:crypto';
import { MAX_IDEMPOTENCY_KEY_LENGTH } from '../limits.ts';
import type { PlaceOrder } from './order.ts';

/** A caller's idempotency key, and the fingerprint of the request, which tells a reused key from a retry. */
export type Idempotency = { readonly key: string; readonly fingerprint: string };
/** What identifies a request for an order: the caller's key, or else the fingerprint. */
export type Identity = { readonly key: string | null; readonly fingerprint: string };

/**
 * Whether `text` can be an `Idempotency-Key`: printable ASCII, which every proxy and log passes on unchanged.
 */
export function isIdempotencyKey(text: string): boolean {
  return text.length <= MAX_IDEMPOTENCY_KEY_LENGTH && /^[\x20-\x7e]+$/.test(text);
}

/** SHA-256 of a request's fields in a fixed order. Fields that the contract does not name are left out. */
export function fingerprintOf({ retailerId, customer, pickupAddress, dropoffAddress, tierId }: PlaceOrder): string {
  const { name, email, phone, smsOptIn } = customer;
  const { line1, line2, city, state, zip } = dropoffAddress;
  const said = [retailerId, name, email, phone, smsOptIn, pickupAddress, line1, line2, city, state, zip, tierId];
  return createHash('sha256').update(JSON.stringify(said)).digest('hex');
}
