import { expect, test } from 'vitest';
import { readStripeEvent } from '../../src/payments/stripe-events.ts';

const ORDER = '01a2037f-5327-7fa7-8921-750dd4adb40f';
const read = (type: string, object: unknown) =>
  readStripeEvent({ id: 'evt_1', type, livemode: true, created: 1_795_000_000, data: { object } });
const PAYMENT = { id: 'pi_1', metadata: { order_id: ORDER }, amount: 799, currency: 'usd' };
const newsOf = (type: string, object: unknown) => read(type, object)?.news;

test('what is read of an event: its mode, its time, and what it is about', () => {
  expect(read('payment_intent.succeeded', PAYMENT)).toEqual({
    id: 'evt_1',
    type: 'payment_intent.succeeded',
    live: true,
    createdAt: new Date(1_795_000_000_000),
    news: { kind: 'charge_paid', orderId: ORDER, paymentIntentId: 'pi_1', amountCents: 799 },
  });
});

test('an event of a connected account is no news', () => {
  const event = { id: 'evt_1', type: 'payment_intent.succeeded', livemode: true, created: 1_795_000_000 };
  expect(readStripeEvent({ ...event, account: 'acct_1', data: { object: PAYMENT } })?.news).toBeNull();
});

test('an event of another type has a type of its own kind, and a thing that is no event is none', () => {
  expect(read('invoice.paid', { id: 'in_1' })).toMatchObject({ type: 'other', news: null });
  expect([null, 7, 'evt', {}, { id: 'evt_1', type: 7, created: 1 }].map(readStripeEvent)).toEqual(Array(5).fill(null));
});

test.each([
  ['needs_response', 'open'],
  ['under_review', 'open'],
  ['warning_needs_response', 'open'],
  ['a_status_of_later', 'open'],
  ['won', 'won'],
  ['warning_closed', 'won'],
  ['prevented', 'won'],
  ['lost', 'lost'],
])('a dispute that is %s counts as %s', (status, expected) => {
  const dispute = { id: 'du_1', payment_intent: { id: 'pi_1' }, amount: 799, reason: 'fraudulent', status };
  expect(newsOf('charge.dispute.closed', dispute)).toMatchObject({ paymentIntentId: 'pi_1', status: expected });
});

const WITHDRAWN = { amount: -799, net: -2_299 };
test.each([
  ['resolution', [], 'lost'],
  ['resolution', [WITHDRAWN], 'lost'],
  ['block', [], 'won'],
  ['chargeback', [], 'won'],
  [undefined, [WITHDRAWN], 'lost'],
  [undefined, [WITHDRAWN, { amount: 799 }], 'won'],
])('a %s that is prevented with %j on the balance counts as %s', (caseType, transactions, expected) => {
  const details = { card: { case_type: caseType }, type: 'card' };
  const about = { id: 'du_1', payment_intent: 'pi_1', amount: 799, reason: 'general', status: 'prevented' };
  const dispute = { ...about, balance_transactions: transactions, payment_method_details: details };
  expect(newsOf('charge.dispute.closed', dispute)).toMatchObject({ kind: 'dispute', status: expected });
});

test.each([
  ['succeeded', 'succeeded'],
  ['pending', 'pending'],
  ['requires_action', 'pending'],
  ['failed', 'failed'],
  ['canceled', 'failed'],
])('a refund that is %s counts as %s', (status, expected) => {
  const refund = { id: 're_1', payment_intent: 'pi_1', amount: 300, status };
  expect(newsOf('refund.updated', refund)).toEqual({
    kind: 'refund',
    paymentIntentId: 'pi_1',
    refund: { refundId: 're_1', amountCents: 300, status: expected },
  });
});

test('what is of another application on the same account is about nothing of ours', () => {
  const session = { mode: 'setup', metadata: { retailer_id: ORDER }, setup_intent: 'seti_1' };
  const about: [string, object][] = [
    ['payment_intent.succeeded', { ...PAYMENT, metadata: {} }],
    ['payment_intent.succeeded', { ...PAYMENT, metadata: null }],
    ['payment_intent.succeeded', { ...PAYMENT, currency: 'eur' }],
    ['payment_intent.succeeded', { ...PAYMENT, amount: 7.5 }],
    ['payment_intent.succeeded', { ...PAYMENT, metadata: { order_id: `${ORDER}'; drop` } }],
    ['checkout.session.completed', { ...session, mode: 'payment' }],
    ['checkout.session.completed', { ...session, metadata: {} }],
    ['charge.refunded', { payment_intent: null, metadata: { order_id: ORDER }, amount_refunded: 1 }],
    ['refund.created', { id: 're_1', payment_intent: null, amount: 1, status: 'succeeded' }],
    ['charge.dispute.created', { id: 'du_1', payment_intent: null, amount: 1, status: 'needs_response' }],
    ['payment_method.detached', {}],
  ];
  expect(about.map(([type, object]) => newsOf(type, object))).toEqual(about.map(() => null));
});
