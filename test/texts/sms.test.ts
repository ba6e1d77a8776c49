import { expect, onTestFinished, test } from 'vitest';
import { OrderEvents } from '../../src/dispatch/order-events.ts';
import { limitConcurrency } from '../../src/postgres/batched-reads.ts';
import type { FaultOrder } from '../../src/sandbox/faults.ts';
import type { TextBounds } from '../../src/store/texts/text-rows.ts';
import { createSmsJob } from '../../src/texts/text-jobs.ts';
import { MAX_TEXT_PAUSE_SECONDS, TEXT_HELD_UP_MS, TEXT_LOOKUP_SECONDS } from '../../src/texts/texting.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { addOrder, addStoreRow, orderRow } from '../harness/orders.ts';
import { textSenderOf, twilioStandIn } from '../harness/stand-ins.ts';
import { storeOf } from '../harness/store.ts';
import { SENDER } from '../harness/vendor-rows.ts';

const database = await useFreshDatabase();

async function world(
  options: {
    faults?: FaultOrder;
    loseWrites?: number;
    standsStillMs?: number;
    mayText?: () => boolean;
    bounds?: TextBounds;
    earlierTexts?: number;
    /** What happens while Twilio is asked for the text. */
    duringLookUp?: (orderId: string) => Promise<unknown>;
  } = {},
) {
  const { sql } = database;
  const standIn = await twilioStandIn({}, options.faults);
  const twilio = textSenderOf(standIn.url);
  const store = await addStoreRow(sql);
  const { orderId, jobs, order } = await addOrder(sql, store, { smsOptIn: true });
  if (options.earlierTexts)
    await sql`
      insert into text_counts values ('store:' || ${store.retailerId}, (now() at time zone 'UTC')::date,
        ${options.earlierTexts})`;
  let lose = options.loseWrites ?? 0;
  let stoodStillMs = 0;
  const tables = storeOf(sql);
  const job = createSmsJob({
    store: {
      ...tables,
      async openTexts(...texts) {
        const opened = await tables.openTexts(...texts);
        stoodStillMs += options.standsStillMs ?? 0;
        return opened;
      },
      async recordTexts(...recorded) {
        if (lose-- > 0) throw new Error('the worker died before the write');
        return tables.recordTexts(...recorded);
      },
    },
    orderLocks: limitConcurrency(1),
    texts: {
      ...twilio,
      async find(...asked) {
        const found = await twilio.find(...asked);
        await options.duringLookUp?.(orderId);
        return found;
      },
    },
    trackingUrl: 'https://track.example',
    mayText: options.mayText ?? (() => true),
    bounds: options.bounds ?? { perPhone: 0, perStore: 0 },
    events: new OrderEvents(),
    clock: { now: () => Date.now() + stoodStillMs },
  });
  const run = () => job({ orderId, outboxId: jobs.sms?.id ?? 0 });
  /** Moves the last send back by some seconds. */
  const wait = async (seconds: number) =>
    void (await sql`
      update messages set counted_at = counted_at - make_interval(secs => ${seconds}) where order_id = ${orderId}`);
  const texts = () => standIn.entries().filter((entry) => JSON.stringify(entry).includes(order.trackingToken));
  /** Makes Twilio accept a text long after its connection broke. */
  const arrive = () =>
    twilio.send({
      to: '+14155550123',
      body: `Corner Market: your delivery is confirmed. Reply STOP to end/para terminar. Follow it here: https://track.example/track/${order.trackingToken}`,
      usefulSeconds: 3_600,
    });
  /** Runs the job, by which the customer has one text in all. */
  async function sendsOnce(): Promise<void> {
    expect(await run()).toEqual({ kind: 'done' });
    expect(texts()).toHaveLength(1);
    expect((await orderRow(sql, orderId)).sms_status).toBe('sent');
  }
  /** Runs the job, which sends nothing, and the order says why. */
  async function refuses(code: string): Promise<void> {
    expect(await run()).toEqual({ kind: 'done' });
    expect(texts()).toEqual([]);
    expect(await orderRow(sql, orderId)).toMatchObject({ sms_status: 'failed', sms_failure_code: code });
  }
  return {
    orderId,
    run,
    sendsOnce,
    refuses,
    wait,
    arrive,
    texts,
    row: () => orderRow(sql, orderId),
  };
}

