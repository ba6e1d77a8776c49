import { expect, onTestFinished, test } from 'vitest';
import { OrderEvents } from '../../src/dispatch/order-events.ts';
import { newId } from '../../src/domain/ids.ts';
import { createRefundJob } from '../../src/payments/refund.ts';
import { createStripeAccount } from '../../src/payments/stripe-account.ts';
import { createStripeCallbacks } from '../../src/payments/stripe-callbacks.ts';
import type { StripeEvent } from '../../src/payments/stripe-events.ts';
import { connect } from '../../src/postgres/connect.ts';
import type { Payment } from '../../src/sandbox/stripe-objects.ts';
import type { FailedJob } from '../../src/store/operator/failed-jobs.ts';
import type { ChangedOrder } from '../../src/store/orders/changes.ts';
import { createLogger } from '../../src/telemetry.ts';
import { closedAfterTest } from '../harness/closed-after-test.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow, orderRow, UNSTAMPED } from '../harness/orders.ts';
import { STEP_MS } from '../harness/patience.ts';
import { chargerOf } from '../harness/stand-ins.ts';
import { storeOf } from '../harness/store.ts';
import { openEvents } from '../harness/stripe-events.ts';
import { openAttempt, recordAttempt } from '../harness/vendor-rows.ts';
import { seeded } from '../harness/world.ts';

const FEE = 799;
const ORDERS_OF_EVENTS = 8;

const database = await useFreshDatabase();

/** Stripe's stand-in with its events, and the service's handling of them on a real Postgres. */
async function openStripe(live = false) {
  const { sql } = database;
  const { standIn, taken } = await openEvents();
  const stripe = closedAfterTest(
    createStripeAccount({ secretKey: 'sk_test_1', apiBase: standIn.url, timeoutMs: STEP_MS }),
  );
  const charger = chargerOf(standIn.url);
  const lines: string[] = [];
  const line = (_fields: object, message: string) => void lines.push(message);
  const { take } = createStripeCallbacks({
    store: storeOf(sql, 'me'),
    stripe,
    relay: { relay: () => undefined },
    live,
    logger: { debug: line, info: line, warn: line, error: line },
  });

  /** An order with a driver whose charge Stripe has made, and the service has not heard of. */
  async function charged(card = 'pm_card_visa') {
    const store = await addStoreRow(sql, { customer: 'cus_1', paymentMethod: card });
    const driverId = await addDriverRow(sql);
    const { orderId, jobs } = await addOrder(sql, store, { driverId });
    await openAttempt(sql, orderId);
    const charge = async (attempt: number) => {
      await charger.charge({
        idempotencyKey: `${orderId}:${attempt}`,
        amountCents: FEE,
        customerId: 'cus_1',
        paymentMethodId: card,
        orderId,
        retailerId: store.retailerId,
      });
      const payments = standIn.entries().filter((entry): entry is Payment => (entry as Payment).type === 'payment');
      return (payments.at(-1) as Payment).id;
    };
    const id = await charge(1);
    const jobId = jobs.charge?.id ?? 0;
    const record = (result: Parameters<typeof recordAttempt>[2]) =>
      recordAttempt(sql, { orderId, attempt: 1 }, result, jobId);
    return {
      orderId,
      driverId,
      retailerId: store.retailerId,
      payment: id,
      chargeAgain: () => charge(2),
      pay: () => record({ status: 'paid', paymentIntentId: id }),
      fail: () => record({ status: 'declined', failureCode: 'lost_card', final: true }),
      putOff: () => storeOf(sql).putOffCharge({ orderId, attempt: 1 }, jobId, { seconds: 60, allowed: 3 }),
      async deliver() {
        await storeOf(sql).pickUpOrder(orderId, driverId, UNSTAMPED);
        await storeOf(sql).deliverOrder(orderId, driverId, 'p.jpg', UNSTAMPED);
      },
      row: () => orderRow(sql, orderId),
      payout: async () => (await sql`select status, reasons from payouts where order_id = ${orderId}`)[0],
      events: async () =>
        (await sql`select type from order_events where order_id = ${orderId} order by sequence`).map(
          ({ type }) => type,
        ),
      job: async (queue: string) =>
        (await sql`select done_at from outbox where order_id = ${orderId} and queue = ${queue}`)[0],
    };
  }
  return { ...standIn.dashboard, standIn, account: stripe, take, taken, charged, lines };
}

