import fc, { type Scheduler } from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OrderEvents } from '../../src/dispatch/order-events.ts';
import { MAX_PAYMENT_ATTEMPTS } from '../../src/limits.ts';
import { createChargeJob } from '../../src/payments/charge.ts';
import { createRefundJob } from '../../src/payments/refund.ts';
import { limitConcurrency } from '../../src/postgres/batched-reads.ts';
import type { JobData } from '../../src/queues/job-handler.ts';
import { createLogger } from '../../src/telemetry.ts';
import { runs } from '../harness/counts.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { UNSTAMPED } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';
import { type Answer, Bank, type Pause } from './bank.ts';
import { addDriverOnDuty, addOrder, addRetailer, everythingOf } from './orders.ts';

/** More statements than are ever in flight at once, so that each races with all others. */
const UNLIMITED = 100;
let database: FreshDatabase;
let retailerId: string;
beforeAll(async () => {
  database = await freshDatabase({ max: 10 });
  retailerId = await addRetailer(database.sql);
});
afterAll(() => database?.drop());

/** A worker died between two steps; the earlier ones stay done. */
class Died extends Error {}

/** The two jobs of a worker as the service builds them. Between two steps others act, or the worker dies. */
function openWorker(bank: Bank, pause: Pause) {
  const store = storeOf(database.sql);
  const paused =
    <Args extends unknown[], Result>(what: string, statement: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      await pause(what);
      const result = await statement(...args);
      await pause(`${what} is answered`);
      return result;
    };
  const shared = {
    stripe: bank,
    relay: { relay: () => undefined },
    events: new OrderEvents(),
    clock: { now: Date.now },
    logger: createLogger('silent'),
  };
  const charge = createChargeJob({
    ...shared,
    store: {
      finishJobs: paused('finish', store.finishJobs),
      openPaymentAttempts: paused('open', store.openPaymentAttempts),
      recordPaid: paused('record paid', store.recordPaid),
      recordDeclined: paused('record declined', store.recordDeclined),
      findPayment: store.findPayment,
      recordLatePaid: store.recordLatePaid,
      noteRepeatedFailure: store.noteRepeatedFailure,
      putOffCharge: store.putOffCharge,
    },
    orderLocks: limitConcurrency(UNLIMITED),
  });
  const refund = createRefundJob({
    ...shared,
    store: {
      finishJobs: paused('finish', store.finishJobs),
      openRefund: paused('open refund', store.openRefund),
      recordRefund: paused('record refund', store.recordRefund),
      recordRefundRefused: paused('record refusal', store.recordRefundRefused),
      recordUncharged: paused('record uncharged', store.recordUncharged),
    },
  });
  return { charge, refund };
}
type Jobs = ReturnType<typeof openWorker>;

async function owedJobs(orderId: string): Promise<(JobData & { queue: keyof Jobs })[]> {
  const rows = await database.sql`
    select id, queue from outbox
    where order_id = ${orderId} and done_at is null and queue in ('charge', 'refund') order by id`;
  return rows.map((row) => ({ queue: row.queue, outboxId: row.id, orderId }));
}

type Act = 'jobs' | 'jobs_twice' | 'cancel' | 'cancel_as_operator' | 'release' | 'assign' | 'expire';
type Plan = {
  readonly acts: readonly Act[];
  readonly answers: readonly Answer[];
  /** Numbers of the steps, over all workers, at which a worker dies. */
  readonly deaths: readonly number[];
  readonly aDayPasses: boolean;
};

const plan: fc.Arbitrary<Plan> = fc.record({
  acts: fc.array(
    fc.constantFrom<Act>('jobs', 'jobs', 'jobs_twice', 'cancel', 'cancel_as_operator', 'release', 'assign', 'expire'),
    { minLength: 2, maxLength: 8 },
  ),
  answers: fc.array(
    fc.constantFrom<Answer>('paid', 'soft', 'soft', 'hard', 'needs_auth', 'unreached', 'lost', 'busy'),
    {
      maxLength: 6,
    },
  ),
  deaths: fc.array(fc.nat({ max: 25 }), { maxLength: 3 }),
  aDayPasses: fc.boolean(),
});

/** An assigned order with an owed charge, and its driver. */
async function assignedOrder(): Promise<{ orderId: string; driverId: string }> {
  const { sql } = database;
  const driverId = await addDriverOnDuty(sql);
  const orderId = await addOrder(sql, retailerId, 'driver_assigned', driverId);
  await sql`insert into outbox (queue, order_id, retailer_id, lease_until) values ('charge', ${orderId}, ${retailerId}, now())`;
  return { orderId, driverId };
}