test('running twice, one after another or at once, texts once', async () => {
  const { run, texts } = await world();
  await Promise.all([run(), run()]);
  await run();
  expect(texts()).toHaveLength(1);
});

const [SOON, LATE] = TEXT_LOOKUP_SECONDS;
const lost = { kind: 'reset', effect: 'before' } as const;
const unheard = { kind: 'reset', effect: 'after' } as const;

/** A wait for what is left of so many seconds, which began at `sinceMs` or later. */
const restOf = (seconds: number, sinceMs: number) => ({
  kind: 'wait',
  forMs: expect.toSatisfy((ms: number) => ms <= seconds * 1_000 && ms + Date.now() - sinceMs >= seconds * 1_000),
});

test('a worker that dies after the send finds the message and does not send again', async () => {
  const { run, wait, sendsOnce } = await world({ loseWrites: 1 });
  const sinceMs = Date.now();
  await expect(run()).rejects.toThrow('died before the write');
  expect(await run()).toEqual(restOf(SOON, sinceMs));
  await wait(SOON);
  await sendsOnce();
});

test('after an unknown outcome the text is looked up soon, and one that is found is not sent again', async () => {
  const { run, wait, sendsOnce } = await world({ faults: { next: [unheard] } });
  expect(await run()).toEqual({ kind: 'wait', forMs: SOON * 1_000 });
  await wait(SOON);
  await sendsOnce();
});

test('a text is found though the database’s clock is ahead of Twilio’s', async () => {
  const { run, wait, orderId, sendsOnce } = await world({ faults: { next: [unheard] } });
  await run();
  await database.sql`update messages set sent_at = sent_at + interval '10 minutes' where order_id = ${orderId}`;
  await wait(LATE);
  await sendsOnce();
});

test('a text that the first look-up does not find is looked up once more before it is sent again', async () => {
  const { run, wait, texts, sendsOnce } = await world({ faults: { next: [lost] } });
  const sinceMs = Date.now();
  expect(await run()).toMatchObject({ kind: 'wait' });
  await wait(SOON);
  expect(await run()).toEqual(restOf(LATE - SOON, sinceMs));
  expect(texts()).toHaveLength(0);
  await wait(LATE - SOON);
  await sendsOnce();
});

test('a text that Twilio accepts between the two look-ups is not sent again', async () => {
  const { run, wait, arrive, sendsOnce } = await world({ faults: { next: [lost] } });
  await run();
  await wait(SOON);
  await run();
  await arrive();
  await wait(LATE - SOON);
  await sendsOnce();
});

const ok = { kind: 'delay', ms: 0 } as const;

test('a text is sent again as often as the look-ups find nothing, after pauses that double up to a bound', async () => {
  const pauses = [LATE, 2 * LATE, 4 * LATE, 8 * LATE, MAX_TEXT_PAUSE_SECONDS, MAX_TEXT_PAUSE_SECONDS];
  const faults = { next: pauses.flatMap(() => [lost, ok, ok]) };
  const { run, wait, texts, row } = await world({ faults });
  let sinceMs = Date.now();
  await run();
  for (const pause of pauses) {
    await wait(SOON);
    expect(await run()).toEqual(restOf(pause - SOON, sinceMs));
    expect(texts()).toEqual([]);
    await wait(MAX_TEXT_PAUSE_SECONDS);
    sinceMs = Date.now();
    await run();
  }
  expect(texts()).toHaveLength(1);
  expect((await row()).sms_status).toBe('sent');
});

