import type { Fragment, Sql } from 'postgres';
import type { PaymentStatus } from '../../domain/order.ts';
import { ACCOUNT_REFUSED } from '../../domain/stripe-declines.ts';
import type { Db } from '../db.ts';
import { isOwedTo, rowsOf } from '../fragments.ts';
import { type ChangedOrder, changeOrder, changeOrders, lockOrders, refundIsDue } from '../orders/changes.ts';
import { cardOf, waitsOfCards } from './card-tries.ts';
import { countUnpaid, lockStore, lockUnproven, proveAgain } from './unproven.ts';

/** An attempt to charge an order, stored before it is sent. It is sent again unchanged. */
export type PaymentAttempt = {
  readonly orderId: string;
  readonly retailerId: string;
  readonly attempt: number;
  readonly amountCents: number;
  readonly stripeCustomerId: string | null;
  readonly stripePaymentMethodId: string | null;
  /** Seconds since this attempt was first sent; 0 for a new one. */
  readonly ageSeconds: number;
  /** Whether no other attempt may follow it. */
  readonly isLast: boolean;
  /**
   * Seconds for which the card may not be tried, as its network counts too many declines; then no attempt was opened.
   * Null where it may, as a first attempt of an order always may.
   */
  readonly cardWaitSeconds: number | null;
  /** Seconds left of the pause after Stripe refused the account; then no attempt was opened. 0 for none. */
  readonly pauseSeconds: number;
};

/** The pause of a charge that was put off. One that failed in place of that is tried again at once if asked for. */
export type PutOffPause = {
  readonly seconds: number;
  /** The first attempt that is not put off any more. */
  readonly endsAtAttempt: number;
};

const NO_PAUSE: PutOffPause = { seconds: 0, endsAtAttempt: 0 };

/**
 * Opens the attempts to send now, by order: the attempt without a recorded result, else the one after the
 * last decline. An order that owes nothing is missing: it was never assigned, its result is recorded, or its
 * attempts are used up.
 *
 * @param maxAttempts attempts of an order, the first one included, unless an operator had it tried again
 * @param pause before which no attempt follows one that was put off, however its job came
 */
export async function openPaymentAttempts(
  { sql }: Db,
  orderIds: readonly string[],
  maxAttempts: number,
  pause: PutOffPause = NO_PAUSE,
): Promise<Map<string, PaymentAttempt>> {
  const opened = new Map<string, PaymentAttempt>();
  let undecided = orderIds;
  // A statement that waits for a lock goes on with the snapshot from its start: it sees an attempt recorded
  // meanwhile as unrecorded, and misses one opened meanwhile. The next round reads them again.
  for (let round = 0; round <= maxAttempts; round++) {
    const rows = await insertAttempts(sql, undecided, maxAttempts, pause);
    for (const { status, ...attempt } of rows) {
      const isDecided = status === 'sending' || attempt.cardWaitSeconds !== null || attempt.pauseSeconds > 0;
      if (isDecided) opened.set(attempt.orderId, attempt);
    }
    const found = new Set(rows.map(({ orderId }) => orderId));
    const missing = undecided.filter((id) => !found.has(id));
    const openedElsewhere = missing.length > 0 ? await findSending(sql, missing) : [];
    undecided = [...[...found].filter((id) => !opened.has(id)), ...openedElsewhere];
    if (undecided.length === 0) return opened;
  }
  throw new Error('payment attempts changed in every round');
}

async function findSending(sql: Sql, orderIds: readonly string[]): Promise<string[]> {
  const rows = await sql`
    select order_id from payments where order_id = any(${[...orderIds]}::uuid[]) and status = 'sending'`;
  return rows.map((row) => row.order_id);
}

/** An attempt and the status of its row. */
type AttemptRow = PaymentAttempt & { readonly status: string | null };

