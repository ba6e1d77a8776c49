import { expect, test } from 'vitest';
import { OrderEvents } from '../../src/dispatch/order-events.ts';
import { DECLINE_PAUSE_SECONDS } from '../../src/domain/stripe-declines.ts';
import { MAX_PAYMENT_ATTEMPTS, MAX_PAYMENT_ATTEMPTS_EVER } from '../../src/limits.ts';
import {
  ACCOUNT_REFUSED_PAUSE_SECONDS,
  createChargeJob,
  MAX_PUT_OFF_ATTEMPT,
  STRIPE_KEY_SECONDS,
  STRIPE_QUIET_SECONDS,
} from '../../src/payments/charge.ts';
import { limitConcurrency } from '../../src/postgres/batched-reads.ts';
import { VENDOR_PAUSE_MS } from '../../src/queues/job-limits.ts';
import type { FaultOrder } from '../../src/sandbox/faults.ts';
import { CARD_WINDOW_SECONDS, MAX_CARD_DECLINES } from '../../src/store/payments/card-tries.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow, orderRow } from '../harness/orders.ts';
import { chargerOf, stripeStandIn } from '../harness/stand-ins.ts';
import { storeOf } from '../harness/store.ts';
import { chargedOrder } from '../harness/unpaid.ts';
import { openAttempt } from '../harness/vendor-rows.ts';

type LedgerEntry = { metadata?: Record<string, string>; answer?: { kind: string } };

const database = await useFreshDatabase();

/** Stripe refuses the account, for each request under the same key. */
const REFUSED = { kind: 'status', status: 400, effect: 'before', sticky: true } as const;

/** An assigned order, Stripe's stand-in, and the charge job as the worker builds it. */
async function world(
  options: {
    paymentMethod?: string | null;
    faults?: FaultOrder;
    loseWrites?: number;
    standsStillMs?: number;
    /** Time by which this machine's clock is ahead of Stripe's and the database's. */
    aheadMs?: number;
    /** What another worker does between the answer of the charge and its record. */
    meanwhile?: (tables: ReturnType<typeof storeOf>, orderId: string, outboxId: number) => Promise<unknown>;
  } = {},
) {
  const { sql } = database;
  const { paymentMethod = 'pm_card_visa', faults = {}, aheadMs = 0, meanwhile } = options;
  const standIn = await stripeStandIn({ searchLagMs: 0, now: () => Date.now() - aheadMs }, faults);
  const stripe = chargerOf(standIn.url);
  const store = await addStoreRow(sql, paymentMethod === null ? null : { customer: 'cus_1', paymentMethod });
  const { orderId, jobs } = await addOrder(sql, store, { driverId: await addDriverRow(sql) });
  const recorded: string[] = [];
  const lines: unknown[] = [];
  const line = (fields: object, message: string) => void lines.push({ ...fields, message });
  let lose = options.loseWrites ?? 0;
  let stoodStillMs = 0;
  const tables = storeOf(sql);
  const dieBefore = <Args extends unknown[], Result>(write: (...args: Args) => Promise<Result>) => {
    return async (...args: Args): Promise<Result> => {
      if (lose-- > 0) throw new Error('the worker died before the write');
      await meanwhile?.(tables, orderId, jobs.charge?.id ?? 0);
      return write(...args);
    };
  };
  const events = new OrderEvents();
  events.subscribe({ paymentRecorded: (_orderId, status) => void recorded.push(status) });
  const job = createChargeJob({
    store: {
      ...tables,
      async openPaymentAttempts(...args) {
        const opened = await tables.openPaymentAttempts(...args);
        stoodStillMs += options.standsStillMs ?? 0;
        return opened;
      },
      recordPaid: dieBefore(tables.recordPaid),
      recordDeclined: dieBefore(tables.recordDeclined),
    },
    orderLocks: limitConcurrency(1),
    stripe,
    relay: { relay: () => undefined },
    events,
    clock: { now: () => Date.now() - aheadMs + stoodStillMs },
    logger: { debug: line, info: line, warn: line, error: line },
  });
  const run = (outboxId = jobs.charge?.id ?? 0) => job({ orderId, outboxId });
  /** The charges at Stripe for the order; a replayed key makes no other one. */
  const paidInLedger = () =>
    (standIn.entries() as LedgerEntry[]).filter(
      (entry) => entry.metadata?.order_id === orderId && entry.answer?.kind === 'paid',
    );
  const outbox = async () =>
    (await sql`select done_at, failure_code from outbox where id = ${jobs.charge?.id ?? 0}`)[0];
  const row = () => orderRow(sql, orderId);
  return { store, run, recorded, lines, orderId, row, paidInLedger, outbox, stripe, standIn };
}

