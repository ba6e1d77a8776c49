import { beforeEach, expect, test } from 'vitest';
import { FIRST_ID } from '../../../src/domain/ids.ts';
import type { OrderStatus } from '../../../src/domain/order.ts';
import { MAX_PAYMENT_ATTEMPTS_EVER } from '../../../src/limits.ts';
import { CARD_WAIT_SECONDS, CARD_WINDOW_SECONDS } from '../../../src/store/payments/card-tries.ts';
import { useFreshDatabase } from '../../harness/database.ts';
import { addStoreRow, orderRow, type TestStore } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';
import { chargedOrder, failCharges } from '../../harness/unpaid.ts';
import { openAttempt, recordAttempt } from '../../harness/vendor-rows.ts';
import { noticesDuring } from '../transaction.ts';

const database = await useFreshDatabase();
const { sql } = database;
let store: TestStore;
beforeEach(async () => {
  // The declines of the tests before count no more: stores of tests share a card.
  await sql`update payments set first_sent_at = first_sent_at - interval '25 hours'`;
  store = await addStoreRow(sql);
});

const EVER = MAX_PAYMENT_ATTEMPTS_EVER;
const me = storeOf(sql, 'me');
const retry = (orderId: string) => me.retryCharges({ orderId }, 3, EVER);
const failed = async () => (await failCharges(sql, store, 1))[0] as string;
const attempts = async (orderId: string) => {
  const rows = await sql`
    select attempt, stripe_payment_method_id as card, status from payments where order_id = ${orderId} order by attempt`;
  return rows.map(({ attempt, card, status }) => `${attempt} ${card} ${status}`);
};
const account = async () => {
  const [row] = await sql`
    select unpaid_orders_of(r.id) as unpaid_orders, (select count(*)::int from unproven_orders u where u.retailer_id = r.id) as under_way
    from retailers r where id = ${store.retailerId}`;
  return { ...row };
};

test('a failed charge is tried again under the next key, on the card that the store has by then', async () => {
  const orderId = await failed();
  await me.setCard(store.retailerId, 'cus_2', 'pm_new');
  const [changed] = await retry(orderId);
  expect(changed?.outbox).toMatchObject([{ queue: 'charge', orderId }]);
  expect(await orderRow(sql, orderId)).toMatchObject({
    payment_status: 'processing',
    status: 'driver_assigned',
  });
  expect(await openAttempt(sql, orderId)).toMatchObject({ attempt: 2, stripePaymentMethodId: 'pm_new' });
  const result = { status: 'paid', paymentIntentId: 'pi_2' } as const;
  await recordAttempt(sql, { orderId, attempt: 2 }, result, changed?.outbox[0]?.id ?? 0);
  expect(await orderRow(sql, orderId)).toMatchObject({
    payment_status: 'paid',
    payment_failure_code: null,
    charge_id: 'pi_2',
  });
  expect(await attempts(orderId)).toEqual(['1 pm_card_visa declined', '2 pm_new paid']);
  const events = await sql`select type from order_events where order_id = ${orderId} order by sequence`;
  expect(events.map(({ type }) => type).slice(2)).toEqual(['payment_failed', 'payment_retried', 'payment_paid']);
  expect(await retry(orderId)).toEqual([]);
});

test('each try has three attempts of its own, and the third one is the last', async () => {
  const orderId = await failed();
  await retry(orderId);
  const later = { status: 'declined', failureCode: 'insufficient_funds', final: false } as const;
  const seen: [number, boolean][] = [];
  for (;;) {
    const attempt = await openAttempt(sql, orderId);
    if (!attempt) break;
    seen.push([attempt.attempt, attempt.isLast]);
    await recordAttempt(sql, attempt, { ...later, final: attempt.isLast }, 0);
  }
  expect(seen).toEqual([
    [2, false],
    [3, false],
    [4, true],
  ]);
  expect((await orderRow(sql, orderId)).payment_status).toBe('failed');
  await retry(orderId);
  expect(await openAttempt(sql, orderId)).toMatchObject({ attempt: 5, isLast: false });
});

