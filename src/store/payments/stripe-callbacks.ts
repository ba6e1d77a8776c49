import type { Fragment, Sql } from 'postgres';
import type { Db } from '../db.ts';
import { isOwed } from '../fragments.ts';
import { type ChangedOrder, changeOrder, lockOrders, refundIsDue, refundJob } from '../orders/changes.ts';
import { lockUnproven, proveAgain } from './unproven.ts';

/*
 * What Stripe's callbacks write. Each statement can run twice, and the same statements in any order leave the
 * same rows, since callbacks come late, doubled and out of order.
 */

/** What is known of an order when Stripe tells of its payment. */
export type KnownPayment = {
  readonly paymentStatus: string;
  readonly chargeId: string | null;
  /** The attempt under way. */
  readonly sendingAttempt: number | null;
  /** Cents of the refunds that Stripe told of and that did not fail. */
  readonly refundedCents: number;
};

/** The code of a refund that Stripe made and the bank sent back. */
const FAILED_LATER = 'failed_later';

/** The payment of an order; null for an unknown id. */
export async function findPayment({ sql }: Db, orderId: string): Promise<KnownPayment | null> {
  const [row] = await sql`
    select o.payment_status, o.charge_id,
      (select max(attempt) from payments p where p.order_id = o.id and p.status = 'sending') as sending_attempt,
      (select coalesce(sum(amount_cents), 0)::int from stripe_refunds f where f.order_id = o.id and f.status <> 'failed')
        as refunded_cents
    from orders o where o.id = ${orderId} and o.status <> 'void'`;
  if (!row) return null;
  const { payment_status: paymentStatus, charge_id: chargeId, sending_attempt: sendingAttempt } = row;
  return { paymentStatus, chargeId, sendingAttempt, refundedCents: row.refunded_cents };
}

/**
 * Records a charge that Stripe made, for an order that is not known to be paid: one whose result is missing, that
 * counts as failed, or that ended as not charged after its attempts were put off. The attempt is the one under
 * way, else the last one. An order that ended undelivered is owed its refund from then on. Null where the order
 * has no attempt of this amount, or was paid before.
 */
export function recordLatePaid(
  db: Db,
  payment: { readonly orderId: string; readonly paymentIntentId: string; readonly amountCents: number },
): Promise<ChangedOrder | null> {
  const { sql } = db;
  const { orderId, paymentIntentId, amountCents } = payment;
  const before = sql`
    ${lockOrders(sql, [orderId])}, ${lockUnproven(sql)}, recorded as (
      update payments p set status = 'paid', settled_at = now(), failure_code = null,
        payment_intent_id = ${paymentIntentId}
      from locked
      where p.order_id = locked.id and p.status in ('sending', 'declined') and p.amount_cents = ${amountCents}
        and not exists (select from payments q where q.order_id = locked.id and q.status = 'paid')
        and p.attempt = (select attempt from payments q where q.order_id = locked.id
                         order by q.status = 'sending' desc, attempt desc limit 1)
      returning p.order_id
    ), job as (
      update outbox b set done_at = now() from recorded
      where b.order_id = recorded.order_id and b.queue = 'charge' and ${isOwed(sql, sql`b`)}
    )`;
  const update = sql`
    update orders set payment_status = 'paid', payment_failure_code = null, charge_id = ${paymentIntentId},
      sequence = sequence + 1
    where id in (select order_id from recorded) and payment_status in ('processing', 'failed', 'not_charged')
      and (select count(*) from unproven) >= 0`;
  const jobs = refundJob(sql, sql`changed.status in ('cancelled', 'expired')`);
  // A refund that waited for the charge is due too. Of two jobs the later one finds the refund made, or refused.
  const after = sql`${proveAgain(db)}${refundIsDue(sql)}`;
  return changeOrder(db, update, { type: 'payment_paid' }, { before, jobs, after, notice: 'details' });
}