type Stripe = Awaited<ReturnType<typeof openStripe>>;
type Order = Awaited<ReturnType<Stripe['charged']>>;

/** Each event twice, in an order of chance; the first run is in the order in which they happened. */
function mixed(events: readonly StripeEvent[], run: number): StripeEvent[] {
  const random = seeded(run + 1);
  if (run === 0) return [...events, ...events];
  return [...events, ...events]
    .map((event) => ({ event, lot: random() }))
    .toSorted((a, b) => a.lot - b.lot)
    .map(({ event }) => event);
}

type Scenario = {
  readonly act: (stripe: Stripe, order: Order) => unknown;
  /** What happens at the service before the events come. */
  readonly before?: (order: Order) => Promise<unknown>;
  readonly row: Record<string, unknown>;
  readonly payout?: Record<string, unknown>;
  readonly card?: string;
};

const nothing = () => undefined;
const deliveredPaid = async (order: Order) => {
  await order.pay();
  await order.deliver();
};
const PAID = { payment_status: 'paid', payment_failure_code: null, refund_id: null };
const REFUNDED = { payment_status: 'refunded', refund_id: expect.stringMatching(/^re_/) };
const OWED = { status: 'owed', reasons: [] as string[] };
const HELD = { status: 'held', reasons: ['disputed'] };
const ofDispute = (payout: typeof HELD, act: Scenario['act']): Scenario => {
  return { act, before: deliveredPaid, row: PAID, payout };
};

const SCENARIOS: Record<string, Scenario> = {
  'a charge whose result was lost': { act: nothing, row: PAID },
  'a charge that counts as failed': { act: nothing, before: (order) => order.fail(), row: PAID },
  'a whole refund of a charge whose result was lost': {
    act: ({ refund }, { payment }) => refund(payment),
    row: REFUNDED,
  },
  'a whole refund of a paid order': {
    act: ({ refund }, { payment }) => refund(payment),
    before: deliveredPaid,
    row: REFUNDED,
    payout: OWED,
  },
  'a refund of a part': { act: ({ refund }, { payment }) => refund(payment, 300), row: PAID },
  'refunds of two parts that are the whole': {
    act: ({ refund }, { payment }) => [refund(payment, 300), refund(payment)],
    row: REFUNDED,
  },
  'a refund that failed later': {
    act: ({ refund, failRefund }, { payment }) => failRefund(refund(payment).id),
    row: PAID,
  },
  'a failed refund and a second one': {
    act: ({ refund, failRefund }, { payment }) => [failRefund(refund(payment).id), refund(payment)],
    row: REFUNDED,
  },
  'a pending refund that succeeds': {
    act: ({ refund, settleRefund }, { payment }) => settleRefund(refund(payment).id),
    card: 'pm_card_pendingRefund',
    row: REFUNDED,
  },
  'a payment that ended late, paid': {
    act: ({ settle }, { payment }) => settle(payment, 'paid'),
    card: 'pm_card_processing',
    row: PAID,
  },
  'an open dispute': ofDispute(HELD, ({ dispute }, { payment }) => dispute(payment)),
  'a dispute that was won': ofDispute(OWED, ({ dispute, closeDispute }, { payment }) =>
    closeDispute(dispute(payment).id, 'won'),
  ),
  'a dispute that was lost': ofDispute(HELD, ({ dispute, closeDispute }, { payment }) =>
    closeDispute(dispute(payment).id, 'lost'),
  ),
  'an inquiry that was closed': ofDispute(OWED, ({ inquire, closeDispute }, { payment }) =>
    closeDispute(inquire(payment).id, 'warning_closed'),
  ),
  'an inquiry that became a dispute': ofDispute(HELD, ({ inquire, escalate }, { payment }) =>
    escalate(inquire(payment).id),
  ),
};

