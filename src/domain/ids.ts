import { createHash, randomBytes, randomFillSync } from 'node:crypto';
import { V7Generator } from 'uuidv7';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** A pool of random bytes, as a call of the system's generator costs more than the bytes. */
const pool = Buffer.allocUnsafe(8_192);
let used = pool.length;

/** Fresh random bytes, to be used at once: a later call may overwrite them. */
function someRandomBytes(count: number): Buffer {
  if (used + count > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += count;
  return pool.subarray(used - count, used);
}

const uuids = new V7Generator({ nextUint32: () => someRandomBytes(4).readUInt32LE() });

/**
 * A new identifier: a UUID version 7 (RFC 9562), so that rows inserted together are neighbours in an index.
 */
export function newId(): string {
  return uuids.generate().toString();
}

/** Sorts before every identifier, for reading a table in parts. */
export const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/**
 * The smallest identifier of a millisecond since 1970: a UUID version 7 begins with 48 bits of its time, so rows
 * of a time are found by their ids. The clocks of two processes may differ.
 */
export function firstIdAt(ms: number): string {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/** Whether `text` has the form of an identifier; one that has not must not reach the database. */
export function isId(text: string): boolean {
  return UUID.test(text);
}

/** The kinds of secrets. A secret's prefix tells a person who finds it what it opens. */
export type SecretKind = 'api_key' | 'organization_key' | DriverSecretKind;
/** A driver's token, their phone's tracker, which only reports positions, and the code of a sign-in link. */
export type DriverSecretKind = 'driver_token' | 'tracker' | 'sign_in_code';
/** Whether a key is one of a sandbox. */
export type KeyMode = 'test' | 'live';
const SECRET_FORM: Record<SecretKind, RegExp> = {
  api_key: /^sdk_(?:test_|live_)?[\w-]{32}$/,
  organization_key: /^sdk_(?:test|live)_org_[\w-]{32}$/,
  driver_token: /^sdd_[\w-]{32}$/,
  tracker: /^drp_[\w-]{32}$/,
  sign_in_code: /^sdl_[\w-]{32}$/,
};

const DRIVER_PREFIX: Record<DriverSecretKind, string> = { driver_token: 'sdd_', tracker: 'drp_', sign_in_code: 'sdl_' };
const isOfDriver = (kind: SecretKind): kind is DriverSecretKind => kind in DRIVER_PREFIX;

/**
 * A new secret of 192 random bits. Only its hash is stored.
 *
 * @param mode what a key says of itself; a store's key without it has the form of before, which is good in
 *   every mode
 */
export function newSecret(kind: 'organization_key', mode: KeyMode): string;
export function newSecret(kind: 'api_key' | DriverSecretKind, mode?: KeyMode): string;
export function newSecret(kind: SecretKind, mode?: KeyMode): string {
  const random = randomBytes(24).toString('base64url');
  if (isOfDriver(kind)) return DRIVER_PREFIX[kind] + random;
  return `sdk_${mode === undefined ? '' : `${mode}_`}${kind === 'organization_key' ? 'org_' : ''}${random}`;
}

export function hasSecretForm(kind: SecretKind, text: string): boolean {
  return SECRET_FORM[kind].test(text);
}

/** The mode that a key says; null for one of the form of before, and for what is no key. */
export function keyModeOf(text: string): KeyMode | null {
  const [, mode] = /^sdk_(test|live)_(?:org_)?[\w-]{32}$/.exec(text) ?? [];
  return (mode as KeyMode | undefined) ?? null;
}

/**
 * The driver's token for which a phone exchanges a sign-in code: the same one again for the same attempt, whose
 * reply may have been lost, and another one for another attempt.
 *
 * @param code of 192 random bits, which the token has too
 */
export function tokenOfAttempt(code: string, attempt: string): string {
  const hash = createHash('sha256').update(`${code} ${attempt}`).digest();
  return DRIVER_PREFIX.driver_token + hash.subarray(0, 24).toString('base64url');
}

/** SHA-256 of a secret in hex. No salt is needed, as the secret is random and not chosen by a person. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** Characters of a hash in hex that tell secrets apart: 64 bits, which no two of a billion share by chance. */
export const SECRET_MARK_LENGTH = 16;

/** The beginning of a secret's hash. It proves nothing, but that of a made-up secret is none of the tables'. */
export function secretMark(secretHash: string): string {
  return secretHash.slice(0, SECRET_MARK_LENGTH);
}

/** A new tracking token of 144 random bits, which is all that a customer needs to see an order. */
export function newTrackingToken(): string {
  return someRandomBytes(18).toString('base64url');
}

export function isTrackingToken(text: string): boolean {
  return /^[\w-]{24}$/.test(text);
}
