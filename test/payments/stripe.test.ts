import http from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import Stripe from 'stripe';
import { expect, test } from 'vitest';
import { DECLINE_PAUSE_SECONDS } from '../../src/domain/stripe-declines.ts';
import type { ChargeRequest } from '../../src/payments/charger.ts';
import { outcomeOfError } from '../../src/payments/stripe.ts';
import type { FaultOrder } from '../../src/sandbox/faults.ts';
import { STAND_IN_SEARCH_LAG_MS } from '../../src/sandbox/stripe-stand-in.ts';
import { listenInTest } from '../harness/closed-after-test.ts';
import { freePort } from '../harness/free-port.ts';
import { chargerOf, stripeStandIn } from '../harness/stand-ins.ts';
import { temporaryFolder } from '../sandbox/temporary.ts';

const ORDER = '01890a5d-ac96-774b-bcce-b302099a8057';

type StandInOptions = Parameters<typeof stripeStandIn>[0];

async function world(options: { faults?: FaultOrder; secretKey?: string } & StandInOptions = {}) {
  const { faults, secretKey = 'sk_test_1', ...rest } = options;
  const standIn = await stripeStandIn(rest, faults);
  return { standIn, charger: chargerOf(standIn.url, { secretKey }) };
}

/** What is tried later, and whether it may have happened. */
const later = (reason: string, ambiguous: boolean) => ({ kind: 'retry_later', reason, rateLimited: false, ambiguous });

function request(changes: Partial<ChargeRequest> = {}): ChargeRequest {
  return {
    idempotencyKey: `${ORDER}:1`,
    amountCents: 999,
    customerId: 'cus_1',
    paymentMethodId: 'pm_card_visa',
    orderId: ORDER,
    retailerId: 'retailer-1',
    ...changes,
  };
}

/** A refund of a payment that this card makes. */
async function refundOf(charger: ReturnType<typeof chargerOf>, paymentMethodId = 'pm_card_visa') {
  const paid = await charger.charge(request({ paymentMethodId }));
  if (paid.kind !== 'paid') throw new Error('not paid');
  return { idempotencyKey: `${ORDER}:refund`, paymentIntentId: paid.paymentIntentId };
}

test('a good card pays, off session, for the order', async () => {
  const { charger, standIn } = await world();
  const outcome = await charger.charge(request());
  expect(outcome).toEqual({ kind: 'paid', paymentIntentId: expect.stringMatching(/^pi_/) });
  expect(standIn.entries()).toMatchObject([
    {
      type: 'payment',
      key: `${ORDER}:1`,
      amount: 999,
      currency: 'usd',
      customer: 'cus_1',
      paymentMethod: 'pm_card_visa',
      metadata: { order_id: ORDER, retailer_id: 'retailer-1' },
    },
  ]);
});

test.each([
  ['pm_card_chargeDeclined', 'generic_decline', null],
  ['pm_sandbox_insufficient_funds', 'insufficient_funds', DECLINE_PAUSE_SECONDS],
  ['pm_card_chargeDeclinedVelocityLimitExceeded', 'card_velocity_exceeded', DECLINE_PAUSE_SECONDS],
  ['pm_sandbox_withdrawal_count', 'withdrawal_count_limit_exceeded', DECLINE_PAUSE_SECONDS],
  ['pm_sandbox_insufficient_funds_mac_24', 'insufficient_funds', 3_600],
  ['pm_sandbox_insufficient_funds_mac_30', 'insufficient_funds', 10 * 86_400],
  ['pm_sandbox_insufficient_funds_mac_03', 'insufficient_funds', null],
  ['pm_sandbox_declined_mac_02', 'generic_decline', DECLINE_PAUSE_SECONDS],
  ['pm_card_chargeDeclinedProcessingError', 'processing_error', 0],
  ['pm_card_chargeDeclinedExpiredCard', 'expired_card', null],
  ['pm_card_chargeDeclinedLostCard', 'lost_card', null],
  ['pm_card_authenticationRequired', 'authentication_required', null],
  ['pm_sandbox_needs_auth', 'authentication_required', null],
])('%s is declined as %s, and may pass after so many seconds: %s', async (paymentMethodId, code, seconds) => {
  const { charger } = await world();
  expect(await charger.charge(request({ paymentMethodId }))).toEqual({
    kind: 'declined',
    code,
    says: expect.stringMatching(/^(?:Your|An) .+\.$/),
    retryAfterSeconds: seconds,
  });
});

