import { expect, test } from 'vitest';
import { newId } from '../../../src/domain/ids.ts';
import type { PaymentResult } from '../../../src/store/payments/payments.ts';
import { useFreshDatabase } from '../../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow, orderRow } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';
import { openAttempt, recordAttempt } from '../../harness/vendor-rows.ts';
import { noticesDuring, openTransaction, untilBlocked } from '../transaction.ts';

const database = await useFreshDatabase();
const { sql } = database;

const PAID: PaymentResult = { status: 'paid', paymentIntentId: 'pi_1' };
const LATER: PaymentResult = { status: 'declined', failureCode: 'insufficient_funds', final: false };
const NEVER: PaymentResult = { status: 'declined', failureCode: 'lost_card', final: true };

type Owed = Awaited<ReturnType<typeof owed>>;

/** An assigned order whose charge is owed, and its outbox row. Its store has a card of its own, whose tries count. */
async function owed() {
  const store = await addStoreRow(sql, { customer: 'cus_1', paymentMethod: `pm_${newId()}` });
  const { orderId, jobs } = await addOrder(sql, store, { driverId: await addDriverRow(sql) });
  const outboxId = jobs.charge?.id ?? 0;
  const open = () => openAttempt(sql, orderId);
  const record = (attempt: number, result: PaymentResult) =>
    recordAttempt(sql, { orderId, attempt }, result, outboxId, 'me');
  const isDone = async () => (await sql`select done_at from outbox where id = ${outboxId}`)[0]?.done_at !== null;
  const events = async () => {
    const rows = await sql`
      select type, data from order_events where order_id = ${orderId} and type like 'payment%' order by sequence`;
    return rows.map((row) => ({ ...row }));
  };
  const attempts = async () => {
    const rows = await sql`select attempt, status from payments where order_id = ${orderId} order by attempt`;
    return rows.map(({ attempt, status }) => `${attempt} ${status}`);
  };
  return { store, orderId, outboxId, open, record, isDone, events, attempts, row: () => orderRow(sql, orderId) };
}

test('an attempt has the order’s fee and the store’s card, is stored before it is sent, and reopens the same', async () => {
  const { open, orderId, store, attempts } = await owed();
  const attempt = await open();
  expect(attempt).toEqual({
    orderId,
    retailerId: store.retailerId,
    attempt: 1,
    amountCents: 799,
    stripeCustomerId: 'cus_1',
    stripePaymentMethodId: expect.stringMatching(/^pm_/),
    ageSeconds: 0,
    isLast: false,
    cardWaitSeconds: null,
    pauseSeconds: 0,
  });
  await storeOf(sql, 'test').setTier('standard', { feeCents: 5_000 });
  await storeOf(sql).setCard(store.retailerId, 'cus_2', 'pm_card_other');
  const again = await open();
  await storeOf(sql, 'test').setTier('standard', { feeCents: 799 });
  expect(again).toEqual({ ...attempt, ageSeconds: expect.any(Number) });
  expect(await attempts()).toEqual(['1 sending']);
});

test('the age of an attempt counts from its first send', async () => {
  const { open, orderId } = await owed();
  await open();
  await sql`update payments set first_sent_at = now() - interval '90 seconds' where order_id = ${orderId}`;
  expect((await open())?.ageSeconds).toBeCloseTo(90, -1);
});

test('two concurrent workers open the same attempt', async () => {
  const { open, attempts } = await owed();
  const opened = await Promise.all(Array.from({ length: 5 }, open));
  expect(opened.map((attempt) => attempt?.attempt)).toEqual([1, 1, 1, 1, 1]);
  expect(await attempts()).toEqual(['1 sending']);
});

test('no attempt is opened for an order that waits, is unknown, or has a recorded result', async () => {
  const waiting = await addOrder(sql, await addStoreRow(sql));
  expect(await storeOf(sql).openPaymentAttempts([waiting.orderId, newId()], 3)).toEqual(new Map());
  const { open, record } = await owed();
  await open();
  await record(1, PAID);
  expect(await open()).toBeNull();
});

