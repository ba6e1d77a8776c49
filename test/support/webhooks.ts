import { webcrypto } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

const TOLERANCE_SECONDS = 300;

/**
 * What a receiver does by Standard Webhooks 1.0.0, written apart from the service's own signing: any of the signatures
 * must be the HMAC-SHA256 of `{id}.{timestamp}.{body}`, and the time within five minutes.
 *
 * @throws when the webhook is not to be trusted
 */
export async function verifyWebhook(secret: string, headers: IncomingHttpHeaders, body: string): Promise<unknown> {
  const id = headers['webhook-id'];
  const timestamp = Number(headers['webhook-timestamp']);
  const signatures = String(headers['webhook-signature']).split(' ');
  if (!(Math.abs(Date.now() / 1000 - timestamp) <= TOLERANCE_SECONDS)) throw new Error('the time is off');
  const { subtle } = webcrypto;
  const bytes = Uint8Array.from(atob(secret.replace(/^whsec_/, '')), (character) => character.charCodeAt(0));
  const key = await subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  for (const signature of signatures) {
    const [version, mac = ''] = signature.split(',');
    if (version === 'v1' && (await subtle.verify('HMAC', key, Buffer.from(mac, 'base64'), signed))) {
      return JSON.parse(body);
    }
  }
  throw new Error('no signature matches');
}
