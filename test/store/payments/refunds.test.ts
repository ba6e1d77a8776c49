import { expect, test } from 'vitest';
import { useFreshDatabase } from '../../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow, orderRow } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';
import { chargedOrder } from '../../harness/unpaid.ts';
import { openAttempt, recordAttempt } from '../../harness/vendor-rows.ts';
import { noticesDuring } from '../transaction.ts';

const database = await useFreshDatabase();
const { sql } = database;

/** A cancelled order and the outbox row of its refund. */
async function cancelled(paid: boolean) {
  const store = await addStoreRow(sql);
  const { orderId, jobs } = await addOrder(sql, store, { driverId: await addDriverRow(sql) });
  if (paid) {
    await openAttempt(sql, orderId);
    const result = { status: 'paid', paymentIntentId: 'pi_1' } as const;
    await recordAttempt(sql, { orderId, attempt: 1 }, result, jobs.charge?.id ?? 0, 'me');
  }
  const ended = await storeOf(sql, 'me').cancelOrder(orderId, { retailerId: store.retailerId }, 'customer_request');
  const outboxId = ended?.outbox.find(({ queue }) => queue === 'refund')?.id ?? 0;
  return { orderId, outboxId };
}

const tables = storeOf(sql, 'me');
const opened = { attempt: 1, payment_intent_id: 'pi_1', amount_cents: 799, reason: 'cancelled', status: 'sending' };
const refunded = { status: 'refunded', stripe_refund_id: 're_1', settled_at: expect.any(Date) };
const refused = { status: 'refused', failure_code: 'no' };
const refuse = (id: string, job: number) => tables.recordRefundRefused(id, { code: 'no' }, job);

test.each<[string, object | null, string, (id: string, job: number) => Promise<unknown>]>([
  ['a refund', refunded, 'refunded', (id, job) => tables.recordRefund(id, 're_1', job)],
  ['a refused refund', refused, 'paid', refuse],
  ['nothing to refund', null, 'not_charged', (id, job) => tables.recordUncharged(id, job)],
])('%s is recorded once, and no news for dispatch', async (_what, result, payment_status, record) => {
  const { orderId, outboxId } = await cancelled(result !== null);
  const rows = async () => [...(await sql`select * from refunds where order_id = ${orderId}`)];
  expect(await rows()).toEqual([]);
  const paid = { kind: 'paid', paymentIntentId: 'pi_1', attempt: 1 };
  // The row is there before Stripe is called.
  for (let round = 0; round < 2; round++) {
    expect(await tables.openRefund(orderId)).toEqual(result ? paid : { kind: 'uncharged' });
    expect(await rows()).toMatchObject(result ? [opened] : []);
  }
  const notices = await noticesDuring(database, async () => {
    expect(await record(orderId, outboxId)).toMatchObject({ id: orderId, status: 'cancelled' });
    expect(await record(orderId, outboxId)).toBeNull();
  });
  expect(notices).toEqual([`me:details:${orderId}`]);
  expect(await rows()).toMatchObject(result ? [{ ...opened, ...result }] : []);
  const refund_id = result === refunded ? 're_1' : null;
  expect(await orderRow(sql, orderId)).toMatchObject({ payment_status, refund_id });
  expect((await tables.showOrder(orderId))?.refunds ?? []).toHaveLength(result ? 1 : 0);
});

test('no refund is owed of a charge that failed', async () => {
  const { orderId, settle } = await chargedOrder(sql, await addStoreRow(sql));
  await settle('failed');
  await tables.cancelOrder(orderId, 'operator', 'other');
  expect(await tables.openRefund(orderId)).toEqual({ kind: 'not_owed' });
  expect(await sql`select from refunds where order_id = ${orderId}`).toHaveLength(0);
});

test('nothing to refund is not recorded where the charge came meanwhile, and its job stays owed', async () => {
  const { orderId, outboxId } = await cancelled(false);
  const [order] = await sql`select delivery_fee_cents from orders where id = ${orderId}`;
  await sql`
    insert into payments (order_id, attempt, amount_cents, status) values (${orderId}, 1, ${order?.delivery_fee_cents}, 'sending')`;
  expect(await storeOf(sql).recordUncharged(orderId, outboxId)).toBeNull();
  expect((await sql`select done_at from outbox where id = ${outboxId}`)[0]).toEqual({ done_at: null });
});

test.each([
  ['a charge', { status: 'paid', paymentIntentId: 'pi_late' }],
  ['a decline', { status: 'declined', failureCode: 'generic_decline', final: false }],
  ['a last decline', { status: 'declined', failureCode: 'generic_decline', final: true }],
  ['a charge that Stripe tells of', null],
] as const)('a refund whose tries are over is due when %s is recorded', async (_what, result) => {
  const store = await addStoreRow(sql);
  const { orderId, jobs } = await addOrder(sql, store, { driverId: await addDriverRow(sql) });
  const attempt = await openAttempt(sql, orderId);
  const ended = await storeOf(sql).cancelOrder(orderId, { retailerId: store.retailerId }, 'customer_request');
  const refund = ended?.outbox.find(({ queue }) => queue === 'refund');
  // Handed over, tried for two minutes, and left to its lease.
  await storeOf(sql).extendLease([{ id: refund?.id ?? 0, relays: 0, orderId }]);
  const isDue = async () =>
    (await sql`select lease_until <= now() as due from outbox where id = ${refund?.id ?? 0}`)[0];
  expect(await isDue()).toEqual({ due: false });
  if (result) await recordAttempt(sql, { orderId, attempt: 1 }, result, jobs.charge?.id ?? 0);
  else
    await storeOf(sql).recordLatePaid({ orderId, paymentIntentId: 'pi_late', amountCents: attempt?.amountCents ?? 0 });
  expect(await isDue()).toEqual({ due: true });
});
