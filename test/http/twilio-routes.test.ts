import { getExpectedTwilioSignature } from 'twilio/lib/webhooks/webhooks.js';
import { expect, test } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import type { TextReport } from '../../src/store/texts/text-statuses.ts';
import { MAX_TWILIO_CALL_BYTES, twilioRoutes } from '../../src/texts/twilio-route.ts';
import { startServer } from './support.ts';

const BASE = 'https://delivery.example.com';
const TOKEN = 'the auth token';
const STOP = { From: '+14155550123', MessageSid: 'SM1', Body: 'STOP' };
const orderId = newId();
const STATUS_PATH = `/twilio/status?order=${orderId}&kind=on_the_way`;
const DELIVERED = { MessageSid: 'SM1', MessageStatus: 'delivered' };

async function world(fails = false) {
  const reports: TextReport[] = [];
  const wishes: unknown[] = [];
  const outcomes: string[] = [];
  const changed: string[] = [];
  const sender: boolean[] = [];
  const { url } = await startServer({
    routes: twilioRoutes({
      authToken: TOKEN,
      addressesOf: () => ['https://other.example.com', BASE],
      store: {
        async recordTextReport(report) {
          if (fails) throw new Error('the database is away');
          reports.push(report);
          return reports.length === 1;
        },
        async setOptOut(...wish) {
          wishes.push(wish);
          return true;
        },
      },
      events: { detailsChanged: (id) => changed.push(id) },
      senderSeen: async (works) => sender.push(works),
      observe: (vendor, type, outcome) => outcomes.push(`${vendor} ${type} ${outcome}`),
    }),
  });
  const call = (path: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
    fetch(url + path, {
      method: 'POST',
      headers: { 'X-Twilio-Signature': getExpectedTwilioSignature(TOKEN, BASE + path, form), ...headers },
      body: new URLSearchParams(form),
    });
  return { call, url, reports, wishes, outcomes, changed, sender };
}

test('a signed call is recorded and answered with nothing to say', async () => {
  const { call, reports, wishes, outcomes, changed } = await world();
  const reply = await call(STATUS_PATH, DELIVERED);
  expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'text/xml; charset=utf-8']);
  expect(await reply.text()).toBe('<?xml version="1.0" encoding="UTF-8"?><Response></Response>');
  expect((await call('/twilio/inbound', STOP)).status).toBe(200);
  const report = { orderId, kind: 'on_the_way', sid: 'SM1', status: 'delivered', failureCode: null };
  expect(reports).toEqual([{ ...report, sender: null }]);
  expect(wishes).toEqual([['+14155550123', true, 'SM1']]);
  expect(changed).toEqual([orderId]);
  expect(outcomes).toEqual(['twilio status done', 'twilio inbound done']);
});

test('what carriers say of the sender is told, and not what they say of the recipient', async () => {
  const { call, reports, sender } = await world();
  for (const form of [
    { MessageStatus: 'sent' },
    { MessageStatus: 'undelivered', ErrorCode: '30034' },
    { MessageStatus: 'undelivered', ErrorCode: '30035' },
    { MessageStatus: 'undelivered', ErrorCode: '30003' },
    { MessageStatus: 'delivered' },
  ])
    await call(STATUS_PATH, { MessageSid: 'SM1', ...form });
  expect(sender).toEqual([false, false, true]);
  const refused = ['30034', '30035'].map((failureCode) => ({ status: 'sender_refused', failureCode }));
  expect(reports.slice(1, 3)).toMatchObject(refused);
});

test('a call that changes nothing, and one of no concern, are answered 200 and counted', async () => {
  const { call, outcomes, changed } = await world();
  await call(STATUS_PATH, DELIVERED);
  for (const [path, form] of [
    [STATUS_PATH, DELIVERED],
    [STATUS_PATH, { MessageSid: 'SM1', MessageStatus: 'dreaming' }],
    ['/twilio/status', DELIVERED],
    ['/twilio/inbound', { ...STOP, Body: 'When will it come?' }],
  ] as const)
    expect((await call(path, form)).status).toBe(200);
  expect(changed).toHaveLength(1);
  expect(outcomes.slice(1)).toEqual([
    'twilio status unchanged',
    'twilio status ignored',
    'twilio status ignored',
    'twilio inbound ignored',
  ]);
});

test('a call without a signature, or with that of another call, is 401 and changes nothing', async () => {
  const { call, reports, wishes, outcomes } = await world();
  const other = getExpectedTwilioSignature(TOKEN, BASE + STATUS_PATH, { ...DELIVERED, MessageStatus: 'undelivered' });
  const headers: Record<string, string>[] = [
    { 'X-Twilio-Signature': '' },
    // From Node 22 on, uWebSockets.js refuses more than 4 KB of headers itself.
    { 'X-Twilio-Signature': 'x'.repeat(3_000) },
    { 'X-Twilio-Signature': other },
    { 'X-Twilio-Signature': getExpectedTwilioSignature('another token', BASE + STATUS_PATH, DELIVERED) },
  ];
  for (const header of headers) expect((await call(STATUS_PATH, DELIVERED, header)).status).toBe(401);
  expect((await call(`${STATUS_PATH}&more=1`, DELIVERED, { 'X-Twilio-Signature': other })).status).toBe(401);
  expect((await call('/twilio/inbound', STOP, { 'X-Twilio-Signature': other })).status).toBe(401);
  expect([reports, wishes]).toEqual([[], []]);
  expect(new Set(outcomes)).toEqual(new Set(['twilio status unsigned', 'twilio inbound unsigned']));
});

test('an unsigned call is refused before its body is taken, and a large or another one is not read', async () => {
  const { url, outcomes } = await world();
  const post = (headers: Record<string, string>, body: string) =>
    fetch(`${url}/twilio/inbound`, { method: 'POST', headers, body });
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
  expect((await post(form, 'x'.repeat(MAX_TWILIO_CALL_BYTES + 1))).status).toBe(401);
  expect((await post({ 'Content-Type': 'application/json' }, '{}')).status).toBe(401);
  const signed = { 'X-Twilio-Signature': getExpectedTwilioSignature(TOKEN, `${BASE}/twilio/inbound`, {}) };
  expect((await post({ ...form, ...signed }, 'x'.repeat(MAX_TWILIO_CALL_BYTES + 1))).status).toBe(413);
  expect((await post({ 'Content-Type': 'application/json', ...signed }, '{}')).status).toBe(415);
  expect(outcomes).toEqual(['twilio inbound unsigned', 'twilio inbound unsigned']);
});

test('a call that cannot be recorded is answered so that Twilio calls again', async () => {
  const { call, outcomes } = await world(true);
  expect((await call(STATUS_PATH, DELIVERED)).status).toBeGreaterThanOrEqual(500);
  expect(outcomes).toEqual(['twilio status failed']);
});
