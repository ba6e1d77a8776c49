import { createHash } from 'node:crypto';
import { MAX_IDEMPOTENCY_KEY_LENGTH } from '../limits.ts';
import type { OrderExtras, PlaceOrder } from './order.ts';

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

/**
 * What a version of the fingerprint covers beside the contract's fields, which are version 1. A new version is
 * one more line, with all that the one before covers; no line ever changes.
 */
const ADDED: Readonly<Record<string, (extras: OrderExtras) => readonly unknown[]>> = {
  2: (extras) => [
    extras.externalId,
    Object.entries(extras.metadata).toSorted(([one], [other]) => (one < other ? -1 : 1)),
    extras.items.map(({ name, quantity }) => [name, quantity]),
    extras.pickupInstructions,
    extras.dropoffInstructions,
    extras.leaveAtDoor,
  ],
};
const VERSION = '2';

/**
 * What identifies a request. Its fingerprint is the SHA-256 of the contract's fields, a space, the version and
 * the SHA-256 of what the version adds: `<hex> 2:<hex>`, and `<hex> 2:` where an order has none of it. The
 * first part is the whole fingerprint of version 1, whose build compares nothing else.
 *
 * A request without a key, and without what a version adds, has the first part alone: processes of two builds
 * compare these texts with each other.
 */
export function identityOf(order: PlaceOrder, key: string | null): Identity {
  const contract = contractFingerprint(order);
  const isPlain = key === null && order.extras === null;
  return { key, fingerprint: isPlain ? contract : `${contract} ${addedFingerprint(order, VERSION)}` };
}

/**
 * Whether a request says the same as the one whose fingerprint was stored. They are compared under the stored
 * version: an order of a build before said nothing of fields that the build did not know. A version that this
 * build does not know, as after a return to it, is compared by the contract's fields alone.
 */
export function isSameRequest(stored: string, order: PlaceOrder): boolean {
  const [contract, added = ''] = stored.split(' ');
  if (contract !== contractFingerprint(order)) return false;
  const version = added.slice(0, added.indexOf(':'));
  return !Object.hasOwn(ADDED, version) || added === addedFingerprint(order, version);
}

function contractFingerprint({ retailerId, customer, pickupAddress, dropoffAddress, tierId }: PlaceOrder): string {
  const { name, email, phone, smsOptIn } = customer;
  const { line1, line2, city, state, zip } = dropoffAddress;
  return hashOf([retailerId, name, email, phone, smsOptIn, pickupAddress, line1, line2, city, state, zip, tierId]);
}

function addedFingerprint({ extras }: PlaceOrder, version: string): string {
  const fields = extras && ADDED[version]?.(extras);
  return `${version}:${fields ? hashOf(fields) : ''}`;
}

/** SHA-256 in hex of values in a fixed order. */
function hashOf(said: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(said)).digest('hex');
}
