import { expect, test } from 'vitest';
import type { Payment, Refund } from '../../src/sandbox/stripe-objects.ts';
import { type EventRow, findBroken, notHeld, type OrderRow, type PayoutRow, type Records } from './checker.ts';
import type { Heard, Wanted } from './history.ts';

const STORE = 'store';

const wantedOf = (op: number, changes: Partial<Wanted> = {}): Wanted => {
  return { op, retailerId: STORE, key: `key ${op}`, customer: `customer ${op}`, smsOptIn: true, ...changes };
};
const ok = (op: number, orderId = `order ${op}`): Heard => ({ op, outcome: 'ok', status: 201, orderId });
const failed = (op: number): Heard => ({ op, outcome: 'failed', status: 503, orderId: null });
const orderOf = (op: number, changes: Partial<OrderRow> = {}): OrderRow => ({
  id: `order ${op}`,
  retailerId: STORE,
  key: `key ${op}`,
  status: 'driver_assigned',
  driverId: `driver ${op}`,
  feeCents: 799,
  paymentStatus: 'paid',
  smsStatus: 'sent',
  trackingToken: `token-${op}`,
  customer: `customer ${op}`,
  ...changes,
});
const eventsOf = (op: number, ...types: string[]): EventRow[] =>
  types.map((type, i) => {
    const driverId = type === 'driver_assigned' ? `driver ${op}` : null;
    return { orderId: `order ${op}`, sequence: i + 1, type, driverId, atMs: 1_000 * i };
  });
const paymentOf = (op: number, changes: Partial<Payment> = {}) =>
  ({
    id: `pi ${op}`,
    amount: 799,
    currency: 'usd',
    metadata: { order_id: `order ${op}` },
    answer: { kind: 'paid' },
    ...changes,
  }) as Payment;
const refundOf = (op: number) => ({ paymentIntent: `pi ${op}`, amount: 799 }) as Refund;
const payoutOf = (op: number, changes: Partial<PayoutRow> = {}): PayoutRow => {
  return { orderId: `order ${op}`, driverId: `driver ${op}`, status: 'owed', reasons: [], ...changes };
};
/** The second order was cancelled; here it was delivered and paid instead. */
function delivered({ orders, events }: Records): Partial<Records> {
  const steps = ['created', 'driver_assigned', 'payment_paid', 'sms_sent', 'picked_up', 'delivered'];
  return {
    orders: orders.map((o) => (o.id === 'order 2' ? { ...o, status: 'delivered' as const, paymentStatus: 'paid' } : o)),
    events: [...events.filter(({ orderId }) => orderId !== 'order 2'), ...eventsOf(2, ...steps)],
    refunds: [],
  };
}
const textOf = (op: number) => ({ body: `Follow it here: http://sameday.test/track/token-${op}` });

/** A delivered order of one driver, without a text. */
const ENDED: Partial<OrderRow> = { status: 'delivered', driverId: 'driver 7', smsStatus: 'none' };
/** The driver was assigned while the order waited. */
function carriedFrom(orderId: string, fromMs: number, toMs: number): EventRow[] {
  const event = (sequence: number, type: string, atMs: number): EventRow => {
    return { orderId, sequence, type, atMs, driverId: type === 'driver_assigned' ? 'driver 7' : null };
  };
  return [
    event(1, 'created', fromMs - 1_000),
    event(2, 'details', fromMs - 500),
    event(3, 'driver_assigned', fromMs),
    event(4, 'picked_up', fromMs + 1),
    event(5, 'delivered', toMs),
  ];
}

/** Two complete orders, and one that waits. */
function sound(): Records {
  return {
    wanted: [wantedOf(1), wantedOf(2), wantedOf(3)],
    heard: [failed(1), ok(1), ok(1), ok(2), ok(3)],
    orders: [
      orderOf(1),
      orderOf(2, { status: 'cancelled', paymentStatus: 'refunded' }),
      orderOf(3, { status: 'pending_dispatch', driverId: null, paymentStatus: 'not_charged' }),
    ],
    events: [
      ...eventsOf(1, 'created', 'driver_assigned', 'payment_paid', 'sms_sent'),
      ...eventsOf(2, 'created', 'driver_assigned', 'sms_sent', 'cancelled', 'payment_paid', 'refunded'),
      ...eventsOf(3, 'created', 'sms_sent'),
    ],
    payouts: [],
    payments: [paymentOf(1), paymentOf(2)],
    refunds: [refundOf(2)],
    texts: [textOf(1), textOf(2), textOf(3)],
  };
}