test.each(Object.entries(SCENARIOS))(
  '%s comes to the same in any order, each event twice',
  async (_what, { act, before, row, payout, card }) => {
    const stripe = await openStripe();
    for (let run = 0; run < ORDERS_OF_EVENTS; run++) {
      const order = await stripe.charged(card);
      await before?.(order);
      await act(stripe, order);
      const events = await stripe.taken();
      for (const event of mixed(events, run)) expect(await stripe.take(event)).toMatch(/^(done|unchanged)$/);
      const ended = await order.row();
      expect(ended).toMatchObject(row);
      if (row.payment_status === 'paid' || row.payment_status === 'refunded') {
        expect(ended.charge_id).toBe(order.payment);
        expect((await order.job('charge'))?.done_at).toBeInstanceOf(Date);
      }
      if (payout) expect(await order.payout()).toEqual(payout);
      // Once more, they change nothing at all.
      for (const event of events) expect(await stripe.take(event)).toBe('unchanged');
      expect(await order.row()).toEqual(ended);
      const told = await order.events();
      for (const type of ['payment_paid', 'disputed', 'dispute_closed']) {
        expect(told.filter((each) => each === type).length, type).toBeLessThanOrEqual(1);
      }
    }
    expect(stripe.lines.filter((message) => message.includes('twice'))).toEqual([]);
  },
);

test('a part that was given back is an event of the order with its amount, once', async () => {
  const stripe = await openStripe();
  const order = await stripe.charged();
  stripe.refund(order.payment, 300);
  for (const event of mixed(await stripe.taken(), 0)) await stripe.take(event);
  expect((await order.events()).filter((type) => type === 'partly_refunded')).toHaveLength(1);
  const shown = await storeOf(database.sql).showOrder(order.orderId);
  expect(shown).toMatchObject({ stripe_refunds: [{ amount_cents: 300, status: 'succeeded' }] });
});

test('after a part was given back, a cancellation gives back the rest, which is no part to tell of', async () => {
  const { sql } = database;
  const store = storeOf(sql, 'me');
  const stripe = await openStripe();
  const order = await stripe.charged();
  await order.pay();
  stripe.refund(order.payment, 300);
  for (const event of await stripe.taken()) await stripe.take(event);
  expect(await store.findCancellable(order.orderId, order.retailerId)).toMatchObject({ refundedCents: 300 });
  await store.cancelOrder(order.orderId, 'operator', 'other');
  await store.openRefund(order.orderId);
  const idempotencyKey = `${order.orderId}:refund`;
  await chargerOf(stripe.standIn.url).refund({ idempotencyKey, paymentIntentId: order.payment });
  for (const event of await stripe.taken()) await stripe.take(event);
  expect(await order.row()).toMatchObject({ payment_status: 'refunded' });
  expect(await sql`select status, amount_cents from refunds where order_id = ${order.orderId}`).toEqual([
    { status: 'refunded', amount_cents: FEE - 300 },
  ]);
  expect((await order.events()).filter((type) => type === 'partly_refunded')).toHaveLength(1);
});

test('a part that is given back by hand while the own refund is owed is told of', async () => {
  const store = storeOf(database.sql, 'me');
  const stripe = await openStripe();
  const order = await stripe.charged();
  await order.pay();
  await store.cancelOrder(order.orderId, 'operator', 'other');
  await store.openRefund(order.orderId);
  stripe.refund(order.payment, 300);
  for (const event of await stripe.taken()) await stripe.take(event);
  expect((await order.events()).filter((type) => type === 'partly_refunded')).toHaveLength(1);
});

test('our own refund job makes none after a refund in the dashboard, and the rows agree', async () => {
  const { sql } = database;
  const stripe = await openStripe();
  const order = await stripe.charged();
  await order.pay();
  const refund = stripe.refund(order.payment);
  await storeOf(sql).cancelOrder(order.orderId, 'operator', 'other');
  expect(await storeOf(sql).openRefund(order.orderId)).toMatchObject({ kind: 'paid', paymentIntentId: order.payment });
  for (const event of await stripe.taken()) await stripe.take(event);
  expect(await storeOf(sql).openRefund(order.orderId)).toEqual({ kind: 'not_owed' });
  expect(await sql`select status, stripe_refund_id from refunds where order_id = ${order.orderId}`).toEqual([
    { status: 'refunded', stripe_refund_id: refund.id },
  ]);
});

test('a charge that is found to be paid after its order was cancelled is owed a refund', async () => {
  const { sql } = database;
  const stripe = await openStripe();
  const order = await stripe.charged();
  await order.fail();
  await storeOf(sql).cancelOrder(order.orderId, 'operator', 'other');
  expect(await order.job('refund')).toBeUndefined();
  for (const event of await stripe.taken()) await stripe.take(event);
  expect(await order.row()).toMatchObject({ payment_status: 'paid' });
  expect(await order.job('refund')).toEqual({ done_at: null });
});