test('a good card is charged the stored fee and the order says paid', async () => {
  const { run, row, recorded, outbox } = await world();
  expect(await run()).toEqual({ kind: 'done' });
  expect(await row()).toMatchObject({ payment_status: 'paid', charge_id: expect.stringMatching(/^pi_/) });
  expect(recorded).toEqual(['paid']);
  expect((await outbox())?.done_at).toBeInstanceOf(Date);
});

test('running twice, one after another or at once, charges once', async () => {
  const { run, paidInLedger, recorded } = await world();
  await Promise.all([run(), run()].map((each) => each.catch(() => null)));
  await run();
  expect(paidInLedger()).toHaveLength(1);
  expect(recorded).toEqual(['paid']);
});

test('a worker that dies after Stripe answered leaves a charge that the next one finds', async () => {
  const { run, paidInLedger, row } = await world({ loseWrites: 1 });
  await expect(run()).rejects.toThrow('died before the write');
  expect((await row()).payment_status).toBe('processing');
  expect(await run()).toEqual({ kind: 'done' });
  expect((await row()).payment_status).toBe('paid');
  expect(paidInLedger()).toHaveLength(1);
});

test.each([
  ['pm_card_chargeDeclined', 'generic_decline', 1],
  ['pm_card_authenticationRequired', 'authentication_required', 1],
  [null, 'no_card_on_file', 0],
])('a charge on the card %s fails for good as %s, and the delivery goes on', async (paymentMethod, code, asked) => {
  const { run, row, recorded, standIn } = await world({ paymentMethod });
  expect(await run()).toEqual({ kind: 'done' });
  const failed = { payment_status: 'failed', payment_failure_code: code, status: 'driver_assigned' };
  expect(await row()).toMatchObject(failed);
  expect([recorded, standIn.entries().length]).toEqual([['failed'], asked]);
});

test.each([
  ['a reset after the effect', { kind: 'reset', effect: 'after' }],
  ['a 500 after the effect', { kind: 'status', status: 500, effect: 'after', sticky: false }],
  ['a reset before the effect', { kind: 'reset', effect: 'before' }],
  ['a 500 before the effect', { kind: 'status', status: 500, effect: 'before', sticky: false }],
] as const)('%s is tried again under the same key and charges once', async (_name, fault) => {
  const { run, row, paidInLedger } = await world({ faults: { next: [fault] } });
  const first = await run();
  if (first.kind === 'retry') expect(await run()).toEqual({ kind: 'done' });
  expect((await row()).payment_status).toBe('paid');
  expect(paidInLedger()).toHaveLength(1);
});

test('a 429 pauses the queue and costs no attempt', async () => {
  const { run, row } = await world({ faults: { next: [{ kind: 'rate_limit' }] } });
  expect(await run()).toMatchObject({ kind: 'rate_limited' });
  expect(await run()).toEqual({ kind: 'done' });
  const attempts = await database.sql`select attempt from payments where order_id = ${(await row()).id as string}`;
  expect(attempts.map(({ attempt }) => attempt)).toEqual([1]);
});

