import type { Fragment, Sql } from 'postgres';
import { ACCOUNT_REFUSED } from '../../domain/stripe-declines.ts';
import type { Db } from '../db.ts';
import { isOwedTo } from '../fragments.ts';
import { type ChangedOrder, changeOrder } from '../orders/changes.ts';
import { decided } from './unproven.ts';

/**
 * Whether an order is owed a refund. `in_flight`: not known, as its charge has no recorded result. `paid`: yes.
 * `uncharged`: no, as it was never charged, which is to be recorded. `not_owed`: no, for any other reason: the order
 * did not end before its pickup, its charge was declined, or its refund is recorded, as made or as refused.
 */
export type RefundState =
  | { readonly kind: 'in_flight' | 'uncharged' | 'not_owed' }
  | { readonly kind: 'paid'; readonly paymentIntentId: string; readonly attempt: number };

/** What a refund of the order `o` gives back: Stripe refunds what is left of the payment, where a part was before. */
export const leftToRefund = (sql: Sql): Fragment =>
  sql`greatest(0, o.delivery_fee_cents - stripe_refunded_cents(o.id))`;

/** Judges whether an order is owed a refund. One that is to be made has its row from then on. */
export async function openRefund({ sql }: Db, orderId: string): Promise<RefundState> {
  const [row] = await sql`
    with o as materialized (
      select id, payment_status, charge_id, delivery_fee_cents, status, status in ('cancelled', 'expired') as ended,
        exists (select from payments p where p.order_id = orders.id and p.status = 'sending') as in_flight
      from orders where id = ${orderId}
    ), opened as (
      insert into refunds (order_id, payment_intent_id, amount_cents, reason, status)
      select id, charge_id, ${leftToRefund(sql)}, status, 'sending' from o where ended and payment_status = 'paid'
      on conflict do nothing
    )
    select payment_status, charge_id, ended, in_flight, ${lastAttempt(sql, sql`o`)} as attempt,
      (select f.status = 'refused' from refunds f where f.order_id = o.id order by f.attempt desc limit 1) as refused
    from o`;
  if (!row?.ended || row.refused) return { kind: 'not_owed' };
  if (row.payment_status === 'paid') return { kind: 'paid', paymentIntentId: row.charge_id, attempt: row.attempt };
  if (row.payment_status !== 'processing') return { kind: 'not_owed' };
  return { kind: row.in_flight ? 'in_flight' : 'uncharged' };
}

/** The attempt of the refund of an order that is owed: the first one, but for what an operator had tried again. */
const lastAttempt = (sql: Sql, order: Fragment): Fragment =>
  sql`coalesce((select max(f.attempt) from refunds f where f.order_id = ${order}.id), 1)`;

/** The CTE that settles the refund of `changed`: `, refund as (…)`. */
const settling = (sql: Sql, status: 'refunded' | 'refused', refundId: string | null, code: string | null): Fragment =>
  sql`, refund as (
    insert into refunds (order_id, attempt, payment_intent_id, amount_cents, reason, status, stripe_refund_id,
      failure_code, settled_at)
    select o.id, ${lastAttempt(sql, sql`o`)}, o.charge_id, o.delivery_fee_cents, o.status, ${status}, ${refundId},
      ${code}, now()
    from changed join orders o on o.id = changed.id
    on conflict (order_id, attempt) do update set status = excluded.status, settled_at = excluded.settled_at,
      stripe_refund_id = excluded.stripe_refund_id, failure_code = excluded.failure_code
  )`;

/** Records a refund. Null if it was recorded before; then nothing is written. */
export function recordRefund(
  db: Db,
  orderId: string,
  refundId: string | null,
  outboxId: number,
): Promise<ChangedOrder | null> {
  const { sql } = db;
  const before = sql`job as (
    update outbox set done_at = now() where id = ${outboxId} and ${isOwedTo(sql, sql`outbox`, orderId, 'refund')}
  )`;
  // `refund_id` is for processes of the build of before, which know no rows.
  const update = sql`
    update orders set payment_status = 'refunded', refund_id = ${refundId}, sequence = sequence + 1
    where id = ${orderId} and payment_status = 'paid' and status in ('cancelled', 'expired')`;
  const after = settling(sql, 'refunded', refundId, null);
  return changeOrder(db, update, { type: 'refunded' }, { before, after, notice: 'details' });
}

/**
 * Records that Stripe refused a refund: the store stays charged until the operator refunds it. Null if it was
 * recorded before; then nothing is written.
 */
export function recordRefundRefused(
  db: Db,
  orderId: string,
  { code, says }: { readonly code: string; readonly says?: string | undefined },
  outboxId: number,
): Promise<ChangedOrder | null> {
  const { sql } = db;
  // The order is locked first, as in `lockOrders`.
  const before = sql`
    locked as (
      select id from orders where id = ${orderId} for no key update
    ), job as (
      update outbox set done_at = now(), failure_code = ${code}, failure_says = ${says ?? null} from locked
      where outbox.id = ${outboxId} and ${isOwedTo(sql, sql`outbox`, sql`locked.id`, 'refund')}
      returning order_id
    )`;
  const update = sql`
    update orders set sequence = sequence + 1
    where id in (select order_id from job) and payment_status = 'paid' and status in ('cancelled', 'expired')`;
  const after = settling(sql, 'refused', null, code);
  return changeOrder(db, update, { type: 'refund_failed', data: { code } }, { before, after, notice: 'details' });
}

/** Records that nothing was charged: no attempt, or only declined and put-off ones. Null if one was opened since. */
export function recordUncharged(db: Db, orderId: string, outboxId: number): Promise<ChangedOrder | null> {
  const { sql } = db;
  const update = sql`
    update orders set sequence = sequence + 1, payment_status =
      case when exists (select from payments p where p.order_id = orders.id and p.status = 'declined'
          and p.failure_code is distinct from ${ACCOUNT_REFUSED})
        then 'failed' else 'not_charged' end
    where id = ${orderId} and payment_status = 'processing' and status in ('cancelled', 'expired')
      and not exists (select from payments p where p.order_id = orders.id and p.status in ('sending', 'paid'))`;
  const after = sql`${decided(db)}, job as (
      update outbox b set done_at = now() from changed
      where b.id = ${outboxId} and ${isOwedTo(sql, sql`b`, sql`changed.id`, 'refund')}
    )`;
  return changeOrder(db, update, { type: 'not_charged' }, { after, notice: 'details' });
}
