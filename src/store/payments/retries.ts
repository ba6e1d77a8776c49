import type { Fragment, Sql } from 'postgres';
import type { OrderStatus, PaymentStatus } from '../../domain/order.ts';
import type { Db } from '../db.ts';
import { type ChangedOrder, changeAlike } from '../orders/changes.ts';
import { cardOf, waitsOfCards } from './card-tries.ts';
import { lockUnproven, retailerNotice } from './unproven.ts';

/**
 * Failed charges to try again: that of one order, or those of a store from an order on. `byStore`: its store
 * asks for it, which may do so `most` times for an order.
 */
export type ChargesToRetry =
  | { readonly orderId: string; readonly byStore?: { readonly retailerId: string; readonly most: number } }
  | { readonly retailerId: string; readonly after: string; readonly limit: number };

/**
 * Makes charges owed again that a bank declined for a time, once that has passed. They have the attempts that
 * are left. Those whose card must wait are put off. Those of orders that were paid, tried again, cancelled or have
 * expired meanwhile, or that have no attempt left, are forgotten.
 *
 * @param attempts of an order, unless it was tried again by hand
 */
export function retryDueCharges(db: Db, attempts: number, limit: number): Promise<ChangedOrder[]> {
  const { sql } = db;
  const retries = sql`
    select o.id, ${cardOf(sql)} as stripe_payment_method_id from orders o join retailers r on r.id = o.retailer_id
    where o.id in (select order_id from due) and ${isOwed(sql)} and ${hasAttempts(sql, attempts)}`;
  const locked = sql`
    due as materialized (
      select order_id from charge_retries where due_at <= now() order by due_at limit ${limit}
    ), ${waitsOfCards(sql, retries)}, put_off as (
      update charge_retries c set due_at = now() + make_interval(secs => cards.wait_seconds)
      from cards where c.order_id = cards.id and c.due_at <= now()
    ), locked as materialized (
      select o.id, o.retailer_id, o.payment_attempts_allowed as allowed from orders o
      where o.id in (select order_id from due) and o.id not in (select id from cards)
        and ${isOwed(sql)} and ${hasAttempts(sql, attempts)}
      order by o.id for no key update of o
    )`;
  const taken = sql`due_at <= now() and order_id in (select order_id from due except select id from cards)`;
  return chargeAgain(db, locked, taken, 'service');
}

/**
 * Makes failed charges owed again, each for `attempts` more attempts under keys of their own, on the card
 * that the store has then. Leaves out an order that was cancelled or has expired, whose attempts are used up
 * for ever, or of which one is being sent. A store's own is left out, too, while its card has no room for another
 * decline, or asking would use up one of its times without an attempt.
 *
 * Until its result the order counts as under way and not as unpaid.
 *
 * @param ever the most attempts that an order may have in all
 */
export async function retryCharges(
  db: Db,
  which: ChargesToRetry,
  attempts: number,
  ever: number,
): Promise<ChangedOrder[]> {
  const { sql } = db;
  const byStore = 'orderId' in which ? which.byStore : undefined;
  const asked =
    'orderId' in which
      ? sql`o.id = ${which.orderId} ${
          byStore
            ? sql`and o.retailer_id = ${byStore.retailerId}
          and ${timesAskedByStore(sql)} < ${byStore.most} and o.id not in (select id from cards)`
            : sql``
        }`
      : sql`o.retailer_id = ${which.retailerId} and o.id > ${which.after}`;
  const orderId = 'orderId' in which ? which.orderId : null;
  const cards = byStore ? sql`${waitsOfCards(sql, cardsByHand(sql, sql`o.id = ${orderId}`))},` : sql``;
  const locked = sql`
    ${cards} locked as materialized (
      select o.id, o.retailer_id,
        ${lastAttempt(sql)} + ${attempts}::int as allowed
      from orders o
      where ${asked} and ${isOwed(sql)}
        and ${lastAttempt(sql)} <= ${ever - attempts}::int
      order by o.id limit ${'limit' in which ? which.limit : 1} for no key update of o
    )`;
  return chargeAgain(db, locked, sql`order_id in (select id from locked)`, byStore ? 'store' : 'operator');
}

