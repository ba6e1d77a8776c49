import { expect, test } from 'vitest';
import { createPushSender, newPushKeys, PUSH_TTL_SECONDS, pushSubject } from '../../src/driver-app/push-sender.ts';
import { createWebhookClient, type WebhookOutcome } from '../../src/vendors/webhook-client.ts';
import { claimsOf, newPushPhone } from '../harness/push-phone.ts';

const keys = newPushKeys();
const subject = 'mailto:help@example.com';
const ENDPOINT = 'https://push.example.com/send/1';

function senderTo(outcome: WebhookOutcome) {
  const sent: { url: string; headers: Readonly<Record<string, string>>; body: string | Buffer }[] = [];
  const client = {
    async post(request: (typeof sent)[number]) {
      sent.push(request);
      return outcome;
    },
  };
  return { sent, send: createPushSender({ client, keys, subject }) };
}
const answered = (status: number): WebhookOutcome => ({ kind: 'answered', status });

test('a push is sealed for its phone, signed for its vendor, and says nothing but its kind', async () => {
  const phone = newPushPhone();
  const { sent, send } = senderTo(answered(201));
  expect(await send({ endpoint: ENDPOINT, ...phone }, 'given')).toBe('sent');
  const [request] = sent;
  expect(request?.url).toBe(ENDPOINT);
  expect(phone.open(request?.body as Buffer)).toBe('{"kind":"given"}');
  expect(request?.headers).toMatchObject({
    'content-type': 'application/octet-stream',
    'content-encoding': 'aes128gcm',
    ttl: String(PUSH_TTL_SECONDS),
    urgency: 'high',
    topic: 'given',
  });
  const claims = claimsOf(request?.headers.authorization, keys.publicKey);
  expect(claims).toMatchObject({ aud: 'https://push.example.com', sub: subject });
  expect(claimsOf(request?.headers.authorization, newPushKeys().publicKey)).toBeNull();
});

test.each<[string, WebhookOutcome]>([
  ['sent', answered(200)],
  ['gone', answered(404)],
  ['gone', answered(410)],
  ['refused', answered(403)],
  ['refused', answered(429)],
  ['refused', answered(301)],
  ['unanswered', { kind: 'unanswered', code: 'timeout' }],
  ['unanswered', { kind: 'stopped' }],
])('is %s by what its vendor answers', async (expected, outcome) => {
  expect(await senderTo(outcome).send({ endpoint: ENDPOINT, ...newPushPhone() }, 'taken')).toBe(expected);
});

test('a phone whose key is no point of the curve is gone, and nothing is sent', async () => {
  const { sent, send } = senderTo(answered(201));
  const p256dh = Buffer.concat([Buffer.from([4]), Buffer.alloc(64, 7)]).toString('base64url');
  expect(await send({ endpoint: ENDPOINT, p256dh, auth: newPushPhone().auth }, 'given')).toBe('gone');
  expect(sent).toEqual([]);
});

test('an address whose name leads into a private network is not asked', async () => {
  const client = createWebhookClient({ sandbox: false, resolve: async () => ['10.0.0.7'] });
  const send = createPushSender({ client, keys, subject });
  expect(await send({ endpoint: ENDPOINT, ...newPushPhone() }, 'given')).toBe('unanswered');
  client.close();
});

test('the vendors of phones write to the public address, or to the support', () => {
  const supportEmail = 'help@example.com';
  expect(pushSubject({ baseUrl: 'https://delivery.example.com/base', supportEmail })).toBe(
    'https://delivery.example.com',
  );
  for (const baseUrl of [null, 'http://delivery.example.com']) {
    expect(pushSubject({ baseUrl, supportEmail })).toBe('mailto:help@example.com');
  }
});