test('of failed charges that are tried again at once a card gets no more than it may be declined for', async () => {
  await me.setCard(store.retailerId, 'cus_1', 'pm_of_many');
  const orders = await failCharges(sql, store, 10);
  await sql`update payments set first_sent_at = now() - interval '25 hours' where order_id = any(${orders}::uuid[])`;
  await me.retryCharges({ retailerId: store.retailerId, after: FIRST_ID, limit: 10 }, 3, EVER);
  const cards = async () => {
    const opened = [...(await me.openPaymentAttempts(orders, 3)).values()];
    const waits = opened.flatMap(({ cardWaitSeconds }) => (cardWaitSeconds === null ? [] : [cardWaitSeconds]));
    return { opened: opened.length - waits.length, waits };
  };
  const soon = { opened: 8, waits: [CARD_WAIT_SECONDS, CARD_WAIT_SECONDS] };
  expect([await cards(), await cards()]).toEqual([soon, soon]);
  const rows =
    await sql`select order_id, attempt from payments where order_id = any(${orders}::uuid[]) and status = 'sending'`;
  for (const row of rows) {
    const declined = { status: 'declined', failureCode: 'lost_card', final: true } as const;
    await recordAttempt(sql, { orderId: row.order_id, attempt: row.attempt }, declined, 0);
  }
  const tomorrow = expect.closeTo(CARD_WINDOW_SECONDS, -2);
  expect(await cards()).toEqual({ opened: 0, waits: [tomorrow, tomorrow] });
});

test('of charges that are due, a card gets as many as it has room for, and those without an attempt left are forgotten', async () => {
  await me.setCard(store.retailerId, 'cus_1', 'pm_of_due');
  const orders = await failCharges(sql, store, 12);
  await sql`update payments set first_sent_at = now() - interval '25 hours' where order_id = any(${orders}::uuid[])`;
  await sql`insert into charge_retries (order_id, due_at) select unnest(${orders}::uuid[]), now()`;
  const [usedUp] = orders;
  await sql`update payments set attempt = 3 where order_id = ${usedUp ?? ''}`;
  const due = async () => (await me.retryDueCharges(3, 100)).map(({ id }) => id);
  const first = await due();
  expect([first.length, first.includes(usedUp ?? '')]).toEqual([8, false]);
  const left = await sql`
    select extract(epoch from due_at - now())::float8 as seconds from charge_retries where order_id = any(${orders}::uuid[])`;
  const wait = expect.closeTo(CARD_WAIT_SECONDS, -1);
  expect(left.map(({ seconds }) => seconds)).toEqual([wait, wait, wait]);
  expect(await due()).toEqual([]);
});

test('of retries at the same moment one is made, and none beside a charge that is being sent', async () => {
  const orderId = await failed();
  const made = await Promise.all([retry(orderId), retry(orderId), retry(orderId)]);
  expect(made.flat()).toHaveLength(1);
  await openAttempt(sql, orderId);
  expect(await retry(orderId)).toEqual([]);
  await sql`update orders set payment_status = 'failed' where id = ${orderId}`;
  expect(await retry(orderId)).toEqual([]);
  expect(await attempts(orderId)).toEqual(['1 pm_card_visa declined', '2 pm_card_visa sending']);
});

test.each<[OrderStatus, number]>([
  ['pending_dispatch', 1],
  ['driver_assigned', 1],
  ['picked_up', 1],
  ['delivered', 1],
  ['undeliverable', 1],
  ['returned', 1],
  ['cancelled', 0],
  ['expired', 0],
])('a failed charge of an order that is %s is tried again %i times', async (status, times) => {
  const orderId = await failed();
  await sql`
    update orders set status = ${status}, driver_id = case when ${status} = 'pending_dispatch' then null else driver_id end
    where id = ${orderId}`;
  expect(await retry(orderId)).toHaveLength(times);
});