/**
 * Has the charge of an order looked at again at once, if its attempt has been under way for `lateSeconds`: a
 * worker asks Stripe under the same key what became of it. A younger one is just being asked.
 *
 * @returns whether there was one
 */
export async function askAgain({ sql, processId }: Db, orderId: string, lateSeconds: number): Promise<boolean> {
  const rows = await sql`
    with late as (
      update outbox b set lease_until = now()
      where b.order_id = ${orderId} and b.queue = 'charge' and ${isOwed(sql, sql`b`)} and exists (
        select from payments p where p.order_id = b.order_id and p.status = 'sending'
          and p.first_sent_at <= now() - make_interval(secs => ${lateSeconds}))
      returning id
    )
    select pg_notify('sameday', ${processId} || ':jobs:' || count(*)) from late having count(*) > 0`;
  return rows.length > 0;
}

export type StripeRefund = {
  readonly refundId: string;
  readonly amountCents: number;
  readonly status: 'pending' | 'succeeded' | 'failed';
};

/**
 * Notes a refund that Stripe told of. One of a part of the fee is an event of the order, unless it is the rest that
 * the order's own refund gives back. One that failed is an event too; if the order then counts as refunded and is not,
 * it counts as paid again, and what was to give its fee back after its end is left to the operator as a failed job.
 * Null where no event was written.
 */
export function noteStripeRefund(
  db: Db,
  orderId: string,
  { refundId, amountCents, status }: StripeRefund,
): Promise<ChangedOrder | null> {
  const { sql } = db;
  const before = sql`
    ${lockOrders(sql, [orderId])}, noted as (
      insert into stripe_refunds as f (refund_id, order_id, amount_cents, status)
      select ${refundId}::text, id, ${amountCents}::int, ${status}::text from locked
      on conflict (refund_id) do update set status = excluded.status, noted_at = now()
      where array_position('{pending,succeeded,failed}'::text[], excluded.status)
          > array_position('{pending,succeeded,failed}'::text[], f.status)
      -- Of an insert with a conflict clause only a row that was there before has an xmax.
      returning order_id, f.xmax = 0 as is_new
    )`;
  if (status !== 'failed') {
    const update = sql`
      update orders set sequence = sequence + 1
      where id in (select order_id from noted where is_new) and ${amountCents} < delivery_fee_cents
        and not exists (
          select from refunds f
          where f.order_id = orders.id and f.status <> 'refused' and f.amount_cents = ${amountCents})`;
    const event = { type: 'partly_refunded', data: { refund_id: refundId, amount_cents: amountCents } };
    return changeOrder(db, update, event, { before, notice: 'details' });
  }
  const isMissing = sql`payment_status = 'refunded' and delivery_fee_cents > (
    select coalesce(sum(amount_cents), 0) from stripe_refunds f
    where f.order_id = orders.id and f.status <> 'failed' and f.refund_id <> ${refundId})`;
  const update = sql`
    update orders set sequence = sequence + 1,
      payment_status = case when ${isMissing} then 'paid' else payment_status end,
      refund_id = case when ${isMissing} then null else refund_id end
    where id in (select order_id from noted)`;
  // Of an order that ended when it was refunded already, none was made by a job.
  const isOwed = sql`changed.status in ('cancelled', 'expired') and changed.payment_status = 'paid'
    and not exists (select from refunds f where f.order_id = changed.id)`;
  const jobs = refundJob(sql, isOwed);
  const event = { type: 'refund_failed', data: { code: FAILED_LATER, refund_id: refundId } };
  return changeOrder(db, update, event, { before, jobs, after: refuseLater(sql), notice: 'details' });
}

/**
 * The CTEs that make the refund of `changed` a refused one, if the order counted as refunded by it: `, refused as (…)`.
 * Its own job is done and may be deleted, so the failed one is another, in place of those from before it was made.
 */
