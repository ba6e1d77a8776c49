import { createHash } from 'node:crypto';
import { MAX_IDEMPOTENCY_KEY_LENGTH } from '../limits.ts';
import type { OrderExtras, PlaceOrder } from './order.ts';
import { DEFAULT_SIZE } from './vehicle.ts';

/** A caller's idempotency key, and the fingerprint of the request, which tells a reused key from a retry. */
export type Idempotency = { readonly key: string; readonly fingerprint: string };
/** What identifies a request for an order: the caller's key, or else the fingerprint. */
export type Identity = { readonly key: string | null; readonly fingerprint: string };

/** As the source of a regular expression. */
export const PRINTABLE_ASCII = '^[ -~]+$';
const isPrintableAscii = new RegExp(PRINTABLE_ASCII);

/**
 * Whether `text` can be an `Idempotency-Key`: printable ASCII, which every proxy and log passes on unchanged.
 */
export function isIdempotencyKey(text: string): boolean {
  return text.length <= MAX_IDEMPOTENCY_KEY_LENGTH && isPrintableAscii.test(text);
}

/**
 * What each version of the fingerprint covers beside what the one before does; the contract's fields are version 1. A
 * new version is one more entry, and no entry ever changes. An order that says nothing else has no extras at all
 * (`saysNothing`), so that a field without an entry is not even stored.
 */
const VERSIONS = new Map<string, (extras: OrderExtras) => readonly unknown[]>([
  [
    '2',
    (extras) => [
      extras.externalId,
      Object.entries(extras.metadata).toSorted(([one], [other]) => (one < other ? -1 : 1)),
      extras.items.map(({ name, quantity }) => [name, quantity]),
      extras.pickupInstructions,
      extras.dropoffInstructions,
      extras.leaveAtDoor,
      ...(extras.scenario ? [[extras.scenario.card, extras.scenario.text, extras.scenario.driver]] : []),
    ],
  ],
  ['3', (extras) => [scheduleOf(extras)]],
]);
const NEWEST = [...VERSIONS.keys()].at(-1) ?? '';

/** Times are instants here: the same one with another offset makes the same order. */
const scheduleOf = ({ readyAt, deliverAfter, deliverBy, size }: OrderExtras): readonly unknown[] => [
  readyAt,
  deliverAfter,
  deliverBy,
  size,
];

/** What an order says that has none of the fields that versions add. */
const NOTHING: OrderExtras = {
  externalId: null,
  metadata: {},
  items: [],
  pickupInstructions: null,
  dropoffInstructions: null,
  leaveAtDoor: false,
  readyAt: null,
  deliverAfter: null,
  deliverBy: null,
  size: DEFAULT_SIZE,
  scenario: null,
};

/**
 * What identifies a request. Its fingerprint is the SHA-256 of the contract's fields, a space, the version and
 * the SHA-256 of what the version adds: `<hex> 2:<hex>`, and `<hex> 2:` where an order has none of it. The
 * first part is the whole fingerprint of version 1, whose build compares nothing else.
 *
 * A request without a key has the oldest version that covers all that it says, and the first part alone where
 * it says nothing that a version adds: processes of two builds compare these texts with each other. With a key
 * the version tells what the build knew, so that a field that is added to a retry counts.
 */
export function identityOf(order: PlaceOrder, key: string | null): Identity {
  const contract = contractFingerprint(order);
  const version = key === null ? oldestVersionOf(order.extras) : NEWEST;
  return { key, fingerprint: version === null ? contract : `${contract} ${addedFingerprint(order, version)}` };
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
  return !VERSIONS.has(version) || added === addedFingerprint(order, version);
}

function contractFingerprint({ retailerId, customer, pickupAddress, dropoffAddress, tierId }: PlaceOrder): string {
  const { name, email, phone, smsOptIn } = customer;
  const { line1, line2, city, state, zip } = dropoffAddress;
  return hashOf([retailerId, name, email, phone, smsOptIn, pickupAddress, line1, line2, city, state, zip, tierId]);
}

/** Whether the fields that versions add say nothing. */
export const saysNothing = (extras: OrderExtras): boolean => oldestVersionOf(extras) === null;

/** The oldest version that covers all that the order says; null where the contract's fields do. */
function oldestVersionOf(extras: OrderExtras | null): string | null {
  if (extras === null) return null;
  const said = [...VERSIONS].filter(([, fields]) => JSON.stringify(fields(extras)) !== JSON.stringify(fields(NOTHING)));
  return said.at(-1)?.[0] ?? null;
}

/** An order that says nothing of a version's fields has no hash, also where it says something of later ones. */
function addedFingerprint({ extras }: PlaceOrder, version: string): string {
  const said = extras && fieldsUpTo(version, extras);
  const isNothing = !said || JSON.stringify(said) === JSON.stringify(fieldsUpTo(version, NOTHING));
  return `${version}:${isNothing ? '' : hashOf(said)}`;
}

/** What a version covers: its own fields, after those of the versions before. */
function fieldsUpTo(version: string, extras: OrderExtras): readonly unknown[] {
  const versions = [...VERSIONS.keys()];
  return versions.slice(0, versions.indexOf(version) + 1).flatMap((each) => VERSIONS.get(each)?.(extras) ?? []);
}

/** SHA-256 in hex of values in a fixed order. */
function hashOf(said: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(said)).digest('hex');
}