test('a decline without a bank’s answer is tried again with a new key, three times at most', async () => {
  const { run, row, orderId } = await world({ paymentMethod: 'pm_card_processing_error' });
  const results = [await run(), await run(), await run(), await run()];
  expect(results.map((result) => result.kind)).toEqual(['retry', 'retry', 'done', 'done']);
  expect(await row()).toMatchObject({ payment_status: 'failed', payment_failure_code: 'processing_error' });
  const attempts = await database.sql`select attempt, status from payments where order_id = ${orderId} order by 1`;
  expect(attempts.map((each) => ({ ...each }))).toEqual([
    { attempt: 1, status: 'declined' },
    { attempt: 2, status: 'declined' },
    { attempt: 3, status: 'declined' },
  ]);
});

/** The jobs of an order whose declined charge is tried again by now, as a sweep finds them. */
async function dueJobs(orderId: string): Promise<number[]> {
  const again = await storeOf(database.sql).retryDueCharges(MAX_PAYMENT_ATTEMPTS, 10);
  return again.flatMap(({ id, outbox }) => (id === orderId ? outbox.map((row) => row.id) : []));
}

test('a decline for want of funds fails the payment, and is tried again hours later, three times in all', async () => {
  const { run, row, orderId, standIn } = await world({ paymentMethod: 'pm_card_insufficient_funds' });
  const { sql } = database;
  const failed = { payment_status: 'failed', payment_failure_code: 'insufficient_funds' };
  let outboxId: number | undefined;
  for (const tries of [1, 2, 3]) {
    expect(await run(outboxId)).toEqual({ kind: 'done' });
    expect(await run(outboxId)).toEqual({ kind: 'done' });
    expect([standIn.entries().length, await row()]).toEqual([tries, expect.objectContaining(failed)]);
    expect(await dueJobs(orderId)).toEqual([]);
    const later =
      await sql`select extract(epoch from due_at - now()) as seconds from charge_retries where order_id = ${orderId}`;
    const pauses = tries < 3 ? [expect.closeTo(DECLINE_PAUSE_SECONDS, -2)] : [];
    expect(later.map(({ seconds }) => Number(seconds))).toEqual(pauses);
    await sql`update charge_retries set due_at = now() where order_id = ${orderId}`;
    [outboxId] = await dueJobs(orderId);
  }
  expect(outboxId).toBeUndefined();
});

/** What the store is told of the failed charge of an order. */
const toldOf = async (orderId: string) =>
  (await database.sql`select data from order_events where order_id = ${orderId} and type = 'payment_failed'`)[0]?.data;

test('a decline of an order that ended meanwhile tells of no further try', async () => {
  const { run, orderId } = await world({
    paymentMethod: 'pm_card_insufficient_funds',
    meanwhile: (tables, id) => tables.cancelOrder(id, 'operator', 'other'),
  });
  await run();
  expect(await toldOf(orderId)).toEqual({ code: 'insufficient_funds' });
});

test.each([
  ['another attempt', 2, { retry_after_seconds: 86_400 }],
  ['no attempt', 1, {}],
])('of an account that Stripe refused for long, a charge with %s left tells so', async (_what, left, told) => {
  const { run, orderId } = await world({ faults: { next: [REFUSED] } });
  const made = 90;
  await database.sql`
    insert into payments (order_id, attempt, amount_cents, status, failure_code)
    select ${orderId}, n, 799, 'declined', 'account_refused' from generate_series(1, ${made}::int) n`;
  await database.sql`update orders set payment_attempts_allowed = ${made + left} where id = ${orderId}`;
  await run();
  expect(await toldOf(orderId)).toEqual({ code: 'account_refused', ...told });
});

test('a charge that is due again goes to the card that the store has by then', async () => {
  const { run, row, orderId, store } = await world({ paymentMethod: 'pm_card_insufficient_funds_mac_24' });
  await run();
  await storeOf(database.sql).setCard(store.retailerId, 'cus_2', 'pm_card_visa');
  await database.sql`update charge_retries set due_at = due_at - interval '1 hour' where order_id = ${orderId}`;
  const [outboxId] = await dueJobs(orderId);
  await run(outboxId);
  expect(await row()).toMatchObject({ payment_status: 'paid', payment_failure_code: null });
});

