import { expect, test, vi } from 'vitest';
import type { CallbackOutcome } from '../../src/payments/stripe-callbacks.ts';
import type { StripeEvent } from '../../src/payments/stripe-events.ts';
import { createStripeSignatures, STRIPE_SIGNATURE_SECONDS } from '../../src/payments/stripe-signature.ts';
import { MAX_STRIPE_EVENT_BYTES, stripeWebhookRoute } from '../../src/payments/stripe-webhook.ts';
import { sign } from '../../src/sandbox/stripe-events.ts';
import { rawConnection, startServer } from './support.ts';

const NEW = 'whsec_0123456789abcdef0123456789abcdef';
const OLD = 'whsec_fedcba9876543210fedcba9876543210';
const now = () => Math.floor(Date.now() / 1_000);
const PAYLOAD = JSON.stringify({
  id: 'evt_1',
  object: 'event',
  created: now(),
  livemode: false,
  type: 'payment_method.detached',
  data: { object: { id: 'pm_1', name: 'José' } },
});

async function world(outcome: CallbackOutcome | Error = 'done') {
  const take = vi.fn(async (_event: StripeEvent): Promise<CallbackOutcome> => {
    if (outcome instanceof Error) throw outcome;
    return outcome;
  });
  const counted: string[] = [];
  const observe = (...labels: string[]) => void counted.push(labels.join(' '));
  const signatures = createStripeSignatures([NEW, OLD]);
  const route = stripeWebhookRoute({ signatures, callbacks: { take }, observe });
  const { url, port, log } = await startServer({ routes: [route] });
  async function call(body: string, headers: Record<string, string>) {
    const all = { 'content-type': 'application/json; charset=utf-8', ...headers };
    const response = await fetch(`${url}/stripe/webhook`, { method: 'POST', headers: all, body });
    return { status: response.status, text: await response.text() };
  }
  const signed = (body: string, secret = NEW, at = now()) => call(body, { 'stripe-signature': sign(body, secret, at) });
  return { take, counted, log, port, call, signed };
}

test('an event that either secret signed is taken, with its bytes as they came', async () => {
  const { take, signed, counted } = await world();
  expect((await signed(PAYLOAD)).status).toBe(200);
  expect((await signed(PAYLOAD, OLD)).status).toBe(200);
  expect(take).toHaveBeenCalledTimes(2);
  expect(take.mock.calls[0]?.[0]).toMatchObject({
    id: 'evt_1',
    type: 'payment_method.detached',
    live: false,
    news: { kind: 'card_removed', paymentMethodId: 'pm_1' },
  });
  expect(counted).toEqual(Array(2).fill('stripe payment_method.detached done'));
});

test('an unsigned, forged, changed or stale call is 401, is counted, and reaches nothing', async () => {
  const { take, call, signed, counted } = await world();
  const statuses = [
    await call(PAYLOAD, {}),
    await call(PAYLOAD, { 'stripe-signature': '' }),
    await call(PAYLOAD, { 'stripe-signature': 'v1=00' }),
    await call(PAYLOAD, { 'stripe-signature': `t=${now()},v1=${'0'.repeat(64)}` }),
    await call(PAYLOAD, { 'stripe-signature': `${sign(PAYLOAD, NEW)}${'x'.repeat(2_000)}` }),
    await call(PAYLOAD, { authorization: `Bearer ${NEW}` }),
    await call(`${PAYLOAD} `, { 'stripe-signature': sign(PAYLOAD, NEW) }),
    await signed(PAYLOAD, 'whsec_another0123456789'),
    await signed(PAYLOAD, NEW, now() - STRIPE_SIGNATURE_SECONDS - 2),
    await signed(PAYLOAD, NEW, now() + STRIPE_SIGNATURE_SECONDS + 60),
    await signed('not json'),
    await signed('{"object":"v2.core.event"}'),
    await signed('{"object":"event"}'),
  ].map(({ status }) => status);
  expect(statuses).toEqual(statuses.map(() => 401));
  expect(take).not.toHaveBeenCalled();
  expect(counted).toEqual(statuses.map(() => 'stripe other unsigned'));
});

test('a dispute is taken with all the evidence that Stripe keeps, each character escaped', async () => {
  const { take, signed } = await world();
  const evidence = '\\u00e9'.repeat(150_000);
  const payload = `${PAYLOAD.slice(0, -1)},"evidence":"${evidence}"}`;
  expect((await signed(payload)).status).toBe(200);
  expect(take).toHaveBeenCalledTimes(1);
});

test('a body over the bound or of another type is refused, whoever signed it', async () => {
  const { take, call, signed } = await world();
  expect((await signed(JSON.stringify({ pad: 'x'.repeat(MAX_STRIPE_EVENT_BYTES) }))).status).toBe(413);
  const headers = { 'content-type': 'text/plain', 'stripe-signature': sign(PAYLOAD, NEW) };
  expect((await call(PAYLOAD, headers)).status).toBe(415);
  expect(take).not.toHaveBeenCalled();
});

test('a call that cannot be signed is refused before its body comes', async () => {
  const { port, take } = await world();
  const client = rawConnection(port);
  client.send(
    'POST /stripe/webhook HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n' +
      `Stripe-Signature: t=1,v1=${'0'.repeat(64)}\r\nContent-Length: 60000\r\n\r\n{`,
  );
  await expect.poll(() => client.statuses).toEqual([401]);
  expect(take).not.toHaveBeenCalled();
});

test.each<[string, CallbackOutcome]>([
  ['that is known', 'unchanged'],
  ['of nobody', 'unknown'],
  ['of a type that is not taken', 'ignored'],
  ['of another mode', 'wrong_mode'],
])('an event %s is 200 and counted', async (_what, outcome) => {
  const { signed, counted } = await world(outcome);
  expect((await signed(PAYLOAD)).status).toBe(200);
  expect(counted).toEqual([`stripe payment_method.detached ${outcome}`]);
});

test('without Stripe or the database the answer is 503, so that Stripe sends it again', async () => {
  expect((await (await world('later')).signed(PAYLOAD)).status).toBe(503);
  const away = await world(Object.assign(new Error('secret detail'), { code: 'CONNECTION_CLOSED' }));
  const answer = await away.signed(PAYLOAD);
  expect(answer.status).toBe(503);
  expect(away.counted).toEqual(['stripe payment_method.detached failed']);
  expect(JSON.stringify([answer.text, away.log])).not.toContain('secret detail');
});
