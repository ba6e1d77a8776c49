import type { StoreHold } from '../../domain/hold.ts';
import { DEFAULT_UNPAID_ORDERS_ALLOWED, OPERATOR_BATCH } from '../../limits.ts';
import type { Db } from '../db.ts';
import { type ChangedOrder, changeAlike, endOfWait } from '../orders/changes.ts';
import { isNotYet } from '../orders/order-times.ts';

/**
 * The stores whose orders are held, or may be soon.
 *
 * @param retailerIds the stores to look at; all by default
 */
export async function loadHolds(
  { sql }: Db,
  unpaidAllowed: number = DEFAULT_UNPAID_ORDERS_ALLOWED,
  retailerIds?: readonly string[],
): Promise<StoreHold[]> {
  const rows = await sql`
    select r.id, r.status <> 'active' as suspended, unpaid_credit(r.id, ${unpaidAllowed}::int) as credit
    from retailers r
    where (r.status <> 'active' or r.payment_failed_at is not null)
      ${retailerIds ? sql`and r.id = any(${[...retailerIds]}::uuid[])` : sql``}`;
  return rows.map(({ id, suspended, credit }) => ({
    retailerId: id,
    reason: suspended ? 'store_suspended' : credit <= 0 ? 'payment_required' : null,
    credit: Math.max(0, credit ?? 0),
  }));
}

/**
 * The name of a store, how many of its orders wait for a driver, or for their time, and when that was by the
 * database's clock; null for an unknown store.
 */
export async function countWaitingOf(
  { sql }: Db,
  retailerId: string,
): Promise<{ readonly name: string; readonly waiting: number; readonly later: number; readonly at: Date } | null> {
  const [row] = await sql`
    select r.name, count(o.id) filter (where not ${isNotYet(sql, sql`o`)})::int as waiting,
      count(o.id) filter (where ${isNotYet(sql, sql`o`)})::int as later, now() as at
    from retailers r left join orders o on o.retailer_id = r.id and o.status = 'pending_dispatch'
    where r.id = ${retailerId} group by r.name`;
  return row ? { name: row.name, waiting: row.waiting, later: row.later, at: row.at } : null;
}

/**
 * Cancels waiting orders of a store for the operator, uncharged, at most `limit` in one statement. An order
 * that gets a driver in the same moment is left out.
 *
 * @param madeUntil when they were counted; orders that were made after it stay, so that there is an end
 */
export function cancelWaiting(
  db: Db,
  retailerId: string,
  madeUntil: Date,
  limit: number = OPERATOR_BATCH,
): Promise<ChangedOrder[]> {
  const { sql } = db;
  const before = sql`
    waits as materialized (
      select id from orders
      where status = 'pending_dispatch' and retailer_id = ${retailerId} and created_at <= ${madeUntil}
      order by id limit ${limit} for update
    )`;
  const update = sql`
    update orders set status = 'cancelled', cancelled_by = 'operator', reason_code = 'other', ended_at = now(),
      sequence = sequence + 1
    where id in (select id from waits)`;
  const event = { type: 'cancelled', data: { by: 'operator', reason: 'other' } };
  return changeAlike(db, update, event, { before, ...endOfWait(sql) });
}