function insertAttempts(
  sql: Sql,
  orderIds: readonly string[],
  maxAttempts: number,
  pause: PutOffPause,
): Promise<AttemptRow[]> {
  const retries = sql`
    select id, stripe_payment_method_id from owed
    where attempt > 1 and attempt <= allowed and not is_sending and not is_first_try and pause_seconds = 0`;
  return sql<AttemptRow[]>`
    with owed as materialized (
      select o.id, o.retailer_id, o.delivery_fee_cents, r.stripe_customer_id,
        ${cardOf(sql)} as stripe_payment_method_id,
        coalesce(o.payment_attempts_allowed, ${maxAttempts}) as allowed,
        coalesce(p.last, 0) + case when p.is_sending then 0 else 1 end as attempt, p.is_sending, p.is_first_try,
        case when p.was_put_off and not p.is_sending and p.last < ${pause.endsAtAttempt}::int
          then greatest(0, extract(epoch from p.settled_at - now()) + ${pause.seconds}::float8)
          else 0 end::float8 as pause_seconds
      from orders o join retailers r on r.id = o.retailer_id cross join lateral (
        select max(attempt) as last, max(settled_at) as settled_at,
          coalesce(bool_or(status = 'sending'), false) as is_sending,
          coalesce((array_agg(failure_code order by attempt desc))[1] = ${ACCOUNT_REFUSED}, false) as was_put_off,
          -- No bank was asked for any of them: the next attempt is the first try of the card.
          coalesce(bool_and(failure_code is not distinct from ${ACCOUNT_REFUSED}), false) as is_first_try
        from payments where order_id = o.id
      ) p
      where o.id = any(${[...orderIds]}::uuid[]) and o.payment_status = 'processing'
        -- An ended order is not charged anew, but a charge in flight is followed to its end.
        and (o.status not in ('cancelled', 'expired') or p.is_sending)
      order by o.id
      -- A statement that ends the order waits for this lock, so that its refund finds the attempt.
      for no key update of o
    ), ${waitsOfCards(sql, retries)}, opened as (
      insert into payments
        (order_id, attempt, amount_cents, stripe_customer_id, stripe_payment_method_id, status, failure_code)
      -- Until it has a result of its own it counts as no other try of its card.
      select id, attempt, delivery_fee_cents, stripe_customer_id, stripe_payment_method_id, 'sending',
        case when is_first_try then ${ACCOUNT_REFUSED} end
      from owed
      where attempt <= allowed and pause_seconds = 0 and id not in (select id from cards)
      on conflict (order_id, attempt) do update set status = payments.status
      returning order_id, attempt, amount_cents, stripe_customer_id, stripe_payment_method_id, status, first_sent_at
    )
    select owed.id as "orderId", owed.attempt, owed.retailer_id as "retailerId", owed.attempt >= owed.allowed as "isLast",
      coalesce(amount_cents, owed.delivery_fee_cents) as "amountCents", opened.stripe_customer_id as "stripeCustomerId",
      opened.stripe_payment_method_id as "stripePaymentMethodId", opened.status,
      coalesce(extract(epoch from now() - first_sent_at), 0)::float8 as "ageSeconds",
      cards.wait_seconds as "cardWaitSeconds", owed.pause_seconds as "pauseSeconds"
    from owed left join opened on opened.order_id = owed.id left join cards on cards.id = owed.id
    where opened.order_id is not null or cards.id is not null or owed.pause_seconds > 0`;
}

/** The payment statuses of orders, by their ids. */
export async function loadPaymentStatuses(
  { sql }: Db,
  orderIds: readonly string[],
): Promise<Map<string, PaymentStatus>> {
  const rows = await sql`select id, payment_status from orders where id = any(${[...orderIds]}::uuid[])`;
  return new Map(rows.map((row) => [row.id, row.payment_status]));
}

export type PaymentResult =
  | { readonly status: 'paid'; readonly paymentIntentId: string }
  | {
      readonly status: 'declined';
      readonly failureCode: string;
      /** What the vendor says of it. */
      readonly says?: string | undefined;
      readonly final: boolean;
      /** Time after which a final one is tried again; null for never. */
      readonly retryAfterSeconds?: number | null;
    };