test('a card that was declined eight times in a day is not tried again that day, and another one is', async () => {
  const { run, row, orderId, standIn, store } = await world({ paymentMethod: 'pm_sandbox_lost_often' });
  const again = async () => (await storeOf(database.sql).retryCharges({ orderId }, 1, 99))[0]?.outbox[0]?.id;
  await run();
  for (let tries = 1; tries < MAX_CARD_DECLINES; tries++) await run(await again());
  expect([standIn.entries().length, (await row()).payment_failure_code]).toEqual([MAX_CARD_DECLINES, 'lost_card']);
  await run(await again());
  expect(await row()).toMatchObject({ payment_status: 'failed', payment_failure_code: 'card_declined_too_often' });
  expect(standIn.entries()).toHaveLength(MAX_CARD_DECLINES);
  const left = async () =>
    (
      await database.sql`select extract(epoch from due_at - now()) as s from charge_retries where order_id = ${orderId}`
    )[0]?.s;
  // It comes again when the first decline counts no more, and until then a sweep puts it off.
  expect(Number(await left())).toBeCloseTo(CARD_WINDOW_SECONDS, -2);
  await database.sql`update charge_retries set due_at = now() where order_id = ${orderId}`;
  expect(await dueJobs(orderId)).toEqual([]);
  expect(Number(await left())).toBeCloseTo(CARD_WINDOW_SECONDS, -2);
  await storeOf(database.sql).setCard(store.retailerId, 'cus_1', 'pm_card_visa');
  await run(await again());
  expect((await row()).payment_status).toBe('paid');
});

const passPause = (orderId: string) => database.sql`
  update payments set settled_at = settled_at - make_interval(secs => ${ACCOUNT_REFUSED_PAUSE_SECONDS})
  where order_id = ${orderId}`;

test('a charge that Stripe refuses the account waits under a new key, and holds no store', async () => {
  const { run, row, orderId, store, paidInLedger } = await world({ faults: { next: Array(4).fill(REFUSED) } });
  const pause = async () => {
    const [job] = await database.sql`
      select extract(epoch from lease_until - now())::float8 as seconds
      from outbox where order_id = ${orderId} and queue = 'charge' and done_at is null`;
    return job?.seconds;
  };
  for (let tries = 1; tries <= 4; tries++) {
    expect(await run()).toEqual({ kind: 'done' });
    expect(await pause()).toBeCloseTo(ACCOUNT_REFUSED_PAUSE_SECONDS, -1);
    // Another job of the row, as of one whose lease was ended, sends no key before its time.
    const early = await run();
    expect(early).toEqual({ kind: 'wait', forMs: expect.any(Number) });
    expect('forMs' in early && early.forMs / 1_000).toBeCloseTo(ACCOUNT_REFUSED_PAUSE_SECONDS, -1);
    await passPause(orderId);
  }
  const held = await database.sql`
    select payment_failed_at, unpaid_orders_of(id) as unpaid from retailers where id = ${store.retailerId}`;
  expect([...held]).toEqual([{ payment_failed_at: null, unpaid: 0 }]);
  expect((await row()).payment_status).toBe('processing');
  expect(await run()).toEqual({ kind: 'done' });
  expect(paidInLedger()).toEqual([expect.objectContaining({ key: `${orderId}:5` })]);
  expect(await database.sql`select status from payments where order_id = ${orderId} order by attempt`).toMatchObject([
    ...Array(4).fill({ status: 'declined' }),
    { status: 'paid' },
  ]);
});