test('so is one of an order that ended as not charged, as its charge was put off', async () => {
  const { sql } = database;
  const stripe = await openStripe();
  const order = await stripe.charged();
  await order.putOff();
  await storeOf(sql).cancelOrder(order.orderId, 'operator', 'other');
  const [job] = await sql`select id from outbox where order_id = ${order.orderId} and queue = 'refund'`;
  await storeOf(sql).recordUncharged(order.orderId, job?.id);
  expect(await order.row()).toMatchObject({ payment_status: 'not_charged' });
  for (const event of mixed(await stripe.taken(), 0)) await stripe.take(event);
  expect(await order.row()).toMatchObject({ payment_status: 'paid', charge_id: order.payment });
  const owed = await sql`
    select 1 from outbox where order_id = ${order.orderId} and queue = 'refund' and done_at is null`;
  expect(owed).toHaveLength(1);
  expect(await storeOf(sql).openRefund(order.orderId)).toMatchObject({ kind: 'paid', paymentIntentId: order.payment });
});

test('a failure never makes a paid order failed, and has a late charge asked for at once', async () => {
  const { sql } = database;
  const stripe = await openStripe();
  const order = await stripe.charged('pm_card_processing');
  stripe.settle(order.payment, 'declined');
  const [failure] = await stripe.taken();
  expect(failure?.type).toBe('payment_intent.payment_failed');
  if (!failure) return;
  const lease = async () =>
    (
      await sql`select lease_until > now() as held from outbox where order_id = ${order.orderId} and queue = 'charge'`
    )[0];
  expect([await stripe.take(failure), await lease()]).toEqual(['unchanged', { held: true }]);
  await sql`update payments set first_sent_at = now() - interval '10 minutes' where order_id = ${order.orderId}`;
  expect([await stripe.take(failure), await lease()]).toEqual(['done', { held: false }]);
  expect(await order.row()).toMatchObject({ payment_status: 'processing' });
  await order.pay();
  expect(await stripe.take(failure)).toBe('unchanged');
  expect(await order.row()).toMatchObject({ payment_status: 'paid' });
});

test('a second charge of an order stays unrecorded and is in the log, until it is refunded', async () => {
  const stripe = await openStripe();
  const order = await stripe.charged();
  await order.pay();
  await stripe.taken();
  const other = await order.chargeAgain();
  const take = async () => {
    const events = await stripe.taken();
    expect(events).not.toEqual([]);
    for (const event of events) expect(await stripe.take(event)).toBe('conflict');
  };
  await take();
  stripe.refund(other);
  await take();
  expect(await order.row()).toMatchObject({ charge_id: order.payment, payment_status: 'paid' });
  expect(stripe.lines).toEqual(['an order was charged twice: refund otherChargeId in Stripe']);
});

test('a payment of another amount than the attempt is none of it', async () => {
  const stripe = await openStripe();
  const order = await stripe.charged();
  const [paid] = await stripe.taken();
  if (paid?.news?.kind !== 'charge_paid') throw new Error('no charge');
  expect(await stripe.take({ ...paid, news: { ...paid.news, amountCents: 1 } })).toBe('unchanged');
  expect(await order.row()).toMatchObject({ payment_status: 'processing' });
});

test('an order that is delivered while it is disputed has its payout held, and one paid out keeps it', async () => {
  const { sql } = database;
  const stripe = await openStripe();
  const early = await stripe.charged();
  await early.pay();
  const { id } = stripe.dispute(early.payment);
  for (const event of await stripe.taken()) await stripe.take(event);
  await early.deliver();
  expect(await early.payout()).toEqual(HELD);
  stripe.closeDispute(id, 'won');
  for (const event of await stripe.taken()) await stripe.take(event);
  expect(await early.payout()).toEqual(OWED);

  const late = await stripe.charged();
  await deliveredPaid(late);
  await storeOf(sql).settlePayout(late.orderId, 'paid', null);
  stripe.dispute(late.payment);
  for (const event of await stripe.taken()) await stripe.take(event);
  expect(await late.payout()).toEqual({ status: 'paid', reasons: [] });
  expect(await storeOf(sql).readStats()).toMatchObject({ disputes: { open: expect.any(Number) } });
});