test.each([
  ['pm_card_pendingRefund', { kind: 'refunded', refundId: expect.stringMatching(/^re_/) }],
  ['pm_card_refundFail', { kind: 'refused', code: 'expired_or_canceled_card' }],
])('a refund on %s', async (paymentMethodId, outcome) => {
  const { charger } = await world();
  expect(await charger.refund(await refundOf(charger, paymentMethodId))).toEqual(outcome);
});

test.each<[Partial<ChargeRequest>, string, RegExp | undefined]>([
  [{ paymentMethodId: 'pm_gone' }, 'resource_missing', /^No such/],
  [{ customerId: 'cus_missing' }, 'resource_missing', /^No such/],
  [{ amountCents: 10 }, 'amount_too_small', /^Amount is/],
  [{ paymentMethodId: 'pm_sandbox_requires_action' }, 'authentication_required', undefined],
])('a charge with %j is declined for good as %s', async (changes, code, words) => {
  const { charger } = await world();
  const says = words && expect.stringMatching(words);
  expect(await charger.charge(request(changes))).toEqual({ kind: 'declined', code, says, retryAfterSeconds: null });
});

test.each([
  [{ message: 'Your account cannot currently make charges.' }, { kind: 'account_refused', code: 'invalid_request' }],
  [{ code: 'testmode_charges_only' }, { kind: 'account_refused' }],
  [{ code: 'charge_exceeds_source_limit' }, { kind: 'account_refused' }],
  [{ code: 'payment_method_unactivated' }, { kind: 'account_refused' }],
  [{ code: 'parameter_unknown', param: 'allowed_payment_method_types[0]' }, { kind: 'account_refused' }],
  [
    { message: 'The provided PaymentMethod was detached from a Customer.' },
    { kind: 'declined', code: 'invalid_request' },
  ],
  [{ code: 'payment_method_unexpected_state' }, { kind: 'declined' }],
  [{ code: 'card_decline_rate_limit_exceeded' }, { kind: 'declined', retryAfterSeconds: 86_400 }],
  [
    { code: 'customer_tax_location_invalid', param: 'customer' },
    { kind: 'declined', retryAfterSeconds: null },
  ],
  [{ code: 'authentication_required' }, { kind: 'declined', retryAfterSeconds: null }],
])('an invalid request is the account’s unless it is about the card, its customer or the amount: %j', (error, told) => {
  const raw = { message: 'x', ...error, type: 'invalid_request_error' as const, statusCode: 400 };
  expect(outcomeOfError(Stripe.errors.StripeError.generate(raw))).toMatchObject(told);
});

test.each([
  [{}, 'in_progress'],
  [{ 'idempotent-replayed': 'true' }, 'replayed_error'],
])('a lock of the same store’s objects is no rate of Stripe’s, with headers %j', (headers, reason) => {
  const raw = { message: 'x', type: 'invalid_request_error', code: 'lock_timeout', statusCode: 429, headers } as const;
  expect(outcomeOfError(Stripe.errors.StripeError.generate(raw))).toEqual(later(reason, true));
});

test('a decline repeats under its key, and a new key is a new attempt', async () => {
  const { charger, standIn } = await world();
  const paymentMethodId = 'pm_sandbox_declined_once';
  const first = await charger.charge(request({ paymentMethodId }));
  expect(first).toMatchObject({ kind: 'declined', retryAfterSeconds: null });
  expect(await charger.charge(request({ paymentMethodId }))).toEqual(first);
  const second = await charger.charge(request({ paymentMethodId, idempotencyKey: `${ORDER}:2` }));
  expect(second).toMatchObject({ kind: 'paid' });
  expect(standIn.entries()).toHaveLength(2);
});

test('a key used with other parameters is looked up, not taken for an answer', async () => {
  const { charger } = await world();
  await charger.charge(request());
  expect(await charger.charge(request({ amountCents: 1_999 }))).toEqual(later('key_reused', true));
});

test('of two simultaneous charges under one key, one has to wait for the other', async () => {
  const { charger, standIn } = await world({ faults: { latencyMs: 1_500 } });
  const outcomes = await Promise.all([charger.charge(request()), charger.charge(request())]);
  expect(outcomes).toContainEqual(later('in_progress', true));
  expect(outcomes).toContainEqual({ kind: 'paid', paymentIntentId: expect.stringMatching(/^pi_/) });
  expect(standIn.entries()).toHaveLength(1);
});

const failure = (status: number) => ({ kind: 'status', status, effect: 'after', sticky: false }) as const;

