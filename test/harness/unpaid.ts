import type { Sql } from '../../src/postgres/connect.ts';
import { addDriverRow, addOrder, type TestStore } from './orders.ts';
import { openAttempt, recordAttempt } from './vendor-rows.ts';

/** An order with a driver whose charge is under way. */
export async function chargedOrder(sql: Sql, store: TestStore) {
  const { orderId, jobs } = await addOrder(sql, store, { driverId: await addDriverRow(sql) });
  const outboxId = jobs.charge?.id ?? 0;
  /** Records the result of its next attempt. */
  async function settle(status: 'paid' | 'failed' | 'declined', origin = 'test'): Promise<boolean> {
    const attempt = (await openAttempt(sql, orderId))?.attempt ?? 0;
    if (status === 'paid') {
      return recordAttempt(sql, { orderId, attempt }, { status, paymentIntentId: `pi_${orderId}` }, outboxId, origin);
    }
    const result = { status: 'declined', failureCode: 'lost_card', final: status === 'failed' } as const;
    return recordAttempt(sql, { orderId, attempt }, result, outboxId, origin);
  }
  return { orderId, settle };
}

/** Makes so many orders of a store in a row whose charge fails for good; returns their ids. */
export async function failCharges(sql: Sql, store: TestStore, count: number): Promise<string[]> {
  const orders = await Promise.all(Array.from({ length: count }, () => chargedOrder(sql, store)));
  for (const { settle } of orders) await settle('failed');
  return orders.map(({ orderId }) => orderId);
}
