import { beforeEach, expect, test } from 'vitest';
import type { TextResult } from '../../../src/store/texts/messages.ts';
import { useFreshDatabase } from '../../harness/database.ts';
import { addOrder, addStoreRow, orderRow } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';
import { countSend, openText, recordText, SENDER } from '../../harness/vendor-rows.ts';
import { noticesDuring } from '../transaction.ts';

const database = await useFreshDatabase();
const { sql } = database;

const SENT: TextResult = { status: 'sent', sid: 'SM1' };
const FAILED: TextResult = { status: 'failed', failureCode: '21610' };

async function owed(smsOptIn = true) {
  const store = await addStoreRow(sql);
  const { orderId, jobs, order } = await addOrder(sql, store, { smsOptIn });
  const outboxId = jobs.sms?.id ?? 0;
  return {
    store,
    order,
    orderId,
    outboxId,
    open: () => openText(sql, orderId),
    count: (earlierSends: number) => countSend(sql, { orderId, earlierSends }),
    uncount: (earlierSends: number) => storeOf(sql).uncountSend('sms', { orderId, kind: 'tracking', earlierSends }),
    record: (result: TextResult) => recordText(sql, orderId, result, outboxId, 'me'),
    row: () => orderRow(sql, orderId),
    job: async () => (await sql`select done_at, failure_code from outbox where id = ${outboxId}`)[0],
    events: async () =>
      (await sql`select type, data from order_events where order_id = ${orderId} and type like 'sms%'`).map((row) => ({
        ...row,
      })),
  };
}

beforeEach(async () => void (await sql`delete from text_opt_outs`));

test('an opened text has the phone of a customer who consented, the store’s name and the order’s token', async () => {
  const { open, orderId, order, store } = await owed();
  expect(await open()).toEqual({
    kind: 'tracking',
    orderId,
    retailerId: store.retailerId,
    to: '+14155550123',
    storeName: 'Corner Market',
    trackingToken: order.trackingToken,
    earlierSends: 0,
    isCounted: true,
    happenedAt: expect.any(Date),
    firstSentAt: expect.any(Date),
    secondsSinceSend: 0,
    orderEnded: false,
    isPast: false,
    reason: null,
    optedOut: false,
    overBound: null,
  });
});

test('no text is opened without consent', async () => {
  const { open } = await owed(false);
  expect(await open()).toBeNull();
  const { open: withdrawn, order } = await owed();
  await sql`update customers set sms_opt_in = false where id = ${order.customerId}`;
  expect(await withdrawn()).toBeNull();
});

test('the first send is counted as the text is opened, and of workers that open it at once one may send', async () => {
  const { open, count } = await owed();
  const opened = await Promise.all([open(), open(), open()]);
  const first = opened.filter((text) => text?.isCounted);
  expect(first.map((text) => text?.earlierSends)).toEqual([0]);
  const others = opened.filter((text) => !text?.isCounted);
  expect(others.map((text) => text?.earlierSends)).toEqual([1, 1]);
  expect(await count(0)).toBe(false);
});

test('a further send is counted before it is made, and of two workers that count it one may send', async () => {
  const { open, count } = await owed();
  await open();
  const allowed = await Promise.all([count(1), count(1), count(1)]);
  expect(allowed.filter(Boolean)).toHaveLength(1);
  expect(await open()).toMatchObject({ earlierSends: 2, isCounted: false });
  expect(await count(1)).toBe(false);
  expect(await count(2)).toBe(true);
  expect((await open())?.earlierSends).toBe(3);
});

test('no send is counted for an order that has ended, or a phone that opted out', async () => {
  const [ended, out] = [await owed(), await owed()];
  await sql`update orders set status = 'cancelled' where id = ${ended.orderId}`;
  expect(await ended.open()).toMatchObject({ orderEnded: true, earlierSends: 0, isCounted: false });
  await sql`
    insert into text_opt_outs (phone_hash, opted_out, source)
    values (encode(sha256(convert_to('+14155550123', 'UTF8')), 'hex'), true, 'twilio')`;
  expect(await out.open()).toMatchObject({ optedOut: true, earlierSends: 0, isCounted: false });
});