test('a charge that failed for the account is sent at once where its store asks for that', async () => {
  const { sql } = database;
  const { run, row, orderId, store } = await world({ faults: { next: [REFUSED] } });
  await sql`
    insert into payments (order_id, attempt, amount_cents, status, failure_code, settled_at)
    values (${orderId}, ${MAX_PUT_OFF_ATTEMPT - 1}, 799, 'declined', 'account_refused', now() - interval '1 hour')`;
  await sql`update orders set payment_attempts_allowed = ${MAX_PUT_OFF_ATTEMPT} where id = ${orderId}`;
  await run();
  expect((await row()).payment_failure_code).toBe('account_refused');
  const byStore = { retailerId: store.retailerId, most: 1 };
  const [asked] = await storeOf(sql).retryCharges(
    { orderId, byStore },
    MAX_PAYMENT_ATTEMPTS,
    MAX_PAYMENT_ATTEMPTS_EVER,
  );
  await run(asked?.outbox[0]?.id);
  expect((await row()).payment_status).toBe('paid');
});

test('a charge that Stripe refuses the account is put off once, whoever hears of it', async () => {
  const { run, row, orderId, standIn } = await world({ faults: { next: Array(2).fill(REFUSED) } });
  const results = await Promise.all([run(), run()]);
  // Where the statement of the second one is another, it may find the charge put off.
  expect(results.map(({ kind }) => kind)).not.toContain('retry');
  const owed = await database.sql`
    select 1 from outbox where order_id = ${orderId} and queue = 'charge' and done_at is null`;
  expect([owed.length, (await row()).payment_status]).toEqual([1, 'processing']);
  const sent = standIn.entries().length;
  await storeOf(database.sql).cancelOrder(orderId, 'operator', 'other');
  await run();
  expect(standIn.entries()).toHaveLength(sent);
});

const putOff = (tables: ReturnType<typeof storeOf>, orderId: string, outboxId: number) =>
  tables.putOffCharge({ orderId, attempt: 1 }, outboxId, { seconds: 60, allowed: 3 });

test('a charge that was made while another worker put it off is recorded, and refunded if its order has ended', async () => {
  const going = await world({ meanwhile: putOff });
  expect(await going.run()).toEqual({ kind: 'done' });
  expect([(await going.row()).payment_status, going.recorded]).toEqual(['paid', ['paid']]);
  expect((await going.outbox())?.done_at).toBeInstanceOf(Date);

  const ended = await world({
    async meanwhile(tables, orderId, outboxId) {
      await putOff(tables, orderId, outboxId);
      await tables.cancelOrder(orderId, 'operator', 'other');
      await tables.recordUncharged(orderId, 0);
    },
  });
  await ended.run();
  expect((await ended.row()).payment_status).toBe('paid');
  expect(await storeOf(database.sql).openRefund(ended.orderId)).toMatchObject({ kind: 'paid' });
  expect([...going.lines, ...ended.lines]).toEqual([]);
});

test('of a charge that was put off while it was made, a second payment is an error that names both', async () => {
  const { sql } = database;
  const open = (orderId: string) => storeOf(sql).openPaymentAttempts([orderId], 3);
  const sending = await world({
    async meanwhile(tables, orderId, outboxId) {
      await putOff(tables, orderId, outboxId);
      await open(orderId);
    },
  });
  await sending.run();
  const { orderId, lines } = sending;
  expect([(await sending.row()).payment_status, lines]).toEqual([
    'paid',
    [{ orderId, attempt: 1, otherAttempt: 2, message: expect.stringContaining('may be charged twice') }],
  ]);

  const paid = await world({
    async meanwhile(tables, orderId, outboxId) {
      await putOff(tables, orderId, outboxId);
      await open(orderId);
      await tables.recordPaid([{ orderId, attempt: 2, paymentIntentId: 'pi_2', outboxId }]);
    },
  });
  await paid.run();
  const payments = { chargeId: 'pi_2', otherChargeId: expect.stringMatching(/^pi_/) };
  const message = expect.stringContaining('was charged twice');
  expect([(await paid.row()).charge_id, paid.lines]).toEqual([
    'pi_2',
    [{ orderId: paid.orderId, ...payments, message }],
  ]);
});