test.each([
  ['a reset before the effect', { kind: 'reset', effect: 'before' }, 'connection_lost', 0],
  ['a reset after the effect', { kind: 'reset', effect: 'after' }, 'connection_lost', 1],
  ['silence', { kind: 'hang', effect: 'after' }, 'timeout', 1],
  ['a 500', failure(500), 'server_error', 1],
  ['a 502', failure(502), 'server_error', 1],
  ['a 503', failure(503), 'server_error', 1],
] as const)('%s is ambiguous, and the same key charges once in all', async (_what, fault, reason, done) => {
  const { charger, standIn } = await world({ faults: { next: [fault] } });
  const first = fault.kind === 'hang' ? chargerOf(standIn.url, { timeoutMs: 1_500 }) : charger;
  expect(await first.charge(request())).toEqual(later(reason, true));
  await expect.poll(() => standIn.entries()).toHaveLength(done);
  expect(await charger.charge(request())).toMatchObject({ kind: 'paid' });
  expect(standIn.entries()).toHaveLength(1);
});

test('a server that is not there is unreachable, and nothing was sent', async () => {
  const { charger, standIn } = await world();
  await standIn.close();
  expect(await charger.charge(request())).toEqual(later('unreachable', false));
});

test('a kept connection that the server has closed is opened anew within one call', async () => {
  const ledgerFile = join(temporaryFolder(), 'stripe.jsonl');
  const port = await freePort();
  const first = await stripeStandIn({ ledgerFile, port });
  const charger = chargerOf(first.url);
  await charger.charge(request());
  await first.close();
  const second = await stripeStandIn({ ledgerFile, port });
  expect(await charger.charge(request({ idempotencyKey: `${ORDER}:2` }))).toMatchObject({ kind: 'paid' });
  expect(second.entries()).toHaveLength(2);
});

test('a 500 that Stripe repeats under its key stays one', async () => {
  const { charger, standIn } = await world({
    faults: { next: [{ kind: 'status', status: 500, effect: 'before', sticky: true }] },
  });
  expect(await charger.charge(request())).toMatchObject({ reason: 'server_error' });
  expect(await charger.charge(request())).toMatchObject({ reason: 'replayed_error', ambiguous: true });
  expect(await charger.findCharge(ORDER)).toEqual({ kind: 'not_found' });
  expect(await charger.findRecentCharge(RECENT)).toEqual({ kind: 'not_found' });
  expect(standIn.entries()).toHaveLength(1);
});

const RECENT = { orderId: ORDER, customerId: 'cus_1', sentAtMs: Date.now() };

test('a charge is found among many of its customer at once, and not among those before it was sent', async () => {
  const nowMs = { by: 0 };
  const { charger } = await world({ now: () => Date.now() + nowMs.by });
  const paid = await charger.charge(request());
  const others = Array.from({ length: 101 }, (_, i) =>
    charger.charge(request({ orderId: `other-${i}`, idempotencyKey: `other-${i}:1` })),
  );
  await Promise.all(others);
  await charger.charge(request({ customerId: 'cus_2', orderId: 'another', idempotencyKey: 'another:1' }));
  expect(await charger.findRecentCharge(RECENT)).toEqual(paid);
  expect(await charger.findRecentCharge({ ...RECENT, customerId: 'cus_2' })).toEqual({ kind: 'not_found' });
  nowMs.by = -2 * 3_600_000;
  const long = { orderId: 'long ago', idempotencyKey: 'long:1' };
  await charger.charge(request(long));
  expect(await charger.findRecentCharge({ ...RECENT, ...long })).toEqual({ kind: 'not_found' });
});

test('a 429 is distinct, and nothing happened', async () => {
  const { charger, standIn } = await world({ faults: { next: [{ kind: 'rate_limit' }] } });
  expect(await charger.charge(request())).toEqual({
    kind: 'retry_later',
    reason: 'rate_limited',
    rateLimited: true,
    ambiguous: false,
  });
  expect(standIn.entries()).toEqual([]);
});

test('a secret key that Stripe refuses is a matter for the operator', async () => {
  const { charger } = await world({ secretKey: 'sk_wrong' });
  expect(await charger.charge(request())).toEqual(later('misconfigured', false));
});

test.each([
  ['HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\n\r\n<html>', 'server_error'],
  ['HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>', 'bad_reply'],
  ['HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n{"id":', 'connection_lost'],
  ['HTTP/1.1 404 Not Found\r\nContent-Length: 6\r\n\r\n<html>', 'bad_reply'],
  ['HTTP/1.1 408 Request Timeout\r\nContent-Length: 21\r\n\r\n{"message":"expired"}', 'bad_reply'],
  ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}', 'bad_reply'],
  ['HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrue', 'bad_reply'],
  ['HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnull', 'bad_reply'],
])('a reply that is not Stripe’s (%j) is ambiguous: %s', async (reply, reason) => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(reply));
  });
  const charger = chargerOf((await listenInTest(server)).url);
  const ambiguous = { kind: 'retry_later', reason, ambiguous: true };
  expect(await charger.charge(request())).toMatchObject(ambiguous);
  const refund = { idempotencyKey: `${ORDER}:refund`, paymentIntentId: 'pi_1' };
  expect(await charger.refund(refund)).toMatchObject(ambiguous);
});

