import { afterAll, beforeAll, expect, test } from 'vitest';
import { cancelOrder } from '../../src/store/lifecycle.ts';
import { recordRefund, recordRefundRefused, recordUncharged } from '../../src/store/refunds.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow, orderRow } from '../harness/orders.ts';
import { openAttempt, recordAttempt } from '../harness/vendor-rows.ts';
import { noticesDuring } from './transaction.ts';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

/** An order that its store cancelled, and the outbox row of its refund. */
async function cancelled(paid: boolean) {
  const { sql } = database;
  const store = await addStoreRow(sql);
  const { orderId, jobs } = await addOrder(sql, store, { driverId: await addDriverRow(sql) });
  if (paid) {
    await openAttempt(sql, orderId);
    const result = { status: 'paid', paymentIntentId: 'pi_1' } as const;
    await recordAttempt(sql, { orderId, attempt: 1 }, result, jobs.charge?.id ?? 0, 'me');
  }
  const ended = await cancelOrder(sql, orderId, { retailerId: store.retailerId }, 'customer_request', 'me');
  const outboxId = ended?.outbox.find(({ queue }) => queue === 'refund')?.id ?? 0;
  const status = async () => (await orderRow(sql, orderId)).payment_status;
  return { orderId, outboxId, status };
}

test.each([
  ['a refund', true, 'refunded', (id: string, job: number) => recordRefund(database.sql, id, 're_1', job, 'me')],
  ['a refused one', true, 'paid', (id: string, job: number) => recordRefundRefused(database.sql, id, 'no', job, 'me')],
  [
    'nothing to give back',
    false,
    'not_charged',
    (id: string, job: number) => recordUncharged(database.sql, id, job, 'me'),
  ],
])(
  '%s is settled once, and told as a detail: it changes nothing about who carries what',
  async (_what, paid, status, settle) => {
    const order = await cancelled(paid);
    const heard = await noticesDuring(database, async () => {
      expect(await settle(order.orderId, order.outboxId)).toMatchObject({ id: order.orderId, status: 'cancelled' });
      expect(await settle(order.orderId, order.outboxId)).toBeNull();
    });
    expect(heard).toEqual([`me:details:${order.orderId}`]);
    expect(await order.status()).toBe(status);
  },
);