test('a text that is of no use any more after a send of unknown outcome is given up with that reason', async () => {
  const { run, wait, orderId, refuses } = await world({ faults: { next: [lost] } });
  await run();
  await database.sql`update orders set created_at = now() - interval '5 hours' where id = ${orderId}`;
  await wait(LATE);
  await refuses('outcome_unknown');
});

test('texts beyond the bound of a phone or of a store are not sent, and a text tried twice counts once', async () => {
  const { sql } = database;
  const unbounded = { perPhone: 0, perStore: 0 };
  const [first, second] = [await addStoreRow(sql), await addStoreRow(sql)];
  const orders = [
    await addOrder(sql, first, { smsOptIn: true }),
    await addOrder(sql, first, { smsOptIn: true }),
    await addOrder(sql, second, { smsOptIn: true }),
  ];
  const phone = (n: number) => `+1415555${String(1_000 + n)}`;
  for (const [n, { orderId }] of orders.entries())
    await sql`update customers set phone = ${phone(n)} where id = (select customer_id from orders where id = ${orderId})`;
  const ids = orders.map(({ orderId }) => orderId);
  const overBounds = async (bounds: TextBounds) => {
    const opened = await storeOf(sql).openTexts(ids, bounds, SENDER);
    await sql`delete from messages where order_id = any(${ids}::uuid[])`;
    return ids.map((id) => opened.get(id)?.overBound);
  };
  expect(await overBounds(unbounded)).toEqual([null, null, null]);
  // In the order of their ids: the second text of a store is one too many for it.
  const beyond = await overBounds({ perPhone: 0, perStore: 1 });
  expect(beyond.toSorted()).toEqual(['store_limit', null, null].toSorted());
  expect(await overBounds({ perPhone: 1, perStore: 0 })).toEqual([null, null, null]);
  expect(await overBounds({ perPhone: 1, perStore: 0 })).toEqual(['phone_limit', 'phone_limit', 'phone_limit']);
  await storeOf(sql).openTexts(ids, { perPhone: 9, perStore: 0 }, SENDER);
  await storeOf(sql).openTexts(ids, { perPhone: 9, perStore: 0 }, SENDER);
  const counts = await sql`select texts from text_counts where about like 'phone:%'`;
  expect(counts.map(({ texts }) => texts)).toEqual([3, 3, 3]);
  expect(await storeOf(sql).pruneTextCounts(2, 100)).toBe(0);
  await sql`update text_counts set day = day - 2`;
  expect(await storeOf(sql).pruneTextCounts(2, 100)).toBe(5);
});

test('a second send that was certainly not made is made again without the pauses of look-ups', async () => {
  const { run, wait, orderId, sendsOnce } = await world({ faults: { next: [lost, ok, { kind: 'rate_limit' }] } });
  await run();
  await database.sql`update messages set sent_at = sent_at - interval '60 seconds' where order_id = ${orderId}`;
  await wait(LATE);
  expect(await run()).toMatchObject({ kind: 'rate_limited' });
  await sendsOnce();
});

test('a worker that was suspended since it counted the send does not send: another may have looked it up', async () => {
  const { run, texts, orderId } = await world({ standsStillMs: TEXT_HELD_UP_MS + 1_000 });
  expect(await run()).toEqual({ kind: 'retry', reason: 'held_up' });
  expect(texts()).toEqual([]);
  const [message] = await database.sql`select sends, counted_at from messages where order_id = ${orderId}`;
  expect({ ...message }).toEqual({ sends: 0, counted_at: null });
});

test('a long name is cut after a whole character, and its text is found', async () => {
  const { run, wait, texts, row, orderId } = await world({ faults: { next: [unheard] } });
  const name = `${'x'.repeat(38)}🍕🍕🍕`;
  await database.sql`
    update retailers set name = ${name} where id = (select retailer_id from orders where id = ${orderId})`;
  await run();
  await wait(SOON);
  expect(await run()).toEqual({ kind: 'done' });
  expect(JSON.stringify(texts())).toContain(`${'x'.repeat(38)}🍕…: delivery`);
  expect(texts()).toHaveLength(1);
  expect((await row()).sms_status).toBe('sent');
});

