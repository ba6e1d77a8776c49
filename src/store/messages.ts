import type { Sql } from 'postgres';
import { type ChangedOrder, changeOrder } from './changes.ts';

/** What is needed to text the customer of an order. */
export type OwedText = {
  readonly orderId: string;
  readonly retailerId: string;
  readonly to: string;
  readonly storeName: string;
  readonly trackingToken: string;
  /** How often it was sent before with an unknown outcome; 0 for the first time. */
  readonly earlierSends: number;
  readonly firstSentAt: Date;
  /** It was cancelled or has expired: the customer is not told any more that a delivery comes. */
  readonly orderEnded: boolean;
};

/**
 * Claims the one text of an order before it is sent, so that a second send knows of the first. Null when none is owed:
 * no consent, or its fate is settled.
 */
export async function openText(sql: Sql, orderId: string): Promise<OwedText | null> {
  const [row] = await sql`
    with owed as (
      select o.id, o.retailer_id, o.tracking_token, c.phone, r.name, o.status in ('cancelled', 'expired') as ended
      from orders o join customers c on c.id = o.customer_id join retailers r on r.id = o.retailer_id
      where o.id = ${orderId} and o.sms_status = 'queued' and c.sms_opt_in
    ), opened as (
      insert into messages (order_id, status, sends) select id, 'sending', 0 from owed
      on conflict (order_id) do update set status = messages.status
      returning order_id, sends, sent_at, status
    )
    select owed.*, opened.sends, opened.sent_at from owed join opened on opened.order_id = owed.id
    where opened.status = 'sending'`;
  if (!row) return null;
  return {
    orderId: row.id,
    retailerId: row.retailer_id,
    to: row.phone,
    storeName: row.name,
    trackingToken: row.tracking_token,
    earlierSends: row.sends,
    firstSentAt: row.sent_at,
    orderEnded: row.ended,
  };
}

/** Counts a send right before it happens; false when another worker counted the same one first. */
export async function countSend(sql: Sql, orderId: string, earlierSends: number): Promise<boolean> {
  const rows = await sql`
    update messages set sends = sends + 1
    where order_id = ${orderId} and status = 'sending' and sends = ${earlierSends} returning order_id`;
  return rows.length === 1;
}

/** Takes a counted send back that definitely did not happen. */
export async function uncountSend(sql: Sql, orderId: string): Promise<void> {
  await sql`update messages set sends = sends - 1 where order_id = ${orderId} and status = 'sending' and sends > 0`;
}

export type TextResult =
  | { readonly status: 'sent'; readonly sid: string }
  | { readonly status: 'failed'; readonly failureCode: string };

/** Settles the text of an order; null when it was settled before, and then nothing is written again. */
export function settleText(
  sql: Sql,
  orderId: string,
  result: TextResult,
  outboxId: number,
  origin: string,
): Promise<ChangedOrder | null> {
  const failureCode = result.status === 'failed' ? result.failureCode : null;
  const settled = sql`
    settled as (
      update messages set status = ${result.status}, sid = ${result.status === 'sent' ? result.sid : null},
        failure_code = ${failureCode}
      where order_id = ${orderId} and status = 'sending' returning order_id
    ), job as (
      update outbox set done_at = now(), failure_code = ${failureCode} where id = ${outboxId} and done_at is null
    )`;
  const update = sql`
    update orders set sms_status = ${result.status}, sms_failure_code = ${failureCode}, sequence = sequence + 1
    where id in (select order_id from settled) and sms_status = 'queued'`;
  const event = { type: `sms_${result.status}`, ...(failureCode ? { data: { code: failureCode } } : {}) };
  return changeOrder(sql, update, event, origin, { before: settled, notice: 'details' });
}