test('the time of the first send stays when a text is opened again', async () => {
  const { open, count } = await owed();
  const first = await open();
  await count(1);
  expect((await open())?.firstSentAt).toEqual(first?.firstSentAt);
});

test('the count of a send that was not made is taken back, never below 0', async () => {
  const { open, uncount } = await owed();
  await open();
  await uncount(0);
  expect((await open())?.earlierSends).toBe(0);
  await uncount(0);
  expect((await open())?.earlierSends).toBe(0);
});

test('the count of a send is not taken back if another send was counted since', async () => {
  const { open, count, uncount } = await owed();
  await open();
  await count(1);
  await uncount(0);
  expect((await open())?.earlierSends).toBe(2);
});

test('a sent text records message, order, job, event and notice in one statement', async () => {
  const { open, record, row, job, events, orderId } = await owed();
  await open();
  const notices = await noticesDuring(database, async () => {
    expect(await record(SENT)).toBe(true);
  });
  expect(notices).toEqual([`me:details:${orderId}`]);
  expect(await row()).toMatchObject({ sequence: 2, sms_status: 'sent', sms_failure_code: null });
  expect(await job()).toMatchObject({ done_at: expect.any(Date), failure_code: null });
  expect(await events()).toEqual([{ type: 'sms_sent', data: { kind: 'tracking' } }]);
});

test('a recorded result stays, and the text is not opened or counted any more', async () => {
  const { open, count, uncount, record, row, events } = await owed();
  await open();
  const results = await Promise.all([record(SENT), record(SENT)]);
  expect(results.filter(Boolean)).toHaveLength(1);
  const before = await row();
  expect(await record(FAILED)).toBe(false);
  expect(await open()).toBeNull();
  expect(await count(1)).toBe(false);
  await uncount(0);
  expect([await row(), (await events()).length]).toEqual([before, 1]);
  const [message] = await sql`select status, sends from messages where order_id = ${before.id as string}`;
  expect({ ...message }).toEqual({ status: 'sent', sends: 1 });
});

test('one statement opens and records many texts, each with its own result', async () => {
  const [first, second, silent] = await Promise.all([owed(), owed(), owed(false)]);
  const ids = [first.orderId, second.orderId, silent.orderId];
  const opened = await storeOf(sql).openTexts(ids, { perPhone: 0, perStore: 0 }, SENDER);
  const again = { earlierSends: 1, isCounted: false, secondsSinceSend: expect.any(Number) };
  expect(await second.open()).toEqual({ ...opened.get(second.orderId), ...again });
  expect([...opened.keys()].sort()).toEqual([first.orderId, second.orderId].sort());
  const texts = [
    { orderId: second.orderId, result: FAILED, outboxId: second.outboxId },
    { orderId: first.orderId, result: SENT, outboxId: first.outboxId },
    { orderId: silent.orderId, result: SENT, outboxId: silent.outboxId },
  ].map((text) => ({ ...text, kind: 'tracking' as const }));
  const notices = await noticesDuring(database, async () => {
    expect([...(await storeOf(sql, 'me').recordTexts('sms', texts, SENDER)).keys()].sort()).toEqual(
      [first.orderId, second.orderId].sort(),
    );
  });
  expect(notices).toHaveLength(1);
  expect(await first.row()).toMatchObject({ sms_status: 'sent', sms_failure_code: null });
  expect(await second.row()).toMatchObject({ sms_status: 'failed', sms_failure_code: '21610' });
  expect(await second.job()).toMatchObject({ done_at: expect.any(Date), failure_code: '21610' });
  expect(await second.events()).toEqual([{ type: 'sms_failed', data: { kind: 'tracking', code: '21610' } }]);
  expect(await silent.row()).toMatchObject({ sms_status: 'none' });
});
