import { beforeEach, expect, test } from 'vitest';
import { TEXT_USEFUL_SECONDS } from '../../../src/limits.ts';
import type { FailedJob } from '../../../src/store/operator/failed-jobs.ts';
import type { Place } from '../../../src/store/pages.ts';
import { useFreshDatabase } from '../../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow, orderRow, type TestStore, UNSTAMPED } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';
import { failCharges } from '../../harness/unpaid.ts';
import { countSend, openAttempt, openText, recordAttempt, recordText, SENDER } from '../../harness/vendor-rows.ts';

const { sql } = await useFreshDatabase();
let shop: TestStore;
beforeEach(async () => {
  shop = await addStoreRow(sql);
});

const me = storeOf(sql, 'me');
const ANY = { status: null, since: null, until: null, text: null };
const list = async (search: object = {}, limit = 10, after: Place | null = null) =>
  me.listFailedJobs({ ...ANY, retailerIds: [shop.retailerId], ...search }, { limit, after });
const failed = async (): Promise<FailedJob> => {
  const [row] = (await list()).rows;
  return (await me.findFailedJob(Number(row?.job_id))) as FailedJob;
};
const failedIn = async (queue: string) => (await me.readBacklog()).find((each) => each.queue === queue)?.failed;

/** An order whose tracking text Twilio refused. */
async function refusedText(failureCode = '21211'): Promise<string> {
  const { orderId, jobs } = await addOrder(sql, shop);
  await openText(sql, orderId);
  const result = { status: 'failed', failureCode, says: 'The phone is none.' } as const;
  await recordText(sql, orderId, result, jobs.sms?.id ?? 0);
  return orderId;
}

/** A cancelled paid order whose refund Stripe refused. */
async function refusedRefund(): Promise<string> {
  const { orderId, jobs } = await addOrder(sql, shop, { driverId: await addDriverRow(sql) });
  await openAttempt(sql, orderId);
  const paid = { status: 'paid', paymentIntentId: 'pi_1' } as const;
  await recordAttempt(sql, { orderId, attempt: 1 }, paid, jobs.charge?.id ?? 0);
  const cancelled = await me.cancelOrder(orderId, 'operator', 'other');
  await me.openRefund(orderId);
  const refused = { code: 'charge_disputed', says: 'This charge is disputed.' };
  await me.recordRefundRefused(orderId, refused, cancelled?.outbox[0]?.id ?? 0);
  return orderId;
}

test('failed jobs are listed the newest first, page by page, with the words of the vendor', async () => {
  const [unpaid] = await failCharges(sql, shop, 1);
  const texted = await refusedText();
  const refund = await refusedRefund();
  const first = await list({}, 2);
  expect(first.rows).toMatchObject([
    { queue: 'refund', order_id: refund, failure_code: 'charge_disputed', vendor_says: 'This charge is disputed.' },
    { queue: 'sms', order_id: texted, failure_code: '21211', vendor_says: 'The phone is none.' },
  ]);
  expect(first).toMatchObject({ more: 1, isExact: true });
  const charge = { queue: 'charge', order_id: unpaid, failure_code: 'lost_card', store: expect.any(String) };
  expect((await list({}, 2, first.next)).rows).toMatchObject([charge]);
  for (const search of [{ status: 'charge' }, { text: unpaid }, { text: 'LOST_card' }]) {
    expect((await list(search)).rows).toMatchObject([charge]);
  }
  expect((await list({ until: new Date(0) })).rows).toEqual([]);
});

