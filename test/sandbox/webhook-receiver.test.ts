import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished, test } from 'vitest';
import { newWebhookSecret } from '../../src/events/webhook-signature.ts';
import { startWebhookReceiver } from '../../src/sandbox/webhook-receiver.ts';

const BODY = '{"type":"order.delivered","data":{"name":"Zoë"}}';

async function receiver() {
  const secret = newWebhookSecret();
  const started = await startWebhookReceiver(secret);
  onTestFinished(() => started.close());
  const post = async (headers: Record<string, string>, body = BODY, method = 'POST') =>
    (await fetch(`${started.url}/demo-store`, { method, headers, ...(method === 'POST' ? { body } : {}) })).status;
  return { secret, started, post };
}

/** Signs by Standard Webhooks' package, as any sender would. */
function signed(secret: string, at = new Date(), body = BODY): Record<string, string> {
  return {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign('msg_1', at, body),
  };
}

test('accepts a signed webhook and shows its event', async () => {
  const { secret, started, post } = await receiver();
  expect(await post(signed(secret))).toBe(200);
  const several = signed(secret);
  expect(await post({ ...several, 'webhook-signature': `v1,AAAA ${several['webhook-signature']}` })).toBe(200);
  expect(started.entries()).toEqual([JSON.parse(BODY), JSON.parse(BODY)]);
});

test('refuses another body, another secret, another id, an old time, and no signature', async () => {
  const { secret, started, post } = await receiver();
  const headers = signed(secret);
  expect(await post(headers, BODY.replace('delivered', 'returned'))).toBe(401);
  expect(await post(signed(newWebhookSecret()))).toBe(401);
  expect(await post({ ...headers, 'webhook-id': 'msg_2' })).toBe(401);
  expect(await post(signed(secret, new Date(Date.now() - 6 * 60_000)))).toBe(401);
  expect(await post({ ...headers, 'webhook-timestamp': 'soon' })).toBe(401);
  expect(await post({})).toBe(401);
  expect(await post(headers, '', 'GET')).toBe(405);
  expect(started.entries()).toEqual([]);
});
