import { ServiceError } from '../domain/errors.ts';
import { isIdempotencyKey } from '../domain/idempotency.ts';
import { MAX_IDEMPOTENCY_KEY_LENGTH } from '../limits.ts';
import type { RequestHead } from '../transport/route.ts';

/** Marks a reply that repeats the first one under the same key. */
export const REPLAYED: Readonly<Record<string, string>> = { 'Idempotent-Replayed': 'true' };

/**
 * The caller's `Idempotency-Key`, or null without one.
 *
 * @throws {ServiceError} `invalid_request` where it cannot be a key
 */
export function idempotencyKeyOf(head: RequestHead): string | null {
  const key = head.header('idempotency-key');
  if (key === undefined) return null;
  if (isIdempotencyKey(key)) return key;
  const message = `must be 1 to ${MAX_IDEMPOTENCY_KEY_LENGTH} characters of printable ASCII`;
  throw new ServiceError('invalid_request', 'The Idempotency-Key cannot be used; nothing was done.', {
    fields: [{ field: 'Idempotency-Key', message }],
  });
}

export function keyReused(orderId: string): ServiceError {
  const message = `This Idempotency-Key was used for order ${orderId}, with another body. Nothing was done.`;
  return new ServiceError('idempotency_key_reused', message);
}
