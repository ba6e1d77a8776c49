import type { Sql } from '../../src/postgres/connect.ts';
import {
  countSends,
  type OwedText,
  openTexts,
  recordTexts,
  type SendToCount,
  type TextResult,
} from '../../src/store/messages.ts';
import {
  openPaymentAttempts,
  type PaymentAttempt,
  type PaymentResult,
  recordDeclined,
  recordPaid,
} from '../../src/store/payments.ts';

/** The statements for many charges and texts, for one order. */
export async function openAttempt(sql: Sql, orderId: string, maxAttempts = 3): Promise<PaymentAttempt | null> {
  return (await openPaymentAttempts(sql, [orderId], maxAttempts)).get(orderId) ?? null;
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
    return (await recordDeclined(sql, { orderId, attempt }, result, outboxId, origin)) !== null;
  }
  const { paymentIntentId } = result;
  return (await recordPaid(sql, [{ orderId, attempt, paymentIntentId, outboxId }], origin)).has(orderId);
}

export async function openText(sql: Sql, orderId: string): Promise<OwedText | null> {
  return (await openTexts(sql, [orderId])).get(orderId) ?? null;
}

export async function countSend(sql: Sql, send: SendToCount): Promise<boolean> {
  return (await countSends(sql, [send])).has(send.orderId);
}

/** Whether the result was written. */
export async function recordText(
  sql: Sql,
  orderId: string,
  result: TextResult,
  outboxId: number,
  origin = 'test',
): Promise<boolean> {
  return (await recordTexts(sql, [{ orderId, result, outboxId }], origin)).has(orderId);
}