test('a dispute that changes after it was closed holds the payout or lets it go, and old news change nothing', async () => {
  const stripe = await openStripe();
  const order = await stripe.charged();
  await deliveredPaid(order);
  stripe.dispute(order.payment);
  const opened = (await stripe.taken()).find(({ news }) => news?.kind === 'dispute');
  if (opened?.news?.kind !== 'dispute') throw new Error('no dispute');
  const { news } = opened;
  const told = (status: 'open' | 'won' | 'lost', second: number) =>
    stripe.take({
      ...opened,
      type: 'charge.dispute.updated',
      createdAt: new Date(opened.createdAt.getTime() + second * 1_000),
      news: { ...news, status },
    });
  for (const [status, second, outcome, payout] of [
    ['open', 0, 'done', HELD],
    ['open', 9, 'unchanged', HELD],
    ['won', 8, 'unchanged', HELD],
    ['lost', 10, 'done', HELD],
    // An appeal, which is won.
    ['open', 20, 'done', HELD],
    ['won', 30, 'done', OWED],
    ['lost', 29, 'unchanged', OWED],
    ['open', 30, 'unchanged', OWED],
    ['lost', 40, 'done', HELD],
  ] as const) {
    expect(await told(status, second), `${status} at ${second} s`).toBe(outcome);
    expect(await order.payout()).toEqual(payout);
  }
  expect((await order.events()).filter((type) => /^dispute/.test(type))).toEqual([
    'disputed',
    'dispute_closed',
    'disputed',
    'dispute_closed',
    'dispute_closed',
  ]);
});

test('what the operator decided stays: a release during a dispute, and doubts that are not theirs', async () => {
  const { sql } = database;
  const stripe = await openStripe();
  const order = await stripe.charged();
  await deliveredPaid(order);
  await sql`update payouts set status = 'held', reasons = '{too_fast}' where order_id = ${order.orderId}`;
  const { id } = stripe.dispute(order.payment);
  for (const event of await stripe.taken()) await stripe.take(event);
  expect(await order.payout()).toEqual({ status: 'held', reasons: ['too_fast', 'disputed'] });
  const released = await storeOf(sql).settlePayout(order.orderId, 'owed', null);
  expect(released).toMatchObject({ settled: true });
  stripe.closeDispute(id, 'lost');
  for (const event of await stripe.taken()) await stripe.take(event);
  expect(await order.payout()).toMatchObject({ status: 'owed' });

  const doubted = await stripe.charged();
  await deliveredPaid(doubted);
  await sql`update payouts set status = 'held', reasons = '{too_fast}' where order_id = ${doubted.orderId}`;
  stripe.closeDispute(stripe.dispute(doubted.payment).id, 'won');
  for (const event of mixed(await stripe.taken(), 0)) await stripe.take(event);
  expect(await doubted.payout()).toEqual({ status: 'held', reasons: ['too_fast'] });
});

test('events of another mode, of other types and of nobody change nothing', async () => {
  const stripe = await openStripe(true);
  const order = await stripe.charged();
  const [paid] = await stripe.taken();
  if (paid?.news?.kind !== 'charge_paid') throw new Error('no charge');
  const before = await order.row();
  expect(await stripe.take(paid)).toBe('wrong_mode');
  expect(await stripe.take({ ...paid, live: true, type: 'other', news: null })).toBe('ignored');
  expect(await stripe.take({ ...paid, live: true, news: { ...paid.news, orderId: newId() } })).toBe('unknown');
  expect(await stripe.take({ ...paid, live: true, news: { ...paid.news, orderId: 'none' } })).toBe('unknown');
  const foreign = { kind: 'dispute', paymentIntentId: 'pi_foreign', disputeId: 'du_1', amountCents: 1 } as const;
  const news = { ...foreign, reason: 'fraudulent', status: 'open' } as const;
  expect(await stripe.take({ ...paid, live: true, type: 'charge.dispute.created', news })).toBe('unknown');
  expect(await order.row()).toEqual(before);
});