test('a paid attempt records attempt, order, job, event and notice in one statement', async () => {
  const { open, record, row, isDone, events, attempts, orderId } = await owed();
  await open();
  const notices = await noticesDuring(database, async () => {
    expect(await record(1, PAID)).toBe(true);
  });
  expect(notices).toEqual([`me:details:${orderId}:paid`]);
  expect(await row()).toMatchObject({
    status: 'driver_assigned',
    sequence: 3,
    payment_status: 'paid',
    charge_id: 'pi_1',
    payment_failure_code: null,
  });
  expect([await isDone(), await attempts(), await events()]).toEqual([
    true,
    ['1 paid'],
    [{ type: 'payment_paid', data: null }],
  ]);
});

test.each([
  ['paid again', PAID],
  ['declined after all', NEVER],
  ['declined for now', LATER],
])('a recorded result stays: %s changes nothing', async (_what, result) => {
  const { open, record, row, events, attempts } = await owed();
  await open();
  await record(1, PAID);
  const before = [await row(), await events(), await attempts()];
  const notices = await noticesDuring(database, async () => expect(await record(1, result)).toBe(false));
  expect(notices).toEqual([]);
  expect([await row(), await events(), await attempts()]).toEqual(before);
});

test('of two workers that record a result at once one writes', async () => {
  const { open, record, events } = await owed();
  await open();
  const results = await Promise.all([record(1, PAID), record(1, PAID), record(1, NEVER)]);
  expect(results.filter(Boolean)).toHaveLength(1);
  expect(await events()).toHaveLength(1);
});

test('payment statuses are read for many orders; an unknown one is missing', async () => {
  const [paid, sending] = [await owed(), await owed()];
  await paid.open();
  await paid.record(1, PAID);
  const statuses = await storeOf(sql).loadPaymentStatuses([paid.orderId, sending.orderId, newId()]);
  expect(statuses).toEqual(
    new Map([
      [paid.orderId, 'paid'],
      [sending.orderId, 'processing'],
    ]),
  );
});

test('after a decline that may pass, the job stays owed and the next attempt takes the present card', async () => {
  const { open, record, row, isDone, events, store } = await owed();
  await open();
  expect(await record(1, LATER)).toBe(true);
  expect(await row()).toMatchObject({
    status: 'driver_assigned',
    payment_status: 'processing',
    payment_failure_code: 'insufficient_funds',
  });
  expect(await isDone()).toBe(false);
  await storeOf(sql).setCard(store.retailerId, 'cus_2', 'pm_card_other');
  expect(await open()).toMatchObject({ attempt: 2, stripeCustomerId: 'cus_2', ageSeconds: 0 });
  await record(2, PAID);
  expect(await row()).toMatchObject({ payment_status: 'paid', payment_failure_code: null });
  expect(await events()).toEqual([
    { type: 'payment_declined', data: { code: 'insufficient_funds' } },
    { type: 'payment_paid', data: null },
  ]);
});

test('a charge of a scenario stays on its card where it was put off, and not where it is tried again by hand', async () => {
  const { open, record, orderId, outboxId, store } = await owed();
  await sql`update orders set scenario = '{"payment_method": "pm_scenario"}' where id = ${orderId}`;
  await open();
  await storeOf(sql).putOffCharge({ orderId, attempt: 1 }, outboxId, { seconds: 0, allowed: 3 });
  expect(await open()).toMatchObject({ attempt: 2, stripePaymentMethodId: 'pm_scenario' });
  await record(2, NEVER);
  await storeOf(sql).retryCharges({ orderId }, 1, 99);
  const [own] = await sql`select stripe_payment_method_id as card from retailers where id = ${store.retailerId}`;
  expect(await open()).toMatchObject({ attempt: 3, stripePaymentMethodId: own?.card });
});

test('a final decline fails the payment with its code, and the delivery goes on', async () => {
  const { open, record, row, isDone, events, outboxId } = await owed();
  await open();
  await record(1, NEVER);
  expect(await row()).toMatchObject({
    status: 'driver_assigned',
    payment_status: 'failed',
    payment_failure_code: 'lost_card',
    charge_id: null,
  });
  expect([await isDone(), await open()]).toEqual([true, null]);
  expect(await events()).toEqual([{ type: 'payment_failed', data: { code: 'lost_card' } }]);
  const [job] = await sql`select failure_code from outbox where id = ${outboxId}`;
  expect(job?.failure_code).toBe('lost_card');
});