test('records of a service that kept its promises have no finding', () => {
  expect(findBroken(sound())).toEqual([]);
});

type Plant = (records: Records) => Partial<Records>;
/** The first order is not as it was. */
const changed =
  (changes: Partial<OrderRow>): Plant =>
  ({ orders }) => ({ orders: orders.map((order, i) => (i === 0 ? { ...order, ...changes } : order)) });
/** There is an order more, which has a driver and is paid. */
const oneMore =
  (changes: Partial<OrderRow>): Plant =>
  ({ orders, events, payments }) => ({
    orders: [...orders, orderOf(9, { smsStatus: 'none', ...changes })],
    events: [...events, ...eventsOf(9, 'created', 'driver_assigned')],
    payments: [...payments, paymentOf(9)],
  });

/** A planted defect, and the one promise that it breaks. */
const PLANTED: readonly [string, string, Plant][] = [
  ['a lost order', 'lost', ({ heard }) => ({ heard: [...heard, ok(9)], wanted: [...sound().wanted, wantedOf(9)] })],
  [
    'an acknowledged order that is void',
    'lost',
    ({ orders }) => ({
      orders: [...orders, orderOf(9, { status: 'void', paymentStatus: 'not_charged', smsStatus: 'none' })],
      heard: [...sound().heard, ok(9)],
    }),
  ],
  ['a key that made two orders', 'key', oneMore({ key: 'key 1' })],
  ['two answers for a key that name two orders', 'key', ({ heard }) => ({ heard: [...heard, ok(1, 'order 2')] })],
  [
    'an order of a request that was told that nothing happened',
    'failed',
    () => ({ wanted: [wantedOf(1, { key: null }), wantedOf(2), wantedOf(3)], heard: [failed(1), ok(2), ok(3)] }),
  ],
  [
    'a repeat without a key that made a second order',
    'repeat',
    (all) => ({
      ...oneMore({ key: null, customer: 'customer 1' })({ ...all, ...changed({ key: null })(all) }),
      wanted: [wantedOf(1, { key: null, repeats: true }), wantedOf(2), wantedOf(3)],
    }),
  ],
  ['a missing event', 'steps', ({ events }) => ({ events: events.filter(({ type }) => type !== 'payment_paid') })],
  [
    'a step that is not allowed',
    'steps',
    ({ events, orders }) => ({
      events: [...events, { orderId: 'order 3', sequence: 3, type: 'returned', driverId: null, atMs: 9_000 }],
      orders: orders.map((order) => (order.id === 'order 3' ? { ...order, status: 'returned' as const } : order)),
    }),
  ],
  ['a status that no event led to', 'steps', changed({ status: 'picked_up' })],
  ['a double assignment', 'driver', oneMore({ driverId: 'driver 1' })],
  [
    'a driver who carried two orders for a while',
    'driver',
    ({ orders, events, payments }) => ({
      orders: [...orders, orderOf(8, { ...ENDED, id: 'order 8' }), orderOf(9, { ...ENDED, id: 'order 9' })],
      events: [...events, ...carriedFrom('order 8', 20_000, 30_000), ...carriedFrom('order 9', 29_000, 40_000)],
      payments: [...payments, paymentOf(8), paymentOf(9)],
      payouts: [payoutOf(8, { driverId: 'driver 7' }), payoutOf(9, { driverId: 'driver 7' })],
    }),
  ],
  ['an order with another driver than its events say', 'driver', changed({ driverId: 'driver 9' })],
  [
    'an active order without a driver',
    'driver',
    ({ orders }) => ({ orders: orders.map((o) => ({ ...o, driverId: null })) }),
  ],
  ['a double charge', 'charge', ({ payments }) => ({ payments: [...payments, paymentOf(1, { id: 'pi 9' })] })],
  [
    'an answer that names the order of somebody else',
    'key',
    ({ heard, wanted, orders, events }) => ({
      wanted: [...wanted, wantedOf(9)],
      heard: [...heard.filter(({ op }) => op !== 3), ok(9, 'order 3')],
      orders,
      events,
    }),
  ],
  ['a charge in another currency', 'charge', () => ({ payments: [paymentOf(1, { currency: 'eur' }), paymentOf(2)] })],
  [
    'a refund of what was never charged',
    'charge',
    ({ refunds }) => ({ refunds: [...refunds, { ...refundOf(2), paymentIntent: 'pi 9', amount: 799 }] }),
  ],
  ['a refund of an order that goes on', 'charge', ({ refunds }) => ({ refunds: [...refunds, refundOf(1)] })],
  ['a charge of an order that counts as failed', 'charge', changed({ paymentStatus: 'failed' })],
  ['a delivery without a payout', 'payout', delivered],
  ["another driver's payout", 'payout', (all) => ({ ...delivered(all), payouts: [payoutOf(2, { driverId: 'x' })] })],
  ['a payout of an order that goes on', 'payout', () => ({ payouts: [payoutOf(1)] })],
  ['a payout for no order', 'payout', () => ({ payouts: [payoutOf(9)] })],
  [
    'a payout that is held as unpaid though the order is paid',
    'payout',
    (all) => ({ ...delivered(all), payouts: [payoutOf(2, { status: 'held', reasons: ['unpaid'] })] }),
  ],
  [
    'a payout that is owed though the order is not paid',
    'payout',
    (all) => {
      const { orders = [], ...rest } = delivered(all);
      const unpaid = orders.map((order) => (order.id === 'order 2' ? { ...order, paymentStatus: 'failed' } : order));
      return { ...rest, orders: unpaid, payments: [paymentOf(1)], payouts: [payoutOf(2)] };
    },
  ],
  ['a text about no order', 'text', ({ texts }) => ({ texts: [...texts, textOf(9)] })],
  ['a charge of another amount', 'charge', () => ({ payments: [paymentOf(1, { amount: 800 }), paymentOf(2)] })],
  ['a charge before a driver', 'charge', ({ payments }) => ({ payments: [...payments, paymentOf(3)] })],
  ['a charge for no order', 'charge', ({ payments }) => ({ payments: [...payments, paymentOf(9)] })],
  ['a forgotten charge', 'charge', ({ payments }) => ({ payments: payments.slice(1) })],
  ['a forgotten refund', 'charge', () => ({ refunds: [] })],
  ['a double refund', 'charge', () => ({ refunds: [refundOf(2), refundOf(2)] })],
  ['a charge that was never recorded', 'charge', changed({ paymentStatus: 'processing' })],
  ['a double text', 'text', ({ texts }) => ({ texts: [...texts, textOf(1)] })],
  ['a text without consent', 'text', () => ({ wanted: [wantedOf(1, { smsOptIn: false }), wantedOf(2), wantedOf(3)] })],
  ['a text that only the tables know of', 'text', ({ texts }) => ({ texts: texts.slice(1) })],
  [
    'a text that was never sent',
    'text',
    (all) => ({ ...changed({ smsStatus: 'queued' })(all), texts: all.texts.slice(1) }),
  ],
];

test.each(PLANTED)('%s is found', (_what, promise, plant) => {
  const records = sound();
  const found = findBroken({ ...records, ...plant(records) });
  expect(found.length).toBeGreaterThan(0);
  expect(new Set(found.map((finding) => finding.split(':')[0]))).toEqual(new Set([promise]));
});

test('the payout of an invented delivery that is not held is found', () => {
  const held = payoutOf(1, { status: 'held', reasons: ['too_fast'] });
  expect(notHeld([held], ['order 1'])).toEqual([]);
  expect(notHeld([held, payoutOf(2)], ['order 1', 'order 2'])).toHaveLength(1);
  expect(notHeld([held], ['order 9'])).toHaveLength(1);
});