/** An attempt that Stripe charged. */
export type PaidAttempt = {
  readonly orderId: string;
  readonly attempt: number;
  readonly paymentIntentId: string;
  readonly outboxId: number;
};

const PAID = rowsOf<PaidAttempt>([
  ['order_id', 'uuid', ({ orderId }) => orderId],
  ['attempt', 'int4', ({ attempt }) => attempt],
  ['intent', 'text', ({ paymentIntentId }) => paymentIntentId],
  ['outbox_id', 'int8', ({ outboxId }) => outboxId],
]);

/**
 * Records paid attempts: each attempt, its order's payment status, the event, the outbox row and the notice,
 * in one statement. A store whose last charge had failed is proven again.
 *
 * @param paid at most one attempt an order
 * @returns the ids of the written orders; for a missing one a result was recorded before, and nothing was
 *   written
 */
export function recordPaid(db: Db, paid: readonly PaidAttempt[]): Promise<Map<string, true>> {
  const { sql } = db;
  const orderIds = paid.map(({ orderId }) => orderId);
  const recorded = sql`
    input as (${PAID(sql, paid)} order by outbox_id
    ), ${lockOrders(sql, orderIds)}, ${lockUnproven(sql)}, recorded as (
      update payments p set status = 'paid', settled_at = now(), failure_code = null, payment_intent_id = i.intent
      from input i join locked on locked.id = i.order_id
      where p.order_id = i.order_id and p.attempt = i.attempt and p.status = 'sending'
      returning p.order_id, i.intent
    ), job as (
      update outbox b set done_at = now() from input i
      where b.id = i.outbox_id and ${isOwedTo(sql, sql`b`, sql`i.order_id`, 'charge')}
        -- An attempt that another worker put off meanwhile is owed the next one, from this row.
        and i.order_id = any (array(select order_id from recorded))
    )`;
  const update = sql`
    update orders o set payment_status = 'paid', payment_failure_code = null, charge_id = s.intent,
      sequence = o.sequence + 1
    from recorded s where o.id = s.order_id and o.payment_status = 'processing'
      and (select count(*) from unproven) >= 0`;
  const events = sql`select id, sequence, 'payment_paid', null::jsonb from changed`;
  return changeOrders(db, recorded, update, events, ':paid', sql`${proveAgain(db)}${refundIsDue(sql)}`);
}

/**
 * Records a declined attempt in the same way. Null if its result was recorded before. A decline that is not
 * final leaves the order `processing` and its outbox row owed. A final one counts as an unpaid order of its
 * store, which is unproven from then on, with all its orders whose charge has no result yet; that of an order
 * which was cancelled or has expired counts as nothing, since it is owed no more. One that may pass hours later
 * is final too, and tried again then: meanwhile the store may give another card.
 *
 * @param attempt null for a charge that was not tried, as its card must wait; this uses up no attempt
 */
export function recordDeclined(
  db: Db,
  { orderId, attempt }: { readonly orderId: string; readonly attempt: number | null },
  {
    failureCode,
    says,
    final,
    retryAfterSeconds = null,
  }: Omit<Extract<PaymentResult, { status: 'declined' }>, 'status'>,
  outboxId: number,
): Promise<ChangedOrder | null> {
  const { sql } = db;
  const paymentStatus: PaymentStatus = final ? 'failed' : 'processing';
  const update = sql`
    update orders set payment_status = ${paymentStatus}, payment_failure_code = ${failureCode}, sequence = sequence + 1
    where id in (select order_id from recorded) and payment_status = 'processing'
      ${final ? sql`and (select count(*) from store) >= 0` : sql``}`;
  const tried =
    attempt === null
      ? sql`
      select id as order_id from locked where not is_being_charged(id)`
      : sql`
      update payments set status = 'declined', settled_at = now(), failure_code = ${failureCode}
      from locked
      where order_id = locked.id and attempt = ${attempt} and status = 'sending'
      returning order_id`;
  const recorded = sql`
    ${lockOrders(sql, [orderId])}, recorded as (${tried}
    ), job as (
      update outbox set done_at = now(), failure_code = ${failureCode}, failure_says = ${says ?? null}
      where id = ${outboxId} and ${isOwedTo(sql, sql`outbox`, orderId, 'charge')} and ${final}
        -- Another worker that sends the charge meanwhile, or put it off, works from this row.
        and exists (select from recorded)
    )${final ? lockStore(sql) : sql``}`;
  const event = { type: final ? 'payment_failed' : 'payment_declined' };
  const data = sql`jsonb_strip_nulls(jsonb_build_object('code', ${failureCode}::text, 'retry_after_seconds',
    case when ${final} and ${isStillOwed(sql)} then ${retryAfterSeconds}::int end))`;
  const owed = final ? sql`${countUnpaid(db)}${tryLater(sql, retryAfterSeconds)}` : sql``;
  const after = sql`${owed}${refundIsDue(sql)}`;
  return changeOrder(db, update, event, { before: recorded, data, after, notice: 'details' });
}

