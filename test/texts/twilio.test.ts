import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import type { FaultOrder } from '../../src/sandbox/faults.ts';
import { refusalOf } from '../../src/texts/twilio.ts';
import { listenInTest } from '../harness/closed-after-test.ts';
import { textSenderOf, twilioStandIn } from '../harness/stand-ins.ts';

const TEXT = {
  to: '+15551234567',
  body: 'Confirmed & on its way: http://localhost/track/abc ü',
  usefulSeconds: 3_600,
};
const SEARCH = { to: TEXT.to, ending: '/track/abc ü' };
const AMBIGUOUS = { kind: 'retry_later', rateLimited: false, ambiguous: true };

/** Long enough for what is asked to arrive; the stand-in's silence lasts longer than any. */
const SILENCE_MS = 1_500;

async function world(options: { faults?: FaultOrder; authToken?: string; from?: string } = {}) {
  const { faults, authToken = 'token', from = '+15550000000' } = options;
  const standIn = await twilioStandIn({ authToken: 'token' }, faults);
  const sender = textSenderOf(standIn.url, { authToken, from });
  return { standIn, sender, impatient: textSenderOf(standIn.url, { authToken, from, timeoutMs: SILENCE_MS }) };
}

test('a text is sent as it was written', async () => {
  const { sender, standIn } = await world();
  expect(await sender.send(TEXT)).toEqual({ kind: 'sent', sid: expect.stringMatching(/^SM[0-9a-f]{32}$/) });
  const { to, body } = TEXT;
  expect(standIn.entries()).toMatchObject([{ to, body, from: '+15550000000' }]);
});

test.each([
  [3_599.9, 3_599],
  [-1, 10],
  [50_000, 36_000],
])('a text that is useful for %d s is kept by Twilio for %i s', async (usefulSeconds, validityPeriod) => {
  const { sender, standIn } = await world();
  await sender.send({ ...TEXT, usefulSeconds });
  expect(standIn.entries()).toMatchObject([{ validityPeriod }]);
});

test.each([
  ['+15005550001', '21211'],
  ['+15005550004', '21610'],
  ['+15005550009', '21614'],
])('%s is refused with code %s, and with what Twilio says', async (to, code) => {
  const { sender, standIn } = await world();
  expect(await sender.send({ ...TEXT, to })).toEqual({ kind: 'refused', code, says: expect.stringMatching(/\w \w/) });
  expect(standIn.entries()).toEqual([]);
});

test('a wrong token is a matter for the operator, and nothing was sent', async () => {
  const { sender } = await world({ authToken: 'wrong' });
  expect(await sender.send(TEXT)).toEqual({
    kind: 'retry_later',
    reason: 'misconfigured',
    rateLimited: false,
    ambiguous: false,
  });
});

test.each([
  ['+15005550001', 'misconfigured'],
  ['+15005550007', 'misconfigured'],
  ['+15005550008', 'rate_limited'],
])('a text is kept while Twilio refuses the sender %s: %s', async (from, reason) => {
  const { sender, standIn } = await world({ from });
  expect(await sender.send(TEXT)).toMatchObject({ kind: 'retry_later', reason, ambiguous: false });
  expect(standIn.entries()).toEqual([]);
});

test.each([
  [403, 20005],
  [400, 10001],
  [400, 90010],
  [404, 20404],
  [400, 21660],
])('an account that is not taken (%i, %i) is a matter for the operator', (status, code) => {
  expect(refusalOf(status, code)).toMatchObject({ reason: 'misconfigured', ambiguous: false });
});

test('a 429 is distinct, and nothing was sent', async () => {
  const { sender, standIn } = await world({ faults: { next: [{ kind: 'rate_limit' }] } });
  expect(await sender.send(TEXT)).toMatchObject({ reason: 'rate_limited', rateLimited: true, ambiguous: false });
  expect(standIn.entries()).toEqual([]);
});