/** Whether the charge of the order `o` failed and is still owed, and none is being sent. */
const isOwed = (sql: Sql): Fragment => sql`
  o.payment_status = 'failed' and o.status not in ('cancelled', 'expired', 'void')
    and not exists (select from payments p where p.order_id = o.id and p.status in ('sending', 'paid'))`;

/** Whether the order `o` has an attempt left. The build before uses some up, and leaves its row. */
const hasAttempts = (sql: Sql, attempts: number): Fragment =>
  sql`${lastAttempt(sql)} < coalesce(o.payment_attempts_allowed, ${attempts}::int)`;

const lastAttempt = (sql: Sql): Fragment =>
  sql`coalesce((select max(p.attempt) from payments p where p.order_id = o.id), 0)`;

/**
 * @param locked the CTE of the orders, with the attempts that each is `allowed`
 * @param taken which rows of `charge_retries` are done with
 */
function chargeAgain(
  db: Db,
  locked: Fragment,
  taken: Fragment,
  by: 'store' | 'operator' | 'service',
): Promise<ChangedOrder[]> {
  const { sql } = db;
  const before = sql`${locked}, ${lockUnproven(sql)}`;
  const update = sql`
    update orders set payment_status = 'processing', sequence = sequence + 1,
      payment_attempts_allowed = (select allowed from locked where locked.id = orders.id)
    where id in (select id from locked) and (select count(*) from unproven) >= 0`;
  const after = sql`, ${settledCharges(sql)}, under_way as (
      insert into unproven_orders (retailer_id, order_id)
      select retailer_id, id from changed where retailer_id in (select id from unproven)
      on conflict do nothing
      returning ${retailerNotice(db, sql`retailer_id`)}
    ), taken as (
      delete from charge_retries where ${taken} and (select count(*) from locked) >= 0
    )`;
  const jobs = sql`select 'charge' as queue, now() as run_at`;
  const event = { type: 'payment_retried', data: { by } };
  return changeAlike(db, update, event, { before, jobs, after, notice: 'details' });
}

/** The jobs of these charges that were given up count no more. */
const settledCharges = (sql: Sql): Fragment => sql`
  settled as (
    update outbox b set settled_at = now() from changed
    where b.order_id = changed.id and b.queue = 'charge' and b.failure_code is not null and b.settled_at is null
  )`;

/** How often the store of the order `o` had its charge tried again. */
const timesAskedByStore = (sql: Sql): Fragment => sql`
  (select count(*) from order_events e
   where e.order_id = o.id and e.type = 'payment_retried' and e.data ->> 'by' = 'store')`;

/** Seconds since the first attempt of the oldest charge that is put off; 0 where none is. */
export async function readOldestPutOff({ sql }: Db): Promise<number> {
  const [row] = await sql`
    select extract(epoch from now() - min(p.first_sent_at))::float8 as seconds
    from charge_retries c join payments p on p.order_id = c.order_id`;
  return Math.max(0, row?.seconds ?? 0);
}

/** The orders `o` with the card on which a charge goes that is tried again by hand. */
const cardsByHand = (sql: Sql, which: Fragment): Fragment => sql`
  select o.id, r.stripe_payment_method_id from orders o join retailers r on r.id = o.retailer_id where ${which}`;

/**
 * The status and the payment of a store's order; null for an unknown id and another store's order.
 * `cardWaitSeconds`: how long its store's card has no room for another decline; null where it has.
 */
export async function findPaymentState(
  { sql }: Db,
  orderId: string,
  retailerId: string,
): Promise<{
  readonly status: OrderStatus;
  readonly paymentStatus: PaymentStatus;
  readonly timesAsked: number;
  readonly cardWaitSeconds: number | null;
} | null> {
  const [row] = await sql`
    with ${waitsOfCards(sql, cardsByHand(sql, sql`o.id = ${orderId} and o.payment_status = 'failed'`))}
    select o.status, o.payment_status, ${timesAskedByStore(sql)}::int as times_asked, cards.wait_seconds
    from orders o left join cards on cards.id = o.id
    where o.id = ${orderId} and o.retailer_id = ${retailerId} and o.status <> 'void'`;
  if (!row) return null;
  const { status, payment_status: paymentStatus, times_asked: timesAsked, wait_seconds: cardWaitSeconds } = row;
  return { status, paymentStatus, timesAsked, cardWaitSeconds };
}