test('a charge that was made, refunded, is under way or was never owed is not tried again', async () => {
  const order = await chargedOrder(sql, store);
  expect(await retry(order.orderId)).toEqual([]);
  await order.settle('paid');
  expect(await retry(order.orderId)).toEqual([]);
  for (const payment of ['refunded', 'not_charged']) {
    await sql`update orders set payment_status = ${payment} where id = ${order.orderId}`;
    expect(await retry(order.orderId)).toEqual([]);
  }
});

test('the attempts of an order have an end', async () => {
  const orderId = await failed();
  await sql`update payments set attempt = ${EVER - 3} where order_id = ${orderId}`;
  expect(await retry(orderId)).toHaveLength(1);
  await sql`update orders set payment_status = 'failed' where id = ${orderId}`;
  await sql`update payments set attempt = ${EVER - 2} where order_id = ${orderId}`;
  expect(await retry(orderId)).toEqual([]);
});

test('all failed charges of a store are tried again in parts, each once', async () => {
  const ids = (await failCharges(sql, store, 5)).toSorted();
  const other = await addStoreRow(sql);
  const [elsewhere] = await failCharges(sql, other, 1);
  const seen: string[][] = [];
  for (let after: string = FIRST_ID; ; ) {
    const some = await me.retryCharges({ retailerId: store.retailerId, after, limit: 2 }, 3, EVER);
    if (some.length === 0) break;
    seen.push(some.map(({ id }) => id).toSorted());
    after = seen.at(-1)?.at(-1) as string;
  }
  expect(seen).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);
  expect((await orderRow(sql, elsewhere as string)).payment_status).toBe('failed');
});

test('an order that is tried again counts as under way, and once as unpaid if it fails again', async () => {
  const [first] = await failCharges(sql, store, 2);
  const orderId = first as string;
  expect(await account()).toEqual({ unpaid_orders: 2, under_way: 0 });
  const notices = await noticesDuring(database, () => retry(orderId));
  expect(notices).toEqual(expect.arrayContaining([`me:retailer:${store.retailerId}`, `me:details:${orderId}`]));
  expect(await account()).toEqual({ unpaid_orders: 1, under_way: 1 });
  await openAttempt(sql, orderId);
  const again = { status: 'declined', failureCode: 'lost_card', final: true } as const;
  await recordAttempt(sql, { orderId, attempt: 2 }, again, 0);
  expect(await account()).toEqual({ unpaid_orders: 2, under_way: 0 });
});

test('a store has the charges of its own orders tried again, so many times each', async () => {
  const orderId = await failed();
  const ask = (retailerId: string) => me.retryCharges({ orderId, byStore: { retailerId, most: 2 } }, 3, EVER);
  const other = await addStoreRow(sql);
  expect(await ask(other.retailerId)).toEqual([]);
  const fail = () => sql`update orders set payment_status = 'failed' where id = ${orderId}`;
  for (let time = 0; time < 2; time++) {
    expect(await ask(store.retailerId)).toHaveLength(1);
    expect(await ask(store.retailerId)).toEqual([]);
    await fail();
  }
  expect(await ask(store.retailerId)).toEqual([]);
  const events = await sql`
    select data from order_events where order_id = ${orderId} and type = 'payment_retried' order by sequence`;
  expect(events.map(({ data }) => data)).toEqual([{ by: 'store' }, { by: 'store' }]);
  // The operator may go on, and what they asked for does not count as the store's.
  expect(await retry(orderId)).toHaveLength(1);
  await fail();
  expect(await ask(store.retailerId)).toEqual([]);
});

test('the state of a payment is told to its store alone', async () => {
  const orderId = await failed();
  const other = await addStoreRow(sql);
  expect(await me.findPaymentState(orderId, store.retailerId)).toEqual({
    status: 'driver_assigned',
    paymentStatus: 'failed',
    timesAsked: 0,
    cardWaitSeconds: null,
  });
  expect(await me.findPaymentState(orderId, other.retailerId)).toBeNull();
});