test('a charge that is tried again, or that its order does not owe any more, counts as failed no more', async () => {
  const before = await failedIn('charge');
  const [orderId = ''] = await failCharges(sql, shop, 1);
  expect(await failedIn('charge')).toBe(Number(before) + 1);
  const [retried] = await me.retryCharges({ orderId }, 3, 9);
  expect(await failedIn('charge')).toBe(before);
  const attempt = await openAttempt(sql, orderId);
  const lost = { status: 'declined', failureCode: 'lost_card', final: true } as const;
  await recordAttempt(sql, attempt as never, lost, retried?.outbox[0]?.id ?? 0);
  expect(await failedIn('charge')).toBe(Number(before) + 1);
  await me.cancelOrder(orderId, 'operator', 'other');
  expect(await failedIn('charge')).toBe(before);
});

test('a job that is dropped is off the list and the figures, and what its order owes stays', async () => {
  const before = await failedIn('charge');
  const [orderId = ''] = await failCharges(sql, shop, 1);
  const { id } = await failed();
  expect(await me.dropFailedJob(id)).toBe(true);
  expect(await me.dropFailedJob(id)).toBe(false);
  expect(await list()).toMatchObject({ rows: [] });
  expect(await failedIn('charge')).toBe(before);
  expect(await me.findFailedJob(id)).toBeNull();
  expect(await orderRow(sql, orderId)).toMatchObject({ payment_status: 'failed' });
});

test('of two retries of a refund at the same moment one is made, and it is an attempt of its own', async () => {
  const orderId = await refusedRefund();
  const job = await failed();
  const made = (await Promise.all([me.retryRefund(job), me.retryRefund(job)])).filter((each) => each !== null);
  expect(made).toMatchObject([{ id: orderId, outbox: [{ queue: 'refund' }] }]);
  expect(await me.openRefund(orderId)).toEqual({ kind: 'paid', paymentIntentId: 'pi_1', attempt: 2 });
  await me.recordRefund(orderId, 're_2', made[0]?.outbox[0]?.id ?? 0);
  const rows = await sql`
    select attempt, status, stripe_refund_id from refunds where order_id = ${orderId} order by attempt`;
  expect([...rows]).toEqual([
    { attempt: 1, status: 'refused', stripe_refund_id: null },
    { attempt: 2, status: 'refunded', stripe_refund_id: 're_2' },
  ]);
  expect(await me.retryRefund(job)).toBeNull();
});

test('a refund that was refused is found until it is made, however long ago that was', async () => {
  const orderId = await refusedRefund();
  await sql`update outbox set done_at = now() - interval '8 days' where order_id = ${orderId}`;
  const prune = () => me.pruneOutbox(7, 1_000);
  await prune();
  const retried = await me.retryRefund(await failed());
  await prune();
  expect(await sql`select from outbox where order_id = ${orderId} and failure_code is not null`).toEqual([]);
  expect(retried).toMatchObject({ id: orderId });
});

test('a text that is tried again keeps the sends that were counted, so it is looked up before it is sent', async () => {
  const orderId = await refusedText();
  const job = await failed();
  const made = (await Promise.all([me.retryText(job), me.retryText(job)])).filter((each) => each !== null);
  expect(made).toMatchObject([{ id: orderId, outbox: [{ queue: 'sms' }] }]);
  expect(await orderRow(sql, orderId)).toMatchObject({ sms_status: 'queued', sms_failure_code: null });
  expect(await openText(sql, orderId)).toMatchObject({ earlierSends: 1, isCounted: false });
  expect(await countSend(sql, { orderId, earlierSends: 1 })).toBe(true);
  expect(await list()).toMatchObject({ rows: [] });
});

test('a text beyond a bound of the day is counted and judged again when it is tried again', async () => {
  const bounds = { perPhone: 0, perStore: 1 };
  const open = async (orderId: string) => (await me.openTexts([orderId], bounds, SENDER)).get(orderId);
  expect(await open((await addOrder(sql, shop)).orderId)).toMatchObject({ overBound: null });
  const { orderId, jobs } = await addOrder(sql, shop);
  expect(await open(orderId)).toMatchObject({ overBound: 'store_limit' });
  await recordText(sql, orderId, { status: 'failed', failureCode: 'store_limit' }, jobs.sms?.id ?? 0);
  const again = await me.retryText(await failed());
  expect(await open(orderId)).toMatchObject({ overBound: 'store_limit', earlierSends: 0, isCounted: true });
  await recordText(sql, orderId, { status: 'failed', failureCode: 'store_limit' }, again?.outbox[0]?.id ?? 0);
  await sql`delete from text_counts`;
  await me.retryText(await failed());
  expect(await open(orderId)).toMatchObject({ overBound: null, isCounted: true });
  expect([...(await sql`select texts from text_counts`)]).toEqual([{ texts: 1 }]);
});

