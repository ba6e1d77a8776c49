import { type ChangedOrder, changeOrder } from './changes.ts';
import type { Db } from './db.ts';

/**
 * What an order that ended undelivered has to be refunded. `in_flight`: a charge without a recorded result.
 * `paid`: a charge to refund. `nothing`: no charge, or a declined one. `done`: recorded before.
 */
export type RefundState =
  | { readonly kind: 'in_flight' | 'nothing' | 'done' }
  | { readonly kind: 'paid'; readonly paymentIntentId: string };

/** The refund state of an order; `done` for an order that did not end undelivered before its pickup. */
export async function readRefundState({ sql }: Db, orderId: string): Promise<RefundState> {
  const [row] = await sql`
    select o.payment_status, o.charge_id, o.status in ('cancelled', 'expired') as ended,
      exists (select from payments p where p.order_id = o.id and p.status = 'sending') as in_flight
    from orders o where o.id = ${orderId}`;
  if (!row?.ended) return { kind: 'done' };
  if (row.payment_status === 'paid') return { kind: 'paid', paymentIntentId: row.charge_id };
  if (row.payment_status !== 'processing') return { kind: 'done' };
  return { kind: row.in_flight ? 'in_flight' : 'nothing' };
}

/** Records a refund. Null if it was recorded before; then nothing is written. */
export function recordRefund(
  db: Db,
  orderId: string,
  refundId: string | null,
  outboxId: number,
): Promise<ChangedOrder | null> {
  const { sql } = db;
  const before = sql`job as (
    update outbox set done_at = now() where id = ${outboxId} and done_at is null
  )`;
  const update = sql`
    update orders set payment_status = 'refunded', refund_id = ${refundId}, sequence = sequence + 1
    where id = ${orderId} and payment_status = 'paid' and status in ('cancelled', 'expired')`;
  return changeOrder(db, update, { type: 'refunded' }, { before, notice: 'details' });
}

/**
 * Records that Stripe refused a refund: the store stays charged until the operator refunds it. Null if it was
 * recorded before; then nothing is written.
 */
export function recordRefundRefused(
  db: Db,
  orderId: string,
  code: string,
  outboxId: number,
): Promise<ChangedOrder | null> {
  const { sql } = db;
  // The order is locked first, as in `lockOrders`.
  const before = sql`
    locked as (
      select id from orders where id = ${orderId} for no key update
    ), job as (
      update outbox set done_at = now(), failure_code = ${code} from locked
      where outbox.id = ${outboxId} and order_id = locked.id and done_at is null
      returning order_id
    )`;
  const update = sql`
    update orders set sequence = sequence + 1
    where id in (select order_id from job) and payment_status = 'paid' and status in ('cancelled', 'expired')`;
  return changeOrder(db, update, { type: 'refund_failed', data: { code } }, { before, notice: 'details' });
}

/** Records that nothing was charged: no attempt, or only declined ones. Null if one was opened since. */
export function recordUncharged(db: Db, orderId: string, outboxId: number): Promise<ChangedOrder | null> {
  const { sql, processId } = db;
  const before = sql`job as (
    update outbox set done_at = now() where id = ${outboxId} and done_at is null
  )`;
  const update = sql`
    update orders set sequence = sequence + 1, payment_status =
      case when exists (select from payments p where p.order_id = orders.id and p.status = 'declined')
        then 'failed' else 'not_charged' end
    where id = ${orderId} and payment_status = 'processing' and status in ('cancelled', 'expired')
      and not exists (select from payments p where p.order_id = orders.id and p.status in ('sending', 'paid'))`;
  const after = sql`, under_way as (
      delete from unproven_orders u using changed where u.retailer_id = changed.retailer_id and u.order_id = changed.id
      returning pg_notify('sameday', ${processId} || ':retailer:' || u.retailer_id)
    )`;
  return changeOrder(db, update, { type: 'not_charged' }, { before, after, notice: 'details' });
}