test('without Stripe’s answer an event comes again', async () => {
  const stripe = await openStripe();
  const order = await stripe.charged();
  stripe.refund(order.payment);
  const refund = (await stripe.taken()).find(({ type }) => type === 'refund.created');
  if (!refund) throw new Error('no refund');
  stripe.standIn.orderFaults({ next: [{ kind: 'status', status: 500, effect: 'before', sticky: false }] });
  expect(await stripe.take(refund)).toBe('later');
  expect(await stripe.take(refund)).toBe('done');
  expect(await order.row()).toMatchObject({ payment_status: 'refunded' });
});

/** A store without a card, and one that gives it on the page of a link. */
async function cardStore(stripe: Stripe) {
  const { sql } = database;
  const { retailerId } = await addStoreRow(sql, null);
  const { account } = stripe;
  const customer = { idempotencyKey: `${retailerId}:customer`, name: 'Corner Market', retailerId };
  const made = await account.createCustomer(customer);
  expect(await account.createCustomer(customer)).toEqual(made);
  if (made.kind !== 'customer') throw new Error('no customer');
  return {
    retailerId,
    customerId: made.customerId,
    async give(card: string): Promise<StripeEvent> {
      const urls = { doneUrl: 'http://shop.test/done', cancelledUrl: 'http://shop.test/cancelled' };
      const link = await account.createCardLink({ customerId: made.customerId, retailerId, ...urls });
      if (link.kind !== 'link') throw new Error('no link');
      const page = await (await fetch(link.url)).text();
      expect(page).toContain(`value="${card}"`);
      const body = new URLSearchParams({ card });
      const given = await fetch(link.url, { method: 'POST', body, redirect: 'manual' });
      expect([given.status, given.headers.get('location')]).toEqual([303, urls.doneUrl]);
      const [event] = await stripe.taken();
      if (!event) throw new Error('no event');
      return event;
    },
    row: async () => (await sql`select * from retailers where id = ${retailerId}`)[0] ?? {},
  };
}

test('a card that a store gave is set once, and an older or doubled callback changes nothing', async () => {
  const { sql } = database;
  const stripe = await openStripe();
  const store = await cardStore(stripe);
  const older = await store.give('declined');
  const newer = { ...(await store.give('ok')), createdAt: new Date(older.createdAt.getTime() + 1_000) };
  expect(await stripe.take(newer)).toBe('done');
  expect(await store.row()).toMatchObject({
    stripe_customer_id: store.customerId,
    stripe_payment_method_id: expect.stringMatching(/^pm_sandbox_visa_/),
  });
  // A second time it would let three more unpaid orders through.
  await sql`update retailers set payment_failed_at = now() where id = ${store.retailerId}`;
  await sql`insert into unpaid_charges values (${store.retailerId}, ${newId()})`;
  const unpaid = async () =>
    (await sql`select order_id from unpaid_charges where retailer_id = ${store.retailerId}`).length;
  const before = await store.row();
  expect(await stripe.take(newer)).toBe('unchanged');
  expect(await stripe.take(older)).toBe('unchanged');
  expect([await store.row(), await unpaid()]).toEqual([before, 1]);
});

test('a card that the operator set later stays', async () => {
  const stripe = await openStripe();
  const store = await cardStore(stripe);
  const given = await store.give('ok');
  await storeOf(database.sql).setCard(store.retailerId, 'cus_1', 'pm_card_visa');
  expect(await stripe.take(given)).toBe('unchanged');
  expect(await store.row()).toMatchObject({ stripe_payment_method_id: 'pm_card_visa' });
});

test.each([
  ['after', [0, 1]],
  ['before', [1, 0]],
])('a card that was taken off at Stripe is none, told %s it was given', async (_when, order) => {
  const stripe = await openStripe();
  const store = await cardStore(stripe);
  const given = await store.give('ok');
  const session = stripe.standIn.entries().find((entry) => (entry as { type: string }).type === 'session');
  stripe.detach((session as { paymentMethod: string }).paymentMethod);
  const events = [given, ...(await stripe.taken())];
  for (const at of order) await stripe.take(events[at] as StripeEvent);
  expect(await store.row()).toMatchObject({
    stripe_payment_method_id: null,
    stripe_customer_id: store.customerId,
  });
});