test('a worker with the late result of an attempt that was declined meanwhile changes nothing', async () => {
  const { open, record, row, attempts } = await owed();
  await open();
  await record(1, LATER);
  await open();
  expect(await record(1, NEVER)).toBe(false);
  expect((await row()).payment_status).toBe('processing');
  expect(await attempts()).toEqual(['1 declined', '2 sending']);
});

test('an attempt whose result is being recorded elsewhere is not opened again', async () => {
  const { open, orderId, outboxId, attempts } = await owed();
  await open();
  const other = await openTransaction(database);
  await storeOf(other.sql, 'other').recordPaid([{ orderId, attempt: 1, paymentIntentId: 'pi_1', outboxId }]);
  const opening = open();
  await untilBlocked(database);
  await other.commit();
  expect(await opening).toBeNull();
  expect(await attempts()).toEqual(['1 paid']);
});

test('one statement opens and records many attempts; one recorded before is left out', async () => {
  const orders = await Promise.all([owed(), owed(), owed(), owed()]);
  const [first, second, third, fourth] = orders as [Owed, Owed, Owed, Owed];
  await second.open();
  await second.record(1, LATER);
  await third.open();
  await third.record(1, PAID);
  const waiting = await addOrder(sql, await addStoreRow(sql));
  const opened = await storeOf(sql).openPaymentAttempts([...orders.map(({ orderId }) => orderId), waiting.orderId], 3);
  const attemptOf = ({ orderId }: Owed) => opened.get(orderId)?.attempt;
  expect([opened.size, ...[first, second, third, fourth].map(attemptOf)]).toEqual([3, 1, 2, undefined, 1]);
  expect(opened.get(fourth.orderId)).toMatchObject({ orderId: fourth.orderId, retailerId: fourth.store.retailerId });
  const paid = [first, second, third].map(({ orderId, outboxId }, i) => {
    return { orderId, attempt: attemptOf(orders[i] as Owed) ?? 1, paymentIntentId: `pi_many_${i}`, outboxId };
  });
  const notices = await noticesDuring(database, async () => {
    expect([...(await storeOf(sql, 'me').recordPaid(paid)).keys()].sort()).toEqual(
      [first.orderId, second.orderId].sort(),
    );
  });
  expect(notices).toHaveLength(1);
  expect((await first.row()).charge_id).toBe('pi_many_0');
  expect((await second.row()).charge_id).toBe('pi_many_1');
  expect((await third.row()).charge_id).toBe('pi_1');
  expect(await fourth.row()).toMatchObject({ payment_status: 'processing', charge_id: null });
  expect([await first.isDone(), await second.isDone(), await fourth.isDone()]).toEqual([true, true, false]);
});

test('concurrent statements that record the same orders in different orders do not deadlock', async () => {
  const orders = await Promise.all(Array.from({ length: 12 }, owed));
  await storeOf(sql).openPaymentAttempts(
    orders.map(({ orderId }) => orderId),
    3,
  );
  const paid = orders.map(({ orderId, outboxId }) => ({ orderId, attempt: 1, paymentIntentId: 'pi', outboxId }));
  const outcomes = await Promise.all([
    storeOf(sql, 'a').recordPaid(paid),
    storeOf(sql, 'b').recordPaid(paid.toReversed()),
  ]);
  expect(outcomes.reduce((sum, { size }) => sum + size, 0)).toBe(12);
});

test.each(['committed', 'about to be committed'])(
  'a charge whose card must wait is not put back beside an attempt of another worker that is %s',
  async (when) => {
    const { open, record, orderId, outboxId, isDone } = await owed();
    await open();
    await record(1, LATER);
    const wait = { failureCode: 'card_declined_too_often', final: true, retryAfterSeconds: 900 };
    const putBack = () => storeOf(sql, 'me').recordDeclined({ orderId, attempt: null }, wait, outboxId);
    if (when === 'committed') {
      await open();
      expect(await putBack()).toBeNull();
    } else {
      const other = await openTransaction(database);
      await openAttempt(other.sql, orderId);
      const waiting = putBack();
      await untilBlocked(database);
      await other.commit();
      expect(await waiting).toBeNull();
    }
    // The other worker's row is still owed, and its charge is the order's.
    expect([await isDone(), (await orderRow(sql, orderId)).payment_status]).toEqual([false, 'processing']);
    await record(2, PAID);
    expect(await orderRow(sql, orderId)).toMatchObject({ payment_status: 'paid', charge_id: 'pi_1' });
  },
);
