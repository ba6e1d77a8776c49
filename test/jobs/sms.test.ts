import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createSmsJob } from '../../src/jobs/sms.ts';
import type { FaultOrder } from '../../src/sandbox/faults.ts';
import { startTwilioStandIn } from '../../src/sandbox/twilio-stand-in.ts';
import { cancelOrder } from '../../src/store/lifecycle.ts';
import { uncountSend } from '../../src/store/messages.ts';
import { expireOrder } from '../../src/store/orders.ts';
import { finishOutbox } from '../../src/store/outbox.ts';
import { createTwilioSender } from '../../src/vendors/twilio.ts';
import { temporaryFolder } from '../sandbox/temporary.ts';
import { type FreshDatabase, freshDatabase } from '../support/database.ts';
import { addOrder, addStoreRow, orderRow } from '../support/orders.ts';
import { countSend, openText, settleText } from '../support/vendor-rows.ts';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

async function world(
  options: { faults?: FaultOrder; smsOptIn?: boolean; loseWrites?: number; hoursLater?: number } = {},
) {
  const { sql } = database;
  const standIn = await startTwilioStandIn({ ledgerFile: join(temporaryFolder(), 'twilio.jsonl') });
  onTestFinished(() => standIn.close());
  standIn.orderFaults(options.faults ?? {});
  const twilio = createTwilioSender({
    accountSid: `AC${'0'.repeat(32)}`,
    authToken: 'sandbox',
    from: '+15005550006',
    apiBase: standIn.url,
    timeoutMs: 2_000,
  });
  onTestFinished(() => twilio.close());
  const { orderId, jobs, order } = await addOrder(sql, await addStoreRow(sql), { smsOptIn: options.smsOptIn ?? true });
  let lose = options.loseWrites ?? 0;
  const job = createSmsJob({
    open: (id) => openText(sql, id),
    count: (id, earlier) => countSend(sql, id, earlier),
    uncount: (id) => uncountSend(sql, id),
    async settle(id, result, outboxId) {
      if (lose-- > 0) throw new Error('the worker died before the write');
      return settleText(sql, id, result, outboxId);
    },
    finish: (outboxId) => finishOutbox(sql, outboxId, null),
    send: twilio.send,
    find: twilio.find,
    trackingUrl: 'https://track.example',
    now: () => Date.now() + (options.hoursLater ?? 0) * 3_600_000,
    settled: () => undefined,
  });
  const run = () => job({ orderId, outboxId: jobs.sms?.id ?? 0 });
  const texts = () => standIn.entries().filter((entry) => JSON.stringify(entry).includes(order.trackingToken));
  return { orderId, run, texts, token: order.trackingToken, row: () => orderRow(sql, orderId) };
}

test('the customer is texted the tracking link, and the order says sent', async () => {
  const { run, texts, row, token } = await world();
  expect(await run()).toEqual({ kind: 'done' });
  expect(texts()).toHaveLength(1);
  expect(JSON.stringify(texts()[0])).toContain(`https://track.example/track/${token}`);
  expect((await row()).sms_status).toBe('sent');
});

test('running again, or twice at once, texts once', async () => {
  const { run, texts } = await world();
  await Promise.all([run(), run()]);
  await run();
  expect(texts()).toHaveLength(1);
});

test('nobody is texted without consent', async () => {
  const { run, texts, row } = await world({ smsOptIn: false });
  expect(await run()).toEqual({ kind: 'done' });
  expect(texts()).toEqual([]);
  expect((await row()).sms_status).toBe('none');
});

test('a worker that dies after the send finds the message and does not send again', async () => {
  const { run, texts, row } = await world({ loseWrites: 1 });
  await expect(run()).rejects.toThrow('died before the write');
  expect(await run()).toEqual({ kind: 'done' });
  expect(texts()).toHaveLength(1);
  expect((await row()).sms_status).toBe('sent');
});

test('an outcome that is unknown is looked up, and what arrived is not sent again', async () => {
  const { run, texts, row } = await world({ faults: { next: [{ kind: 'reset', effect: 'after' }] } });
  expect(await run()).toMatchObject({ kind: 'retry' });
  expect(await run()).toEqual({ kind: 'done' });
  expect(texts()).toHaveLength(1);
  expect((await row()).sms_status).toBe('sent');
});

test('an outcome that is unknown is looked up, and what did not arrive is sent once more', async () => {
  const { run, texts } = await world({ faults: { next: [{ kind: 'reset', effect: 'before' }] } });
  expect(await run()).toMatchObject({ kind: 'retry' });
  expect(await run()).toEqual({ kind: 'done' });
  expect(texts()).toHaveLength(1);
});

test('after two sends with unknown outcomes it is given up, with the reason on the order', async () => {
  const lost = { kind: 'reset', effect: 'before' } as const;
  const { run, texts, row } = await world({ faults: { next: [lost] } });
  await run();
  await database.sql`update messages set sends = 2 where order_id = ${(await row()).id as string}`;
  expect(await run()).toEqual({ kind: 'done' });
  expect(texts()).toEqual([]);
  expect(await row()).toMatchObject({ sms_status: 'failed', sms_failure_code: 'outcome_unknown' });
});

test('a 429 pauses the queue and is not counted as a send', async () => {
  const { run, texts } = await world({ faults: { next: [{ kind: 'rate_limit' }] } });
  expect(await run()).toMatchObject({ kind: 'rate_limited' });
  expect(await run()).toEqual({ kind: 'done' });
  expect(texts()).toHaveLength(1);
});

test('a confirmation that is hours late is not sent any more', async () => {
  const { run, texts, row } = await world({ hoursLater: 5 });
  expect(await run()).toEqual({ kind: 'done' });
  expect(texts()).toEqual([]);
  expect(await row()).toMatchObject({ sms_status: 'failed', sms_failure_code: 'too_late' });
});

test('nobody is told of a delivery whose order was cancelled or has expired, and the order says why', async () => {
  const { sql } = database;
  const [cancelled, expired] = [await world(), await world()];
  await cancelOrder(sql, cancelled.orderId, 'operator', 'other', 'test');
  await sql`update orders set expires_at = now() where id = ${expired.orderId}`;
  await expireOrder(sql, expired.orderId, 'test');
  for (const { run, texts, row } of [cancelled, expired]) {
    expect(await run()).toEqual({ kind: 'done' });
    expect(texts()).toEqual([]);
    expect(await row()).toMatchObject({ sms_status: 'failed', sms_failure_code: 'order_ended' });
  }
});

test.each([
  ['arrived', 'after', { sms_status: 'sent' }, 1],
  ['did not arrive', 'before', { sms_status: 'failed', sms_failure_code: 'order_ended' }, 0],
] as const)(
  'of an order cancelled while its text’s outcome is unknown, one that %s is not sent again',
  async (...row) => {
    const [, effect, result, count] = row;
    const cancelled = await world({ faults: { next: [{ kind: 'reset', effect }] } });
    expect(await cancelled.run()).toMatchObject({ kind: 'retry' });
    await cancelOrder(database.sql, cancelled.orderId, 'operator', 'other', 'test');
    expect(await cancelled.run()).toEqual({ kind: 'done' });
    expect(cancelled.texts()).toHaveLength(count);
    expect(await cancelled.row()).toMatchObject(result);
  },
);