test('a decline of a charge that another worker put off ends no job, and the next attempt follows', async () => {
  const { run, row, outbox, orderId } = await world({ paymentMethod: 'pm_card_chargeDeclined', meanwhile: putOff });
  expect(await run()).toEqual({ kind: 'done' });
  expect([(await row()).payment_status, await outbox()]).toEqual(['processing', { done_at: null, failure_code: null }]);
  expect((await storeOf(database.sql).openPaymentAttempts([orderId], 3)).get(orderId)?.attempt).toBe(2);
});

/** Declines of this card at other orders. */
const declinesOf = (paymentMethod: string, count: number) => database.sql`
  insert into payments (order_id, attempt, amount_cents, stripe_payment_method_id, status, failure_code)
  select gen_random_uuid(), 1, 799, ${paymentMethod}, 'declined', 'lost_card' from generate_series(1, ${count}::int)`;

test('charges that were put off for the account count as no tries of their card, and end as never charged', async () => {
  const { sql } = database;
  const store = await addStoreRow(sql, { customer: 'cus_1', paymentMethod: 'pm_card_visa' });
  const tables = storeOf(sql);
  const orders = [];
  for (let i = 0; i <= MAX_CARD_DECLINES + 1; i++) {
    const { orderId } = await chargedOrder(sql, store);
    orders.push(orderId);
    await openAttempt(sql, orderId);
    expect(await tables.putOffCharge({ orderId, attempt: 1 }, 0, { seconds: 0, allowed: 3 })).toBe(true);
  }
  const [cancelled = '', ...others] = orders;
  await tables.cancelOrder(cancelled, 'operator', 'other');
  expect(await tables.recordUncharged(cancelled, 0)).not.toBeNull();
  expect((await orderRow(sql, cancelled)).payment_status).toBe('not_charged');
  const opened = [...(await tables.openPaymentAttempts(others, 3)).values()];
  const next = expect.objectContaining({ attempt: 2, cardWaitSeconds: null, isLast: false });
  expect(opened).toEqual(Array(MAX_CARD_DECLINES + 1).fill(next));
});

test('a charge that Stripe made, and refuses when it is sent again as its answer was lost, is found', async () => {
  const { run, row, paidInLedger } = await world({ faults: { next: [{ kind: 'reset', effect: 'after' }, REFUSED] } });
  expect(await run()).toMatchObject({ kind: 'retry' });
  expect(await run()).toEqual({ kind: 'done' });
  expect([(await row()).payment_status, paidInLedger().length]).toEqual(['paid', 1]);
});

test('a charge that was put off after a bank declined it meets the limit of its card', async () => {
  const { sql } = database;
  const paymentMethod = 'pm_at_its_limit';
  const { orderId, settle } = await chargedOrder(sql, await addStoreRow(sql, { customer: 'cus_1', paymentMethod }));
  await settle('declined');
  await openAttempt(sql, orderId);
  await storeOf(sql).putOffCharge({ orderId, attempt: 2 }, 0, { seconds: 0, allowed: 3 });
  await declinesOf(paymentMethod, MAX_CARD_DECLINES - 1);
  expect(await openAttempt(sql, orderId)).toMatchObject({ attempt: 3, cardWaitSeconds: expect.any(Number) });
});

test('a charge in its pause takes no turn of its card from another order', async () => {
  const { sql } = database;
  const paymentMethod = 'pm_with_one_left';
  const store = await addStoreRow(sql, { customer: 'cus_1', paymentMethod });
  const [paused, next] = [await chargedOrder(sql, store), await chargedOrder(sql, store)];
  for (const { settle } of [paused, next]) await settle('declined');
  await openAttempt(sql, paused.orderId);
  await storeOf(sql).putOffCharge({ orderId: paused.orderId, attempt: 2 }, 0, { seconds: 900, allowed: 3 });
  await declinesOf(paymentMethod, MAX_CARD_DECLINES - 3);
  const pause = { seconds: ACCOUNT_REFUSED_PAUSE_SECONDS, endsAtAttempt: MAX_PUT_OFF_ATTEMPT };
  const opened = await storeOf(sql).openPaymentAttempts([paused.orderId, next.orderId], 3, pause);
  expect(opened.get(paused.orderId)?.pauseSeconds).toBeGreaterThan(0);
  expect(opened.get(next.orderId)).toMatchObject({ attempt: 2, cardWaitSeconds: null });
});

