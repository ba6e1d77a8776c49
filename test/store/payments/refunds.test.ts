import { expect, test } from 'vitest';
import { useFreshDatabase } from '../../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow, orderRow } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';
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
  const status = async () => (await orderRow(sql, orderId)).payment_status;
  return { orderId, outboxId, status };
}

test.each([
  ['a refund', true, 'refunded', (id: string, job: number) => storeOf(sql, 'me').recordRefund(id, 're_1', job)],
  [
    'a refused one',
    true,
    'paid',
    (id: string, job: number) => storeOf(sql, 'me').recordRefundRefused(id, { code: 'no' }, job),
  ],
  ['nothing to refund', false, 'not_charged', (id: string, job: number) => storeOf(sql, 'me').recordUncharged(id, job)],
])(
  '%s is recorded once, with a notice of details, as it does not concern dispatch',
  async (_what, paid, status, record) => {
    const order = await cancelled(paid);
    const notices = await noticesDuring(database, async () => {
      expect(await record(order.orderId, order.outboxId)).toMatchObject({ id: order.orderId, status: 'cancelled' });
      expect(await record(order.orderId, order.outboxId)).toBeNull();
    });
    expect(notices).toEqual([`me:details:${order.orderId}`]);
    expect(await order.status()).toBe(status);
  },
);

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