test('a refund that fails after its order was cancelled is made by the refund job', async () => {
  const { sql } = database;
  const stripe = await openStripe();
  const order = await stripe.charged();
  const { id } = stripe.refund(order.payment);
  for (const event of await stripe.taken()) await stripe.take(event);
  await storeOf(sql).cancelOrder(order.orderId, 'operator', 'other');
  expect(await order.job('refund')).toBeUndefined();
  stripe.failRefund(id);
  for (const event of mixed(await stripe.taken(), 0)) await stripe.take(event);
  expect(await order.row()).toMatchObject({ status: 'cancelled', payment_status: 'paid' });
  expect(await order.job('refund')).toEqual({ done_at: null });
});

test('a refund that the bank sends back is one failed job, whose retry refunds once, under its own key', async () => {
  const { sql } = database;
  const store = storeOf(sql, 'me');
  const stripe = await openStripe();
  const order = await stripe.charged();
  const { orderId } = order;
  await order.pay();
  const charger = chargerOf(stripe.standIn.url);
  const keys: string[] = [];
  const refund = createRefundJob({
    store,
    stripe: {
      refund(request) {
        keys.push(request.idempotencyKey);
        return charger.refund(request);
      },
    },
    relay: { relay: () => undefined },
    events: new OrderEvents(),
    logger: createLogger('silent'),
  });
  const run = (changed: ChangedOrder | null) => refund({ orderId, outboxId: changed?.outbox[0]?.id ?? 0 });
  const sendBack = async () => {
    stripe.failRefund((await order.row()).refund_id as string);
    for (const event of mixed(await stripe.taken(), 0)) await stripe.take(event);
  };
  const search = { status: 'refund', since: null, until: null, text: orderId, retailerIds: null } as const;
  const listed = async () => (await store.listFailedJobs(search, { limit: 9, after: null })).rows;
  const retry = async () =>
    store.retryRefund((await store.findFailedJob(Number((await listed())[0]?.job_id))) as FailedJob);

  await run(await store.cancelOrder(orderId, 'operator', 'other'));
  expect(await order.row()).toMatchObject({ payment_status: 'refunded' });
  // Done jobs are deleted after a while, and a bank may take longer.
  await sql`delete from outbox where order_id = ${orderId} and queue = 'refund'`;
  await sendBack();
  expect(await order.row()).toMatchObject({ payment_status: 'paid' });
  expect(await listed()).toMatchObject([{ queue: 'refund', order_id: orderId, failure_code: 'failed_later' }]);
  expect((await store.readBacklog()).find(({ queue }) => queue === 'refund')).toMatchObject({ failed: 1 });

  // By hand, which is sent back as well: still one job, for the rest of the way.
  stripe.refund(order.payment);
  for (const event of await stripe.taken()) await stripe.take(event);
  expect(await listed()).toEqual([]);
  await sendBack();
  expect(await listed()).toHaveLength(1);

  const retried = await retry();
  expect(await listed()).toEqual([]);
  await run(retried);
  await run(retried);
  for (const event of mixed(await stripe.taken(), 0)) await stripe.take(event);
  expect(await order.row()).toMatchObject({ payment_status: 'refunded' });
  expect(keys).toEqual([`${orderId}:refund`, `${orderId}:refund:2`]);
});

test('a refund that fails while its order is about to count as refunded leaves the order paid', async () => {
  const { sql } = database;
  const stripe = await openStripe();
  const order = await stripe.charged();
  await order.pay();
  const { orderId } = order;
  const refund = { refundId: `re_${orderId}`, amountCents: FEE } as const;
  await storeOf(sql).noteStripeRefund(orderId, { ...refund, status: 'succeeded' });
  const failing = connect({ url: database.url, applicationName: 'failing', max: 1 });
  onTestFinished(() => failing.end());
  await failing`begin`;
  await failing`update orders set sequence = sequence + 1 where id = ${orderId}`;
  await failing`update stripe_refunds set status = 'failed' where refund_id = ${refund.refundId}`;
  const settling = storeOf(sql).settleStripeRefunds(orderId);
  const untilWaiting = () => sql`
    select from pg_stat_activity
    where wait_event_type = 'Lock' and query like '%stripe_refunds%' and datname = current_database()`;
  await expect.poll(untilWaiting, { interval: 5 }).toHaveLength(1);
  await failing`commit`;
  expect(await settling).toBeNull();
  expect(await order.row()).toMatchObject({ payment_status: 'paid' });
});