test('a charge that Stripe refuses the account is not sent again for an order that has ended', async () => {
  const { run, row, orderId, standIn } = await world({
    faults: {
      next: [
        { kind: 'reset', effect: 'before' },
        { ...REFUSED, sticky: false },
      ],
    },
  });
  await run();
  await storeOf(database.sql).cancelOrder(orderId, 'operator', 'other');
  expect([await run(), await run()]).toEqual([{ kind: 'done' }, { kind: 'done' }]);
  expect([(await row()).payment_status, standIn.entries()]).toEqual(['failed', []]);
});

test('an attempt older than Stripe keeps its key is looked up, not sent again', async () => {
  const { run, row, orderId, paidInLedger } = await world({ loseWrites: 1 });
  await expect(run()).rejects.toThrow();
  await database.sql`update payments set first_sent_at = now() - interval '23 hours' where order_id = ${orderId}`;
  const sent = paidInLedger().length;
  expect(await run()).toEqual({ kind: 'done' });
  expect(paidInLedger().length).toBe(sent);
  expect((await row()).payment_status).toBe('paid');
});

/** A failure that Stripe repeats under the key of its request. */
const repeated = (effect: 'before' | 'after') => ({ kind: 'status', status: 500, effect, sticky: true }) as const;
const age = (orderId: string, seconds: number) => database.sql`
  update payments set first_sent_at = first_sent_at - make_interval(secs => ${seconds}),
    failure_repeated_at = failure_repeated_at - make_interval(secs => ${seconds})
  where order_id = ${orderId} and status = 'sending'`;

test.each([
  ['right', 0],
  ['hours ahead', 2 * 3_600_000],
])(
  'a charge that was made while Stripe repeats a failure is found in two tries by a clock that is %s',
  async (_, aheadMs) => {
    const { run, row, paidInLedger } = await world({ faults: { next: [repeated('after')] }, aheadMs });
    expect(await run()).toEqual({ kind: 'retry', reason: 'server_error' });
    expect(await run()).toEqual({ kind: 'done' });
    expect([(await row()).payment_status, paidInLedger().length]).toEqual(['paid', 1]);
  },
);

test('a charge that was not made while Stripe repeats a failure is made under the next key ten minutes later', async () => {
  const { run, row, orderId, paidInLedger } = await world({ faults: { next: [repeated('before')] } });
  const replayed = { kind: 'retry', reason: 'replayed_error' };
  expect(await run()).toEqual({ kind: 'retry', reason: 'server_error' });
  // The attempt may be old by then, as after an outage: what counts is how long ago Stripe failed.
  await age(orderId, STRIPE_QUIET_SECONDS);
  expect([await run(), await run()]).toEqual([replayed, replayed]);
  await age(orderId, STRIPE_QUIET_SECONDS);
  expect(await run()).toEqual({ kind: 'retry', reason: 'never_arrived' });
  expect(await run()).toEqual({ kind: 'done' });
  expect([(await row()).payment_status, paidInLedger()]).toEqual([
    'paid',
    [expect.objectContaining({ key: `${orderId}:2` })],
  ]);
});

/** An order whose first payment Stripe left open, to be looked up or given up on next. */
async function unfinished() {
  const charged = await world({ paymentMethod: 'pm_sandbox_unfinished_once' });
  await charged.run();
  expect(await charged.run()).toEqual({ kind: 'retry', reason: 'replayed_error' });
  await age(charged.orderId, STRIPE_QUIET_SECONDS);
  const open = charged.standIn.payments()[0]?.id ?? '';
  return { ...charged, open, answers: () => charged.standIn.payments().map(({ answer }) => answer.kind) };
}

