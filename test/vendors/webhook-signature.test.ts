import { webcrypto } from 'node:crypto';
import { expect, test } from 'vitest';
import { newWebhookSecret, signWebhook } from '../../src/vendors/webhook-signature.ts';

test('signs the example that the Standard Webhooks libraries are tested with', () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  expect(signWebhook(secret, 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1_614_265_330_999, '{"test": 2432232314}')).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

test('signs text beyond ASCII as a receiver reads it, by its bytes', async () => {
  const secret = newWebhookSecret();
  const body = '{"name":"Zoë 🚚"}';
  const { 'webhook-signature': signature = '' } = signWebhook(secret, 'id', 1_000, body);
  const { subtle } = webcrypto;
  const hmac = { name: 'HMAC', hash: 'SHA-256' };
  const key = await subtle.importKey('raw', Buffer.from(secret.slice(6), 'base64'), hmac, false, ['verify']);
  const mac = Buffer.from(signature.slice(3), 'base64');
  expect(await subtle.verify('HMAC', key, mac, new TextEncoder().encode(`id.1.${body}`))).toBe(true);
});

test('makes secrets of 32 random bytes with the prefix', () => {
  const secrets = Array.from({ length: 50 }, newWebhookSecret);
  expect(new Set(secrets).size).toBe(50);
  for (const secret of secrets) {
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(Buffer.from(secret.slice(6), 'base64')).toHaveLength(32);
  }
});
