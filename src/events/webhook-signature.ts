import { createHmac, randomBytes } from 'node:crypto';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/**
 * A new signing secret: `whsec_` and 32 random bytes in base64 (Standard Webhooks 1.0.0 asks for 24 to 64).
 */
export function newWebhookSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

/**
 * The headers that authenticate a webhook by Standard Webhooks 1.0.0
 * (github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md, "Signature scheme"):
 * HMAC-SHA256 of `{id}.{timestamp}.{body}` with the decoded secret.
 *
 * @param id the same for every attempt of a webhook, and without a full stop
 * @param nowMs the time of this attempt in milliseconds since 1970
 * @param oldSecret signs too, behind a space, so that a receiver may still know only the secret of before
 */
export function signWebhook(
  secret: string,
  id: string,
  nowMs: number,
  body: string,
  oldSecret: string | null = null,
): Record<string, string> {
  const timestamp = Math.floor(nowMs / 1000);
  const signed = `${id}.${timestamp}.${body}`;
  const signatures = [secret, ...(oldSecret === null ? [] : [oldSecret])].map((each) => signatureBy(each, signed));
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signatures.join(' ') };
}

function signatureBy(secret: string, signed: string): string {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
  return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
}