async function act(what: Act, jobs: Jobs, orderId: string, driverId: string): Promise<unknown> {
  const { sql } = database;
  switch (what) {
    case 'jobs':
    case 'jobs_twice': {
      const owed = await owedJobs(orderId);
      const runs = what === 'jobs' ? owed : [...owed, ...owed];
      return Promise.all(runs.map((job) => jobs[job.queue](job)));
    }
    case 'cancel':
      return storeOf(sql).cancelOrder(orderId, { retailerId }, 'other');
    case 'cancel_as_operator':
      return storeOf(sql).cancelOrder(orderId, 'operator', 'other');
    case 'release':
      return storeOf(sql).releaseOrder(orderId, driverId, 'other', UNSTAMPED);
    case 'assign':
      return storeOf(sql).assignWaiting(orderId, { driverId: await addDriverOnDuty(sql), shownMeters: 1 });
    case 'expire':
      await sql`update orders set expires_at = now() - interval '1 second' where id = ${orderId}`;
      return storeOf(sql).expireOrder(orderId);
  }
}

/** Runs owed jobs until none is left, as the sweeper does, with a Stripe that answers. */
async function complete(bank: Bank, orderId: string): Promise<void> {
  const jobs = openWorker(bank, async () => undefined);
  for (let round = 0; round < 20; round++) {
    const owed = await owedJobs(orderId);
    if (owed.length === 0) return;
    for (const job of owed) await jobs[job.queue](job);
  }
  throw new Error('Some job is never done');
}

async function expectTruth(bank: Bank, orderId: string): Promise<void> {
  const { order, events } = await everythingOf(database.sql, orderId);
  const paid = bank.paid();
  expect(paid.length, 'charged once at most').toBeLessThanOrEqual(1);
  expect(bank.refunds.length, 'refunded once at most').toBeLessThanOrEqual(1);
  expect(bank.charges.length).toBeLessThanOrEqual(MAX_PAYMENT_ATTEMPTS);
  const ended = ['cancelled', 'expired'].includes(order.status);
  expect(paid.length - bank.refunds.length, 'what the store has paid in the end').toBe(ended ? 0 : paid.length);
  const declined = paid.length === 0 && bank.charges.length > 0;
  if (paid.length > 0) {
    expect(order).toMatchObject({ payment_status: ended ? 'refunded' : 'paid', charge_id: paid[0]?.id });
  } else if (declined) {
    expect(order.payment_status).toBe('failed');
  } else {
    // No charge reached Stripe; an attempt that was given up as never arrived counts as failed.
    expect(['not_charged', 'failed']).toContain(order.payment_status);
  }
  const count = (type: string) => events.filter((event) => event.type === type).length;
  expect(count('payment_paid')).toBe(paid.length);
  expect(count('refunded')).toBe(bank.refunds.length);
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
  expect(order.sequence).toBe(events.length);
}

async function interleave(scheduler: Scheduler, { acts, answers, deaths, aDayPasses }: Plan): Promise<void> {
  const { orderId, driverId } = await assignedOrder();
  let steps = 0;
  const pause: Pause = async (what) => {
    await scheduler.schedule(Promise.resolve(), what);
    if (deaths.includes(steps++)) throw new Died(what);
  };
  const bank = new Bank(answers, pause);
  const jobs = openWorker(bank, pause);
  const all = acts.map(async (what) => {
    await scheduler.schedule(Promise.resolve(), what);
    await act(what, jobs, orderId, driverId).catch((error) => {
      if (!(error instanceof Died)) throw error;
    });
  });
  await scheduler.waitFor(Promise.all(all));
  bank.recover();
  if (aDayPasses) {
    bank.forgetKeys();
    await database.sql`update payments set first_sent_at = first_sent_at - interval '1 day' where order_id = ${orderId}`;
  }
  await complete(bank, orderId);
  await expectTruth(bank, orderId);
}

describe('an order that ends before its pickup', () => {
  it('has no charge in the end, whatever happens in whatever order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), plan, (scheduler, planned) => interleave(scheduler, planned)),
      { numRuns: Number(process.env.RUNS ?? runs(100, 500)), seed: Number(process.env.SEED ?? 20_252) },
    );
  });
});
