import { expect, test } from 'vitest';
import { OrderEvents } from '../../src/dispatch/order-events.ts';
import type { RefundOutcome } from '../../src/payments/charger.ts';
import { createRefundJob } from '../../src/payments/refund.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow, orderRow } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';

const REFUSED: RefundOutcome = { kind: 'refused', code: 'charge_disputed' };
const database = await useFreshDatabase();

/** A cancelled paid order, and its refund job with a given answer of Stripe. */
async function world(outcome: RefundOutcome) {
  const { sql } = database;
  const { orderId } = await addOrder(sql, await addStoreRow(sql), { driverId: await addDriverRow(sql) });
  await sql`update orders set payment_status = 'paid', charge_id = 'pi_1' where id = ${orderId}`;
  const cancelled = await storeOf(sql, 'test').cancelOrder(orderId, 'operator', 'other');
  const outboxId = cancelled?.outbox.find(({ queue }) => queue === 'refund')?.id ?? 0;
  const errors: unknown[] = [];
  const keys: string[] = [];
  const quiet = () => undefined;
  const job = createRefundJob({
    store: storeOf(sql),
    stripe: {
      async refund({ idempotencyKey }) {
        keys.push(idempotencyKey);
        return outcome;
      },
    },
    relay: { relay: quiet },
    events: new OrderEvents(),
    logger: { debug: quiet, info: quiet, warn: quiet, error: (fields: object) => void errors.push(fields) },
  });
  return {
    orderId,
    errors,
    keys,
    run: (id = outboxId) => job({ orderId, outboxId: id }),
    row: () => orderRow(sql, orderId),
    job: async () => (await sql`select done_at, failure_code from outbox where id = ${outboxId}`)[0],
    failures: () => sql`select data from order_events where order_id = ${orderId} and type = 'refund_failed'`,
  };
}

test('a refund that Stripe refuses is an event of the order and in the log, by ids', async () => {
  const { run, row, job, failures, errors, orderId } = await world(REFUSED);
  const before = await row();
  expect(await run()).toEqual({ kind: 'done' });
  expect(await failures()).toMatchObject([{ data: { code: 'charge_disputed' } }]);
  expect(await row()).toMatchObject({ payment_status: 'paid', sequence: Number(before.sequence) + 1 });
  expect(await job()).toMatchObject({ done_at: expect.any(Date), failure_code: 'charge_disputed' });
  expect(errors).toEqual([{ orderId, code: 'charge_disputed' }]);
});

test('a repeated refusal is recorded once', async () => {
  const { run, failures, errors } = await world(REFUSED);
  await Promise.all([run(), run()]);
  await run();
  expect(await failures()).toHaveLength(1);
  expect(errors).toHaveLength(1);
});

test('a second job of a refund that was refused does not ask again', async () => {
  const { run, failures, errors, keys, orderId } = await world(REFUSED);
  await run();
  const [second] = await database.sql`
    insert into outbox (queue, order_id, retailer_id, run_at, lease_until)
    select 'refund', id, retailer_id, now(), now() from orders where id = ${orderId} returning id`;
  await run(second?.id);
  expect([keys.length, await failures(), errors.length]).toEqual([1, [expect.anything()], 1]);
  expect((await database.sql`select done_at from outbox where id = ${second?.id}`)[0]?.done_at).toBeInstanceOf(Date);
});

test('a refund that the operator has tried again goes under a key of its own', async () => {
  const { run, keys, orderId } = await world(REFUSED);
  await run();
  const store = storeOf(database.sql);
  const any = { status: null, since: null, until: null, text: orderId, retailerIds: null };
  const [row] = (await store.listFailedJobs(any, { limit: 1, after: null })).rows;
  const retried = await store.retryRefund((await store.findFailedJob(Number(row?.job_id))) as never);
  await run(retried?.outbox[0]?.id);
  expect(keys).toEqual([`${orderId}:refund`, `${orderId}:refund:2`]);
});

test('the operator’s figures count a refund that is missing for a minute', async () => {
  const { sql } = database;
  const missing = async () => Number((await storeOf(sql).readStats()).refunds_missing);
  const before = await missing();
  const { orderId, run } = await world(REFUSED);
  await run();
  expect(await missing()).toBe(before);
  await sql`update orders set ended_at = now() - interval '2 minutes' where id = ${orderId}`;
  expect(await missing()).toBe(before + 1);
  const { orderId: other, run: refund } = await world({ kind: 'refunded', refundId: 're_1' });
  await refund();
  await sql`update orders set ended_at = now() - interval '2 minutes' where id = ${other}`;
  expect(await missing()).toBe(before + 1);
});
