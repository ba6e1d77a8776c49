import type { Sql } from '../../src/postgres/connect.ts';
import type { PaymentAttempt, PaymentResult } from '../../src/store/payments/payments.ts';
import type { OwedText, SendToCount, TextResult } from '../../src/store/texts/messages.ts';
import { storeOf } from './store.ts';

/** The sending number of every test. */
export const SENDER = '+15005550006';

/** The statements for many charges and texts, called for one order. */
export async function openAttempt(sql: Sql, orderId: string, maxAttempts = 3): Promise<PaymentAttempt | null> {
  return (await storeOf(sql).openPaymentAttempts([orderId], maxAttempts)).get(orderId) ?? null;
}

/** Whether the result was written. */
export async function recordAttempt(
  sql: Sql,
  { orderId, attempt }: { readonly orderId: string; readonly attempt: number },
  result: PaymentResult,
  outboxId: number,
  origin = 'test',
): Promise<boolean> {
  if (result.status === 'declined') {
    return (await storeOf(sql, origin).recordDeclined({ orderId, attempt }, result, outboxId)) !== null;
  }
  const { paymentIntentId } = result;
  return (await storeOf(sql, origin).recordPaid([{ orderId, attempt, paymentIntentId, outboxId }])).has(orderId);
}

export async function openText(sql: Sql, orderId: string): Promise<OwedText | null> {
  return (await storeOf(sql).openTexts([orderId], { perPhone: 0, perStore: 0 }, SENDER)).get(orderId) ?? null;
}

export async function countSend(sql: Sql, send: Omit<SendToCount, 'kind'>): Promise<boolean> {
  return (await storeOf(sql).countSends('sms', [{ kind: 'tracking', ...send }])).has(send.orderId);
}

/** Whether the result was written. */
export async function recordText(
  sql: Sql,
  orderId: string,
  result: TextResult,
  outboxId: number,
  origin = 'test',
): Promise<boolean> {
  return (await storeOf(sql, origin).recordTexts('sms', [{ orderId, kind: 'tracking', result, outboxId }], SENDER)).has(
    orderId,
  );
}
