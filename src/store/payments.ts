import type { Row, Sql } from 'postgres';
import type { PaymentStatus } from '../domain/order.ts';
import { type ChangedOrder, changeOrder } from './changes.ts';

/** What one attempt to charge an order sends; stored before it is sent, and sent again unchanged. */
export type PaymentAttempt = {
  readonly orderId: string;
  readonly retailerId: string;
  readonly attempt: number;
  readonly amountCents: number;
  readonly stripeCustomerId: string | null;
  readonly stripePaymentMethodId: string | null;
  /** Seconds since this attempt was first sent; 0 for a new one. */
  readonly ageSeconds: number;
};

/**
 * Opens the attempt to send now: the one still unsettled, or else the next after the last decline. Null when nothing
 * is owed: the order was never assigned, is settled, or has used up its attempts.
 */
export async function openPaymentAttempt(
  sql: Sql,
  orderId: string,
  maxAttempts: number,
): Promise<PaymentAttempt | null> {
  // A statement that waited for another worker, or for whoever ends the order, still sees the attempts as they were when
  // it began: one settled meanwhile as being sent, one opened meanwhile not at all. Then a new look tells what is owed.
  for (let look = 0; look <= maxAttempts; look++) {
    const row = await insertAttempt(sql, orderId, maxAttempts);
    if (row?.status === 'sending') return toAttempt(row);
    if (!row && !(await isSending(sql, orderId))) return null;
  }
  throw new Error('attempts changed each time they were looked at');
}

async function isSending(sql: Sql, orderId: string): Promise<boolean> {
  const rows = await sql`select from payments where order_id = ${orderId} and status = 'sending'`;
  return rows.length > 0;
}

async function insertAttempt(sql: Sql, orderId: string, maxAttempts: number): Promise<Row | undefined> {
  const [row] = await sql`
    with owed as (
      select o.id, o.retailer_id, o.delivery_fee_cents, r.stripe_customer_id, r.stripe_payment_method_id,
        coalesce((select max(attempt) from payments p where p.order_id = o.id), 0)
          + case when exists (select from payments p where p.order_id = o.id and p.status = 'sending') then 0 else 1 end
          as attempt
      from orders o join retailers r on r.id = o.retailer_id
      where o.id = ${orderId} and o.payment_status = 'processing'
        -- An order that has ended is not charged anew, but a charge in flight is still followed to its end.
        and (o.status not in ('cancelled', 'expired')
             or exists (select from payments p where p.order_id = o.id and p.status = 'sending'))
      -- Whoever ends the order waits for this row or is seen by it, so a refund finds the attempt.
      for no key update of o
    )
    insert into payments (order_id, attempt, amount_cents, stripe_customer_id, stripe_payment_method_id, status)
    select id, attempt, delivery_fee_cents, stripe_customer_id, stripe_payment_method_id, 'sending' from owed
    where attempt <= ${maxAttempts}
    on conflict (order_id, attempt) do update set status = payments.status
    returning order_id, attempt, amount_cents, stripe_customer_id, stripe_payment_method_id, status,
      (select retailer_id from owed) as retailer_id, extract(epoch from now() - first_sent_at)::float8 as age`;
  return row;
}

function toAttempt(row: Row): PaymentAttempt {
  return {
    orderId: row.order_id,
    retailerId: row.retailer_id,
    attempt: row.attempt,
    amountCents: row.amount_cents,
    stripeCustomerId: row.stripe_customer_id,
    stripePaymentMethodId: row.stripe_payment_method_id,
    ageSeconds: row.age,
  };
}

/** How the payments of these orders stand, by the orders' ids. */
export async function loadPaymentStatuses(sql: Sql, orderIds: readonly string[]): Promise<Map<string, PaymentStatus>> {
  const rows = await sql`select id, payment_status from orders where id = any(${[...orderIds]}::uuid[])`;
  return new Map(rows.map((row) => [row.id, row.payment_status]));
}

export type PaymentResult =
  | { readonly status: 'paid'; readonly paymentIntentId: string }
  | { readonly status: 'declined'; readonly failureCode: string; readonly final: boolean };

/**
 * Settles an attempt: the attempt, the order's payment status, the event, the outbox row and the notice, in one
 * statement. Null when it was settled before; then nothing is written again. A decline that is not final leaves the
 * order `processing` and its outbox row owed.
 */
export function settlePayment(
  sql: Sql,
  attempt: { readonly orderId: string; readonly attempt: number },
  result: PaymentResult,
  outboxId: number,
  origin: string,
): Promise<ChangedOrder | null> {
  const paid = result.status === 'paid';
  const failureCode = paid ? null : result.failureCode;
  const paymentStatus: PaymentStatus = paid ? 'paid' : result.final ? 'failed' : 'processing';
  const done = paymentStatus !== 'processing';
  const update = sql`
    update orders set payment_status = ${paymentStatus}, payment_failure_code = ${failureCode},
      charge_id = coalesce(${paid ? result.paymentIntentId : null}, charge_id), sequence = sequence + 1
    where id in (
      select order_id from settled
    ) and payment_status = 'processing'`;
  // The order is locked first, as by whoever opens an attempt; the other way round two workers deadlock.
  const settled = sql`
    locked as (
      select id from orders where id = ${attempt.orderId} for no key update
    ), settled as (
      update payments set status = ${result.status}, settled_at = now(), failure_code = ${failureCode},
        payment_intent_id = ${paid ? result.paymentIntentId : null}
      from locked
      where order_id = locked.id and attempt = ${attempt.attempt} and status = 'sending'
      returning order_id
    ), job as (
      update outbox set done_at = now(), failure_code = ${failureCode}
      where id = ${outboxId} and done_at is null and ${done}
    )`;
  const event = paid ? 'payment_paid' : result.final ? 'payment_failed' : 'payment_declined';
  return changeOrder(sql, update, { type: event, ...(paid ? {} : { data: { code: result.failureCode } }) }, origin, {
    before: settled,
    notice: 'details',
  });
}