test('a payment that Stripe left open is cancelled before the next key is sent', async () => {
  const { run, row, answers } = await unfinished();
  expect(await run()).toEqual({ kind: 'retry', reason: 'never_arrived' });
  expect(answers()).toEqual(['canceled']);
  await run();
  expect([(await row()).payment_status, answers()]).toEqual(['paid', ['canceled', 'paid']]);
});

test('so is one that only the search finds, a day later', async () => {
  const { run, orderId, answers } = await unfinished();
  await age(orderId, STRIPE_KEY_SECONDS);
  expect(await run()).toEqual({ kind: 'retry', reason: 'never_arrived' });
  expect(answers()).toEqual(['canceled']);
});

test('an open payment that is paid before its cancellation is the order’s, and one whose cancellation fails stays', async () => {
  const { run, row, standIn, open, answers } = await unfinished();
  // The look-up finds it open, and Stripe finishes it before the cancellation.
  const each = ({ path }: { path: string }) => {
    if (path.endsWith('/cancel')) standIn.dashboard.settle(open, 'paid');
    return undefined;
  };
  const refused = { kind: 'status', status: 503, effect: 'before', sticky: false } as const;
  standIn.orderFaults({ next: [{ kind: 'delay', ms: 0 }, { kind: 'delay', ms: 0 }, refused] });
  expect(await run()).toEqual({ kind: 'retry', reason: 'server_error' });
  expect(answers()).toEqual(['unfinished']);
  standIn.orderFaults({ each });
  expect(await run()).toEqual({ kind: 'done' });
  expect([(await row()).charge_id, answers()]).toEqual([open, ['paid']]);
});

test('a second attempt whose failure is repeated is not taken for declined by the first one’s decline', async () => {
  const { run, row, orderId, standIn, paidInLedger } = await world({ paymentMethod: 'pm_card_processing_error_once' });
  await run();
  standIn.orderFaults({ next: [repeated('before')] });
  await run();
  expect(await run()).toEqual({ kind: 'retry', reason: 'replayed_error' });
  await age(orderId, STRIPE_QUIET_SECONDS);
  await run();
  await run();
  expect([(await row()).payment_status, paidInLedger().length]).toEqual(['paid', 1]);
});

test('a look-up that Stripe refuses for its rate waits alone, and does not pause the charges', async () => {
  const { run, orderId, standIn } = await world({ faults: { next: [{ kind: 'reset', effect: 'before' }] } });
  await run();
  await age(orderId, STRIPE_KEY_SECONDS);
  standIn.orderFaults({ next: [{ kind: 'rate_limit' }] });
  expect(await run()).toEqual({ kind: 'wait', forMs: VENDOR_PAUSE_MS });
});

test('so does one of a failure that Stripe repeats', async () => {
  const { run, standIn } = await world({ faults: { next: [repeated('before')] } });
  await run();
  standIn.orderFaults({ next: [{ kind: 'delay', ms: 0 }, { kind: 'rate_limit' }] });
  expect(await run()).toEqual({ kind: 'wait', forMs: VENDOR_PAUSE_MS });
});

test('shortly before its look-up an attempt is not sent any more, as the look-up could miss it', async () => {
  const { run, orderId, paidInLedger } = await world({ faults: { next: [{ kind: 'reset', effect: 'before' }] } });
  await run();
  const left = 60;
  await database.sql`
    update payments set first_sent_at = now() - make_interval(secs => ${STRIPE_KEY_SECONDS - left})
    where order_id = ${orderId}`;
  expect(await run()).toEqual({ kind: 'wait', forMs: expect.toSatisfy((ms) => ms <= left * 1_000) });
  expect(paidInLedger()).toEqual([]);
});

test('a worker that was suspended before the send looks up an attempt that became old meanwhile', async () => {
  const { run, standIn, paidInLedger, row } = await world({ standsStillMs: STRIPE_KEY_SECONDS * 1_000 });
  expect(await run()).toMatchObject({ kind: 'retry', reason: 'never_arrived' });
  expect([standIn.entries(), paidInLedger(), (await row()).payment_status]).toEqual([[], [], 'processing']);
});