test('a text is found by its link after the store was renamed', async () => {
  const { run, wait, orderId, sendsOnce } = await world({ faults: { next: [unheard] } });
  await run();
  await database.sql`
    update retailers set name = 'Renamed' where id = (select retailer_id from orders where id = ${orderId})`;
  await wait(LATE);
  await sendsOnce();
});

test('a 429 pauses the queue and is not counted as a send', async () => {
  const { run, sendsOnce } = await world({ faults: { next: [{ kind: 'rate_limit' }] } });
  expect(await run()).toMatchObject({ kind: 'rate_limited' });
  await sendsOnce();
});

test.each<[string, string, Parameters<typeof world>[0]]>([
  ['to a phone of a country that is not allowed', 'country_not_allowed', { mayText: () => false }],
  ['beyond a bound of the day', 'store_limit', { bounds: { perPhone: 1, perStore: 1 }, earlierTexts: 1 }],
])('a confirmation %s is not sent, and the order says why: %s', async (_what, code, options) => {
  const { refuses } = await world(options);
  await refuses(code);
});

test('the age of a confirmation counts from the order, not from its first attempt', async () => {
  const { orderId, refuses } = await world();
  await database.sql`update orders set created_at = now() - interval '5 hours' where id = ${orderId}`;
  await refuses('too_late');
});

test('no text is sent for an order that was cancelled or has expired, and the order says why', async () => {
  const { sql } = database;
  const [cancelled, expired] = [await world(), await world()];
  await storeOf(sql, 'test').cancelOrder(cancelled.orderId, 'operator', 'other');
  await sql`update orders set expires_at = now() where id = ${expired.orderId}`;
  await storeOf(sql, 'test').expireOrder(expired.orderId);
  for (const { refuses } of [cancelled, expired]) {
    await refuses('order_ended');
  }
});

test.each([
  ['arrived', 'after', { sms_status: 'sent' }, 1],
  ['did not arrive', 'before', { sms_status: 'failed', sms_failure_code: 'order_ended' }, 0],
] as const)(
  'if its order is cancelled while the outcome is unknown, a text that %s is not sent again',
  async (...row) => {
    const [, effect, result, count] = row;
    const cancelled = await world({ faults: { next: [{ kind: 'reset', effect }] } });
    expect(await cancelled.run()).toMatchObject({ kind: 'wait' });
    await storeOf(database.sql, 'test').cancelOrder(cancelled.orderId, 'operator', 'other');
    await cancelled.wait(LATE);
    expect(await cancelled.run()).toEqual({ kind: 'done' });
    expect(cancelled.texts()).toHaveLength(count);
    expect(await cancelled.row()).toMatchObject(result);
  },
);

const optOut = (optedOut: boolean) => storeOf(database.sql).setOptOut('+14155550123', optedOut, null);

test.each<[string, string, (orderId: string) => Promise<unknown>]>([
  ['phone opts out', 'opted_out', () => optOut(true)],
  [
    'order is cancelled',
    'order_ended',
    (orderId) => storeOf(database.sql, 'test').cancelOrder(orderId, 'operator', 'other'),
  ],
])('a text whose %s while it is looked up is not sent again: %s', async (_what, code, duringLookUp) => {
  onTestFinished(async () => void (await optOut(false)));
  const { run, wait, refuses } = await world({ faults: { next: [lost] }, duringLookUp });
  await run();
  await wait(LATE);
  await refuses(code);
});

test('a text that another worker sends again while it is looked up is not sent besides', async () => {
  const { run, wait, texts } = await world({
    faults: { next: [lost] },
    duringLookUp: (orderId) => database.sql`update messages set sends = sends + 1 where order_id = ${orderId}`,
  });
  await run();
  await wait(LATE);
  expect(await run()).toMatchObject({ kind: 'retry' });
  expect(texts()).toEqual([]);
});
