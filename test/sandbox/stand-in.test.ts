import { appendFileSync, readFileSync, statSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { getExpectedTwilioSignature } from 'twilio/lib/webhooks/webhooks.js';
import { expect, test } from 'vitest';
import { MAX_LEDGER_BYTES, openLedger } from '../../src/sandbox/ledger.ts';
import { LatestRecords } from '../../src/sandbox/stand-in.ts';
import { listenInTest } from '../harness/closed-after-test.ts';
import { stripeStandIn, twilioStandIn } from '../harness/stand-ins.ts';
import { temporaryFolder } from './temporary.ts';

const PAYMENT = 'amount=999&currency=usd&customer=cus_1&payment_method=pm_card_visa&off_session=true&confirm=true';

function post(url: string, body: string, headers: Record<string, string> = {}) {
  return fetch(url, {
    method: 'POST',
    body,
    headers: { Authorization: 'Bearer sk_test_1', 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
  });
}

const JSON_TYPE = { 'Content-Type': 'application/json' };
const control = (url: string, body: string) => post(url, body, JSON_TYPE);

test('replays a payment under its key and says so, also after a restart', async () => {
  const ledgerFile = join(temporaryFolder(), 'stripe.jsonl');
  const headers = { 'Idempotency-Key': 'k1' };
  const first = await stripeStandIn({ ledgerFile });
  const made = await post(`${first.url}/v1/payment_intents`, PAYMENT, headers);
  expect(made.status).toBe(200);
  expect(made.headers.get('request-id')).toMatch(/^req_/);
  expect(made.headers.get('idempotent-replayed')).toBeNull();
  const payment = await made.json();
  await first.close();
  // The state after a kill in the middle of a line.
  appendFileSync(ledgerFile, '{"type":"pay');

  const second = await stripeStandIn({ ledgerFile });
  const again = await post(`${second.url}/v1/payment_intents`, PAYMENT, headers);
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  expect(await again.json()).toEqual(payment);
  await post(`${second.url}/v1/payment_intents`, PAYMENT, { 'Idempotency-Key': 'k2' });
  await second.close();
  expect((await stripeStandIn({ ledgerFile })).entries()).toHaveLength(2);
});

test('keeps its ledger from other users of the machine', async () => {
  const ledgerFile = join(temporaryFolder(), 'deep', 'twilio.jsonl');
  await twilioStandIn({ ledgerFile });
  expect(statSync(ledgerFile).mode & 0o077).toBe(0);
});

test('refuses what Stripe’s present API refuses', async () => {
  const { url } = await stripeStandIn();
  const old = await post(`${url}/v1/payment_intents`, `${PAYMENT}&payment_method_types[0]=card`);
  expect(old.status).toBe(400);
  expect(await old.json()).toMatchObject({ error: { code: 'payment_method_types_no_longer_supported' } });
  const unknown = await post(`${url}/v1/payment_intents`, `${PAYMENT}&colour=red`);
  expect(await unknown.json()).toMatchObject({ error: { code: 'parameter_unknown', param: 'colour' } });
  const live = await post(`${url}/v1/payment_intents`, PAYMENT, { Authorization: 'Bearer sk_live_1' });
  expect(live.status).toBe(401);
});

test('a decline is a 402 with Stripe’s error and the payment in it', async () => {
  const { url } = await stripeStandIn();
  const reply = await post(`${url}/v1/payment_intents`, PAYMENT.replace('visa', 'chargeDeclined'));
  expect(reply.status).toBe(402);
  expect(await reply.json()).toMatchObject({
    error: {
      type: 'card_error',
      code: 'card_declined',
      decline_code: 'generic_decline',
      payment_intent: { status: 'requires_payment_method' },
    },
  });
});

test('faults happen in their order, and then it works again', async () => {
  const { url, orderFaults } = await stripeStandIn();
  orderFaults({
    next: [
      { kind: 'status', status: 503, effect: 'before', sticky: false },
      { kind: 'reset', effect: 'after' },
      { kind: 'rate_limit' },
    ],
  });
  const ordered = await control(`${url}/_control/faults`, '{"latencyMs":1}');
  expect(await ordered.json()).toEqual({ latencyMs: 1 });
  expect((await post(`${url}/v1/payment_intents`, PAYMENT)).status).toBe(503);
  await expect(post(`${url}/v1/payment_intents`, PAYMENT)).rejects.toThrow();
  expect((await post(`${url}/v1/payment_intents`, PAYMENT)).status).toBe(429);
  expect((await post(`${url}/v1/payment_intents`, PAYMENT)).status).toBe(200);
  const ledger = (await (await fetch(`${url}/_control/ledger`)).json()) as { entries: unknown[] };
  expect(ledger.entries).toHaveLength(2);
});

test.each(['/_control/faults', '/_control/ledger', '/v1/payment_intents'])(
  'answers no web page at %s, not even one whose name leads here',
  async (path) => {
    const standIn = await stripeStandIn();
    const statusWith = (headers: Record<string, string>) =>
      new Promise<number | undefined>((resolve, reject) => {
        const options = { method: 'POST', headers: { ...JSON_TYPE, ...headers } };
        const sent = request(`${standIn.url}${path}`, options, (reply) => {
          reply.resume();
          resolve(reply.statusCode);
        });
        sent.on('error', reject).end('{}');
      });
    expect(await statusWith({ Origin: 'https://evil.example' })).toBe(403);
    expect(await statusWith({ Origin: 'null' })).toBe(403);
    expect(await statusWith({ Host: 'evil.example' })).toBe(403);
    expect(await statusWith({})).not.toBe(403);
  },
);

test('takes no order for control in a type that a page may send unasked', async () => {
  const { url } = await stripeStandIn();
  const plain = await post(`${url}/_control/detach`, '{"payment_method":"pm_card_visa"}', {
    'Content-Type': 'text/plain',
  });
  expect(plain.status).toBe(415);
});

test('a proxy’s page comes instead of an answer, with the effect or without', async () => {
  const { url, entries, orderFaults } = await stripeStandIn();
  const page = { kind: 'page', status: 502 } as const;
  orderFaults({
    next: [
      { ...page, effect: 'before' },
      { ...page, effect: 'after' },
    ],
  });
  for (const effects of [0, 1]) {
    const answer = await post(`${url}/v1/payment_intents`, PAYMENT);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([502, 'text/html']);
    expect(await answer.text()).toMatch(/^<html>/);
    expect(entries()).toHaveLength(effects);
  }
});

test.each(['{', '[]', '{"latencyMs":-1}', '{"latencyMs":"1"}'])('refuses a latency that is none: %s', async (body) => {
  const { url } = await stripeStandIn();
  expect((await control(`${url}/_control/faults`, body)).status).toBe(400);
});

type MessagesPage = { messages: { body: string }[]; next_page_uri: string | null };

test('lists Twilio’s messages by phone and day, newest first, and by pages', async () => {
  const standIn = await twilioStandIn();
  const headers = { Authorization: `Basic ${Buffer.from('AC1:any').toString('base64')}` };
  const url = `${standIn.url}/2010-04-01/Accounts/AC1/Messages.json`;
  for (const body of ['one', 'two']) {
    const reply = await post(url, `To=%2B15551234567&From=%2B15550000000&Body=${body}`, headers);
    expect(reply.status).toBe(201);
  }
  const list = async (query: string) => {
    const reply = await fetch(`${url}?${query}`, { headers });
    return ((await reply.json()) as { messages: { body: string }[] }).messages.map((message) => message.body);
  };
  expect(await list('To=%2B15551234567&DateSent%3E=2020-01-01')).toEqual(['two', 'one']);
  expect(await list('To=%2B15551234567&DateSent%3E=2999-01-01')).toEqual([]);
  expect(await list('To=%2B15557654321')).toEqual([]);
  const page = async (uri: string) => (await (await fetch(standIn.url + uri, { headers })).json()) as MessagesPage;
  const first = await page('/2010-04-01/Accounts/AC1/Messages.json?PageSize=1');
  const second = await page(first.next_page_uri ?? '');
  expect([first, second].map(({ messages }) => messages[0]?.body)).toEqual(['two', 'one']);
  expect(second.next_page_uri).toBeNull();
});

test('a ledger that has grown large is set aside once and read again whole', () => {
  const file = join(temporaryFolder(), 'ledger.jsonl');
  const ledger = openLedger<{ n: number; fill: string }>(file, () => {});
  const fill = 'x'.repeat(1024 * 1024);
  const lines = MAX_LEDGER_BYTES / fill.length + 2;
  for (let n = 0; n < lines; n += 1) ledger.append({ n, fill });
  ledger.close();
  expect(statSync(file).size).toBeLessThan(statSync(`${file}.1`).size);
  expect(readFileSync(file, 'utf8').split('\n').length).toBeGreaterThan(1);
  const seen: number[] = [];
  openLedger<{ n: number }>(file, ({ n }) => seen.push(n)).close();
  expect(seen).toEqual(Array.from({ length: lines }, (_, n) => n));
});

test('tells the service what becomes of Twilio’s messages, signed, and again until it is taken', async () => {
  const told: { url: string; signature: string; form: Record<string, string> }[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const form = Object.fromEntries(new URLSearchParams(body));
      told.push({ url: request.url ?? '', signature: String(request.headers['x-twilio-signature']), form });
      response.writeHead(told.length === 1 ? 503 : 200).end();
    });
  });
  const { url: base } = await listenInTest(server);
  const standIn = await twilioStandIn();
  const headers = { Authorization: `Basic ${Buffer.from('AC1:any').toString('base64')}` };
  const create = (to: string, statusCallback: string) =>
    post(
      `${standIn.url}/2010-04-01/Accounts/AC1/Messages.json`,
      String(new URLSearchParams({ To: to, From: '+15550000000', Body: 'text', StatusCallback: statusCallback })),
      headers,
    );
  // Nobody but this machine is called.
  await create('+15005550010', 'https://delivery.example.com/status');
  expect(standIn.calls()).toEqual({ pending: 0, atWork: 0, unanswered: 0 });
  await create('+15005550010', `${base}/status?order=1#rc=5`);
  await expect.poll(() => standIn.calls().pending).toBe(0);
  const statuses = told.map(({ form }) => form.MessageStatus).sort();
  expect(statuses).toEqual(['sent', 'sent', 'undelivered']);
  for (const { url, signature, form } of told) {
    expect(url).toBe('/status?order=1');
    expect(signature).toBe(getExpectedTwilioSignature('any', `${base}/status?order=1`, form));
  }
  const inbound = await control(`${standIn.url}/_control/inbound`, '{"from": "+15551234567", "body": "STOP"}');
  expect(inbound.status).toBe(200);
  await expect.poll(() => told.at(-1)?.url).toBe('/twilio/inbound');
  expect(told.at(-1)?.form).toMatchObject({ From: '+15551234567', Body: 'STOP', To: '+15550000000' });
  const refused = (await (await create('+15551234567', `${base}/status`)).json()) as { code: number };
  expect(refused.code).toBe(21610);
  expect((await control(`${standIn.url}/_control/inbound`, '[]')).status).toBe(400);
});

test('remembers the latest records, and drops the oldest of them for each further one', () => {
  const records = new LatestRecords<number>(3);
  for (let n = 0; n < 100; n++) records.set(`r${n}`, n).set(`r${Math.max(0, n - 1)}`, -n);
  expect([...records]).toEqual([
    ['r97', -98],
    ['r98', -99],
    ['r99', 99],
  ]);
  records.delete('r98');
  records.set('a', 1).set('b', 2);
  expect([...records.keys()]).toEqual(['r99', 'a', 'b']);
});