/**
 * Notes that Stripe repeats a failure under the key of an attempt.
 *
 * @returns seconds since that was noted first
 */
export async function noteRepeatedFailure(
  { sql }: Db,
  { orderId, attempt }: Pick<PaymentAttempt, 'orderId' | 'attempt'>,
): Promise<number> {
  const [row] = await sql`
    update payments set failure_repeated_at = coalesce(failure_repeated_at, now())
    where order_id = ${orderId} and attempt = ${attempt}
    returning extract(epoch from now() - failure_repeated_at)::float8 as seconds`;
  return row?.seconds ?? 0;
}

/**
 * Puts a charge off that Stripe refused for the sake of the account, and did not make: the attempt has ended, and the
 * next one, with another key, is opened once the pause is over. It uses up none of the order's attempts, and is no
 * event: the charge is under way as before. The pause is the lease of the outbox row, which stays owed, since a queue's
 * own job may come early; one that does opens no attempt.
 *
 * @param pause.allowed attempts of an order that has none of its own number
 * @returns false where the order has ended, which is not charged any more; true also where another job was faster
 */
export async function putOffCharge(
  { sql }: Db,
  { orderId, attempt }: Pick<PaymentAttempt, 'orderId' | 'attempt'>,
  outboxId: number,
  pause: { readonly seconds: number; readonly allowed: number },
): Promise<boolean> {
  const [row] = await sql`
    with locked as materialized (
      select id, status in ('cancelled', 'expired') as has_ended from orders where id = ${orderId} for no key update
    ), ended as (
      update payments p set status = 'declined', settled_at = now(), failure_code = ${ACCOUNT_REFUSED}
      from locked where p.order_id = locked.id and not locked.has_ended
        and p.attempt = ${attempt} and p.status = 'sending'
      returning p.order_id
    ), allowed as (
      update orders o
      set payment_attempts_allowed = coalesce(o.payment_attempts_allowed, ${pause.allowed}::int) + 1
      from ended where o.id = ended.order_id
    ), put_off as (
      -- A mark of the hand-over, which may come later, leaves a row alone that has been relayed since.
      update outbox b set relays = relays + 1, lease_until = now() + make_interval(secs => ${pause.seconds})
      from ended where b.id = ${outboxId} and ${isOwedTo(sql, sql`b`, orderId, 'charge')}
    )
    select has_ended from locked`;
  return row?.has_ended === false;
}

/** Whether an order in `changed` whose charge failed is tried again by itself. */
const isStillOwed = (sql: Sql): Fragment => sql`changed.status not in ('cancelled', 'expired')`;

/** The CTE that has the orders in `changed` charged again at a later time; `, later as (…)`. */
const tryLater = (sql: Sql, afterSeconds: number | null): Fragment =>
  afterSeconds === null
    ? sql``
    : sql`, later as (
    insert into charge_retries (order_id, due_at)
    select id, now() + make_interval(secs => ${afterSeconds}) from changed where ${isStillOwed(sql)}
    on conflict (order_id) do update set due_at = excluded.due_at
  )`;
