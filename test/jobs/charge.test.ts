import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { OrderEvents } from '../../src/dispatch/order-events.ts';
import { createChargeJob } from '../../src/jobs/charge.ts';
import { STRIPE_KEY_SECONDS } from '../../src/limits.ts';
import { limitConcurrency } from '../../src/postgres/batched-reads.ts';
import type { FaultOrder } from '../../src/sandbox/faults.ts';
import { startStripeStandIn } from '../../src/sandbox/stripe-stand-in.ts';
import { createStripeCharger } from '../../src/vendors/stripe.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow, orderRow } from '../harness/orders.ts';
import { STEP_MS } from '../harness/patience.ts';
import { storeOf } from '../harness/store.ts';
import { temporaryFolder } from '../sandbox/temporary.ts';

type LedgerEntry = { metadata?: Record<string, string>; answer?: { kind: string } };

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

/** An assigned order, Stripe's stand-in, and the charge job as the worker builds it. */
async function world(
  options: { paymentMethod?: string | null; faults?: FaultOrder; loseWrites?: number; standsStillMs?: number } = {},
) {
  const { sql } = database;
  const { paymentMethod = 'pm_card_visa', faults = {} } = options;
  const standIn = await startStripeStandIn({ ledgerFile: join(temporaryFolder(), 'stripe.jsonl') });
  onTestFinished(() => standIn.close());
  standIn.orderFaults(faults);
  const stripe = createStripeCharger({ secretKey: 'sk_test_1', apiBase: standIn.url, timeoutMs: STEP_MS });
  onTestFinished(() => stripe.close());
  const store = await addStoreRow(sql, paymentMethod === null ? null : { customer: 'cus_1', paymentMethod });
  const { orderId, jobs } = await addOrder(sql, store, { driverId: await addDriverRow(sql) });
  const recorded: string[] = [];
  let lose = options.loseWrites ?? 0;
  let stoodStillMs = 0;
  const tables = storeOf(sql);
  const dieBefore = <Args extends unknown[], Result>(write: (...args: Args) => Promise<Result>) => {
    return async (...args: Args): Promise<Result> => {
      if (lose-- > 0) throw new Error('the worker died before the write');
      return write(...args);
    };
  };
  const events = new OrderEvents();
  events.subscribe({ paymentRecorded: (_orderId, status) => void recorded.push(status) });
  const job = createChargeJob({
    store: {
      ...tables,
      async openPaymentAttempts(ids, maxAttempts) {
        const opened = await tables.openPaymentAttempts(ids, maxAttempts);
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
    clock: { now: () => Date.now() + stoodStillMs },
  });
  const run = () => job({ orderId, outboxId: jobs.charge?.id ?? 0 });
  /** The charges at Stripe for the order; a replayed key makes no other one. */
  const paidInLedger = () =>
    (standIn.entries() as LedgerEntry[]).filter(
      (entry) => entry.metadata?.order_id === orderId && entry.answer?.kind === 'paid',
    );
  const outbox = async () =>
    (await sql`select done_at, failure_code from outbox where id = ${jobs.charge?.id ?? 0}`)[0];
  return { run, recorded, orderId, row: () => orderRow(sql, orderId), paidInLedger, outbox, stripe, standIn };
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

test('a hard decline fails the payment for good, with its code', async () => {
  const { run, row, recorded } = await world({ paymentMethod: 'pm_card_chargeDeclined' });
  expect(await run()).toEqual({ kind: 'done' });
  expect(await row()).toMatchObject({ payment_status: 'failed', status: 'driver_assigned' });
  expect((await row()).payment_failure_code).toBeTruthy();
  expect(recorded).toEqual(['failed']);
});

test('a card that needs its holder fails the payment with that code', async () => {
  const { run, row } = await world({ paymentMethod: 'pm_card_authenticationRequired' });
  await run();
  expect(await row()).toMatchObject({ payment_status: 'failed', payment_failure_code: 'authentication_required' });
});

test('a store without a card fails the payment without asking Stripe', async () => {
  const { run, row, standIn } = await world({ paymentMethod: null });
  await run();
  expect(await row()).toMatchObject({ payment_status: 'failed', payment_failure_code: 'no_card_on_file' });
  expect(standIn.entries()).toEqual([]);
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

test('a decline that may pass is tried again with a new key, three times at most', async () => {
  const { run, row, orderId } = await world({ paymentMethod: 'pm_card_insufficient_funds' });
  const results = [await run(), await run(), await run(), await run()];
  expect(results.map((result) => result.kind)).toEqual(['retry', 'retry', 'done', 'done']);
  expect(await row()).toMatchObject({ payment_status: 'failed', payment_failure_code: 'insufficient_funds' });
  const attempts = await database.sql`select attempt, status from payments where order_id = ${orderId} order by 1`;
  expect(attempts.map((each) => ({ ...each }))).toEqual([
    { attempt: 1, status: 'declined' },
    { attempt: 2, status: 'declined' },
    { attempt: 3, status: 'declined' },
  ]);
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

test('shortly before its look-up an attempt is not sent any more, as the look-up could miss it', async () => {
  const { run, orderId, paidInLedger } = await world({ faults: { next: [{ kind: 'reset', effect: 'before' }] } });
  await run();
  const left = 60;
  await database.sql`
    update payments set first_sent_at = now() - make_interval(secs => ${STRIPE_KEY_SECONDS - left})
    where order_id = ${orderId}`;
  expect(await run()).toEqual({ kind: 'wait', forMs: expect.closeTo(left * 1_000, -3) });
  expect(paidInLedger()).toEqual([]);
});

test('a worker that was suspended before the send looks up an attempt that became old meanwhile', async () => {
  const { run, standIn, paidInLedger, row } = await world({ standsStillMs: STRIPE_KEY_SECONDS * 1_000 });
  expect(await run()).toMatchObject({ kind: 'retry', reason: 'never_arrived' });
  expect([standIn.entries(), paidInLedger(), (await row()).payment_status]).toEqual([[], [], 'processing']);
});