test('a payment that a bank is still working on is not taken for paid', async () => {
  const { charger } = await world();
  const outcome = await charger.charge(request({ paymentMethodId: 'pm_sandbox_processing' }));
  expect(outcome).toMatchObject({ kind: 'retry_later', reason: 'in_progress' });
});

test.each([
  [404, { code: 'resource_missing', message: 'No such payment_intent', param: 'intent' }, 'in_progress'],
  [400, { message: 'Your account cannot currently make charges.' }, 'misconfigured'],
])('of such a payment a read that Stripe refuses with %i %j says nothing', async (status, error, reason) => {
  const server = http.createServer(({ method }, reply) => {
    const isRead = method === 'GET';
    const refusal = { error: { ...error, type: 'invalid_request_error' } };
    reply.writeHead(isRead ? status : 200, { Connection: 'close' });
    reply.end(JSON.stringify(isRead ? refusal : { id: 'pi_1', status: 'processing' }));
  });
  const charger = chargerOf((await listenInTest(server)).url);
  expect(await charger.charge(request())).toMatchObject({ kind: 'retry_later', reason });
});

test('an order’s charge is found by the order, the paid one before the declined', async () => {
  let nowMs = Date.now();
  const { charger } = await world({ now: () => nowMs });
  expect(await charger.findCharge(ORDER)).toEqual({ kind: 'not_found' });
  const paymentMethodId = 'pm_sandbox_insufficient_funds_once';
  const declined = await charger.charge(request({ paymentMethodId }));
  expect(await charger.findCharge(ORDER)).toEqual({ kind: 'not_found' });
  nowMs += STAND_IN_SEARCH_LAG_MS;
  expect(await charger.findCharge(ORDER)).toEqual(declined);
  const paid = await charger.charge(request({ paymentMethodId, idempotencyKey: `${ORDER}:2` }));
  expect(paid).toMatchObject({ kind: 'paid' });
  expect(await charger.findCharge(ORDER)).toEqual(declined);
  nowMs += STAND_IN_SEARCH_LAG_MS;
  expect(await charger.findCharge(ORDER)).toEqual(paid);
  expect(await charger.findCharge('another')).toEqual({ kind: 'not_found' });
});

test('a payment is refunded in full once, whatever the key', async () => {
  const { charger, standIn } = await world();
  const refund = await refundOf(charger);
  const first = await charger.refund(refund);
  expect(first).toEqual({ kind: 'refunded', refundId: expect.stringMatching(/^re_/) });
  expect(await charger.refund(refund)).toEqual(first);
  expect(await charger.refund({ ...refund, idempotencyKey: 'other' })).toEqual({ kind: 'refunded', refundId: null });
  expect(standIn.entries().filter((entry) => (entry as { type: string }).type === 'refund')).toHaveLength(1);
});

test.each([['before'], ['after']] as const)(
  'a refund whose failure %s its effect is repeated is made once, under another key',
  async (effect) => {
    const { charger, standIn } = await world();
    const refund = await refundOf(charger);
    standIn.orderFaults({ next: [{ kind: 'status', status: 500, effect, sticky: true }] });
    expect(await charger.refund(refund)).toMatchObject({ reason: 'server_error' });
    expect(await charger.refund(refund)).toMatchObject({ kind: 'refunded' });
    expect(standIn.entries().filter((entry) => (entry as { type: string }).type === 'refund')).toHaveLength(1);
  },
);

test('a refund of an unknown payment is refused, one without an answer is tried later', async () => {
  const { charger, standIn } = await world();
  const refund = { idempotencyKey: 'k', paymentIntentId: 'pi_unknown' };
  expect(await charger.refund(refund)).toMatchObject({ kind: 'refused', code: 'resource_missing' });
  // Twice, as the first error on a kept connection could be the server closing an idle one.
  const reset = { kind: 'reset', effect: 'before' } as const;
  standIn.orderFaults({ next: [reset, reset] });
  expect(await charger.refund(refund)).toMatchObject({ kind: 'retry_later', reason: 'connection_lost' });
});