test('a server that is not there is unreachable, and nothing was sent', async () => {
  const { sender, standIn } = await world();
  await standIn.close();
  expect(await sender.send(TEXT)).toMatchObject({ reason: 'unreachable', rateLimited: false, ambiguous: false });
});

const failure = { kind: 'status', status: 500, sticky: false } as const;

test.each([
  ['a reset', { kind: 'reset', effect: 'before' }, 'connection_lost'],
  ['a reset', { kind: 'reset', effect: 'after' }, 'connection_lost'],
  ['a 500', { ...failure, effect: 'before' }, 'server_error'],
  ['a 500', { ...failure, effect: 'after' }, 'server_error'],
  ['silence', { kind: 'hang', effect: 'before' }, 'timeout'],
  ['silence', { kind: 'hang', effect: 'after' }, 'timeout'],
] as const)('%s is ambiguous, and a text is found where it was sent: %j', async (_name, fault, reason) => {
  const { sender, impatient, standIn } = await world({ faults: { next: [fault] } });
  const sinceMs = Date.now();
  const sending = fault.kind === 'hang' ? impatient : sender;
  expect(await sending.send(TEXT)).toMatchObject({ ...AMBIGUOUS, reason });
  const sent = standIn.entries() as { sid: string }[];
  const found = fault.effect === 'after' ? { kind: 'found', sid: sent[0]?.sid } : { kind: 'not_found' };
  expect(await sender.find({ ...SEARCH, sinceMs })).toEqual(found);
  expect(standIn.entries()).toHaveLength(fault.effect === 'after' ? 1 : 0);
});

test('does not take a text for found that no carrier took from this sender', async () => {
  const { sender, standIn } = await world();
  standIn.orderCalls({ codeOf: ({ to }) => (to === TEXT.to ? 30034 : null) });
  await sender.send(TEXT);
  expect(await sender.find({ ...SEARCH, sinceMs: 0 })).toEqual({ kind: 'not_found' });
  standIn.orderCalls({ codeOf: () => 30003 });
  await sender.send(TEXT);
  expect(await sender.find({ ...SEARCH, sinceMs: 0 })).toMatchObject({ kind: 'found' });
});

test.each([
  ['+15005550006', 'found'],
  ['12345', 'found'],
  ['+15005550007', 'not_found'],
])('says of the sending number %s whether it is one of the account: %s', async (from, kind) => {
  const { sender } = await world({ from });
  expect(await sender.findSender()).toMatchObject({ kind });
});

test('finds neither another text, nor one to another phone, nor an older one', async () => {
  const { sender } = await world();
  const sinceMs = Date.now();
  await sender.send(TEXT);
  expect(await sender.find({ ...SEARCH, ending: '/track/another', sinceMs })).toEqual({ kind: 'not_found' });
  expect(await sender.find({ ...SEARCH, to: '+15557654321', sinceMs })).toEqual({ kind: 'not_found' });
  expect(await sender.find({ ...SEARCH, sinceMs: sinceMs + 10_000 })).toEqual({ kind: 'not_found' });
});

test('a search without an answer is tried later', async () => {
  const { sender } = await world({ faults: { next: [{ kind: 'reset', effect: 'before' }] } });
  expect(await sender.find({ ...SEARCH, sinceMs: 0 })).toMatchObject({ kind: 'retry_later' });
});

test('a refusal that is a proxy’s and not Twilio’s is ambiguous', async () => {
  const server = createServer((_request, response) => response.writeHead(404).end('{"message":"no route"}'));
  const sender = textSenderOf((await listenInTest(server)).url);
  expect(await sender.send(TEXT)).toMatchObject({ ...AMBIGUOUS, reason: 'bad_reply' });
});

test.each(['http://intranet/status', 'intranet/status', 'ftp://a.example/status'])(
  'a text whose callback %s Twilio does not take is sent without it, once',
  async (statusUrl) => {
    const { sender, standIn } = await world();
    expect(await sender.send({ ...TEXT, statusUrl })).toMatchObject({ kind: 'sent' });
    expect(standIn.entries()).toHaveLength(1);
  },
);