test('a text is not tried again when it is useful no more, or its order has ended', async () => {
  const late = await refusedText();
  const lateJob = await failed();
  await sql`
    update orders set created_at = now() - make_interval(secs => ${TEXT_USEFUL_SECONDS}) where id = ${late}`;
  expect(await me.retryText(lateJob)).toBeNull();
  const ended = await refusedText();
  await me.cancelOrder(ended, 'operator', 'other');
  expect(await me.retryText(await failed())).toBeNull();
  expect((await list()).rows).toHaveLength(2);
});

test('an optional text gets a job of its own again, and is judged by the bounds of the day', async () => {
  await me.setTextKinds(shop.retailerId, ['delivered']);
  const driverId = await addDriverRow(sql);
  const { orderId } = await addOrder(sql, shop, { driverId });
  await me.pickUpOrder(orderId, driverId, UNSTAMPED);
  const delivered = await me.deliverOrder(orderId, driverId, 'photo', UNSTAMPED);
  const outboxId = delivered?.outbox.find(({ queue }) => queue === 'text')?.id ?? 0;
  const bounds = { perPhone: 0, perStore: 1 };
  await sql`
    insert into text_counts (about, day, texts) values (${`store:${shop.retailerId}`}, (now() at time zone 'UTC')::date, 1)`;
  await me.openOptionalTexts([outboxId], bounds, SENDER);
  const result = { status: 'failed', failureCode: 'store_limit' } as const;
  await me.recordTexts('text', [{ orderId, kind: 'delivered', result, outboxId }], SENDER);
  const again = await me.retryText(await failed());
  const job = again?.outbox[0]?.id ?? 0;
  expect(job).toBeGreaterThan(outboxId);
  const opened = await me.openOptionalTexts([job], bounds, SENDER);
  expect(opened.get(String(job))).toMatchObject({ orderId, kind: 'delivered', overBound: 'store_limit' });
  const events = await sql`select data from order_events where order_id = ${orderId} and type = 'sms_retried'`;
  expect([...events]).toEqual([{ data: { kind: 'delivered' } }]);
  expect(await me.findFailedJob(outboxId)).toBeNull();
});

test('a delivery of a webhook that is sent again counts as failed no more', async () => {
  const before = await failedIn('webhook');
  await me.setWebhook(shop.retailerId, 'https://store.test/', 'whsec_x');
  await addOrder(sql, shop, { driverId: await addDriverRow(sql) });
  await me.numberEvents();
  const [row] = await sql`select outbox_id from webhook_deliveries where retailer_id = ${shop.retailerId}`;
  const delivery = await me.openDelivery(row?.outbox_id);
  await me.recordUndeliverable(delivery as never, 'no_endpoint');
  expect(await failedIn('webhook')).toBe(Number(before) + 1);
  const job = await failed();
  expect(job).toMatchObject({ id: row?.outbox_id, failureCode: 'no_endpoint', deliveryId: delivery?.id });
  expect(await me.replayDelivery(delivery?.id ?? '')).toBe('replayed');
  expect(await failedIn('webhook')).toBe(before);
  expect(
    (await me.listDeliveries({ ...ANY, retailerIds: null, orderId: null }, { limit: 9, after: null })).rows,
  ).toMatchObject([{ delivery_id: delivery?.id, status: 'pending' }]);
});
