import { expect, test } from 'vitest';
import { newWebhookSecret, signWebhook } from '../../src/events/webhook-signature.ts';
import { verifyWebhook } from '../harness/webhooks.ts';

test('signs the example that the Standard Webhooks libraries are tested with', () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  expect(signWebhook(secret, 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1_614_265_330_999, '{"test": 2432232314}')).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

test('signs what the package of Standard Webhooks verifies, text beyond ASCII included', () => {
  const secret = newWebhookSecret();
  const body = '{"name":"Zoë 🚚"}';
  const headers = signWebhook(secret, 'id', Date.now(), body);
  expect(verifyWebhook(secret, headers, body)).toEqual({ name: 'Zoë 🚚' });
  expect(() => verifyWebhook(secret, headers, '{"name":"Zoe 🚚"}')).toThrow(/signature/);
  expect(() => verifyWebhook(newWebhookSecret(), headers, body)).toThrow(/signature/);
  const old = signWebhook(secret, 'id', Date.now() - 6 * 60_000, body);
  expect(() => verifyWebhook(secret, old, body)).toThrow(/too old/);
});

test('makes secrets of 32 random bytes with the prefix', () => {
  const secrets = Array.from({ length: 50 }, newWebhookSecret);
  expect(new Set(secrets).size).toBe(50);
  for (const secret of secrets) {
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(Buffer.from(secret.slice(6), 'base64')).toHaveLength(32);
  }
});