const refuseLater = (sql: Sql): Fragment => sql`, refused as (
    update refunds set status = 'refused', failure_code = ${FAILED_LATER}, settled_at = now() from changed
    where refunds.order_id = changed.id and refunds.status = 'refunded' and changed.payment_status = 'paid'
    returning refunds.order_id
  ), replaced as (
    update outbox b set settled_at = now() from refused
    where b.order_id = refused.order_id and b.queue = 'refund' and b.failure_code is not null and b.settled_at is null
  ), given_up as (
    insert into outbox (queue, order_id, retailer_id, lease_until, done_at, failure_code)
    select 'refund', id, retailer_id, now(), now(), ${FAILED_LATER} from changed
    where id in (select order_id from refused)
  )`;

/**
 * Makes a paid order refunded if what Stripe gave back is the whole fee. To be called after
 * {@link noteStripeRefund}, whose commits it has to see, also those that it waits for: a refund may fail at the
 * same moment. Null where it is not, or was refunded before.
 */
export function settleStripeRefunds(db: Db, orderId: string): Promise<ChangedOrder | null> {
  const { sql } = db;
  // Of an order that ended undelivered, a trigger on `refund_id` writes the row in `refunds`.
  const update = sql`
    update orders set payment_status = 'refunded', sequence = sequence + 1, refund_id = (
      select refund_id from stripe_refunds f where f.order_id = orders.id and f.status <> 'failed'
      order by noted_at desc, refund_id desc limit 1)
    where id = ${orderId} and payment_status = 'paid' and delivery_fee_cents <= stripe_refunded_cents(id)`;
  return changeOrder(db, update, { type: 'refunded' }, { notice: 'details' });
}

export type StripeDispute = {
  readonly disputeId: string;
  readonly amountCents: number;
  readonly reason: string;
  /** `won`: the operator keeps the fee. */
  readonly status: 'open' | 'won' | 'lost';
};

/**
 * Notes a dispute. While it is open, and when it is lost, the payout of its order is held, if it is not paid
 * out; one that is won lets it go, by triggers. What Stripe said last holds, also after a closing, as a bank may
 * decide anew and a loss may be appealed; of two events of one second the one that closes. Null for an unknown order,
 * and where nothing changes.
 *
 * @param toldAt when Stripe made the event, in whole seconds
 */
export function noteDispute(
  db: Db,
  orderId: string,
  { disputeId, amountCents, reason, status }: StripeDispute,
  toldAt: Date,
): Promise<ChangedOrder | null> {
  const { sql } = db;
  const lastTold = sql`coalesce(d.told_at, date_trunc('second', coalesce(d.closed_at, d.noted_at)))`;
  const before = sql`
    ${lockOrders(sql, [orderId])}, noted as (
      insert into disputes as d (dispute_id, order_id, amount_cents, reason, status, closed_at, told_at)
      select ${disputeId}::text, id, ${amountCents}::int, ${reason}::text, ${status}::text,
        case when ${status}::text <> 'open' then now() end, ${toldAt}::timestamptz
      from locked
      on conflict (dispute_id) do update
      set status = excluded.status, closed_at = excluded.closed_at, told_at = excluded.told_at
      where d.status <> excluded.status and (excluded.told_at > ${lastTold}
        or (excluded.told_at = ${lastTold} and excluded.status <> 'open'))
      returning order_id
    ), repeated as (
      -- So that what is older than this news, and comes after it, changes nothing.
      update disputes d set told_at = ${toldAt}::timestamptz
      where dispute_id = ${disputeId} and status = ${status} and ${lastTold} < ${toldAt}::timestamptz
    )`;
  const update = sql`
    update orders set sequence = sequence + 1 where id in (select order_id from noted)`;
  const opened = { type: 'disputed', data: { dispute_id: disputeId, code: reason, amount_cents: amountCents } };
  const closed = { type: 'dispute_closed', data: { dispute_id: disputeId, outcome: status } };
  return changeOrder(db, update, status === 'open' ? opened : closed, { before, notice: 'details' });
}
