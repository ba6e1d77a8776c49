import type { Fragment, Sql } from 'postgres';
import { MAX_UNPAID_ORDERS_ALLOWED } from '../../limits.ts';
import type { Db } from '../db.ts';
import { OUTBOX_FIRST_LEASE_SECONDS } from '../fragments.ts';
import { OUTBOX_LEASE_SECONDS } from '../outbox.ts';

/*
 * A store is unproven from a charge that failed for good until one of its orders is paid. Then triggers list
 * the unpaid ones that it still owes in `unpaid_charges`, `unproven_orders` lists those whose charge has no
 * result yet, and it may have so many of both as UNPAID_ORDERS_ALLOWED says. An order that was cancelled or has
 * expired owes nothing, whether its charge failed before or after. No statement writes anything of this for
 * another store.
 */

/**
 * A CTE that locks the rows of unproven stores after those of their orders, as every statement does that
 * locks both. A statement that changes an order reads it first: `(select count(*) from unproven) >= 0`. It
 * finds no row for the orders of any other store.
 */
export const lockUnproven = (sql: Sql): Fragment => sql`
  unproven as materialized (
    select id from retailers where payment_failed_at is not null and id in (select retailer_id from locked)
    order by id for no key update
  )`;

/** Tells every process that what holds a store back has changed; for a `returning`. */
export const retailerNotice = ({ sql, processId }: Db, id: Fragment): Fragment =>
  sql`pg_notify('sameday', ${processId} || ':retailer:' || ${id})`;

/** CTEs that make the stores in `unproven` proven whose orders in `changed` are paid; `, proven as (…), cleared as (…)`. */
export const proveAgain = (db: Db): Fragment => {
  const { sql } = db;
  return sql`, proven as (
      update retailers r set payment_failed_at = null
      where r.id in (select id from unproven where id in (select retailer_id from changed))
      returning r.id, ${retailerNotice(db, sql`r.id`)}
    ), cleared as (
      delete from unproven_orders where retailer_id in (select id from proven)
    )`;
};

/** The CTE by which the charges of the orders in `changed` are under way no more; `, decided as (…)`. */
export const decided = (db: Db): Fragment => {
  const { sql } = db;
  return sql`, decided as (
      delete from unproven_orders u using changed where u.retailer_id = changed.retailer_id and u.order_id = changed.id
      returning ${retailerNotice(db, sql`u.retailer_id`)}
    )`;
};

/** A CTE that locks the store of the order in `locked`, in the same place; `, store as (…)`. */
export const lockStore = (sql: Sql): Fragment => sql`, store as materialized (
    select id, payment_failed_at is null as was_proven from retailers
    where id in (select retailer_id from locked) for no key update
  )`;

/** Latest end of a charge's lease from now, and what a statement began later that made it. */
const LATEST_CHARGE_LEASE_SECONDS = OUTBOX_LEASE_SECONDS + OUTBOX_FIRST_LEASE_SECONDS;

/**
 * Makes the store of the order in `changed` unproven, if the order is still owed. The store's charges under way
 * are found by their owed jobs, whose index leaves out what is leased for longer than a charge ever is.
 */
export const countUnpaid = (db: Db): Fragment => {
  const { sql } = db;
  return sql`, owing as (
      select id, retailer_id from changed where status not in ('cancelled', 'expired')
    ), unpaid as (
      update retailers r set payment_failed_at = now()
      from owing where r.id = owing.retailer_id
      returning ${retailerNotice(db, sql`r.id`)}
    )${decided(db)}, under_way as (
      insert into unproven_orders (retailer_id, order_id)
      select b.retailer_id, b.order_id from outbox b join store on store.id = b.retailer_id and store.was_proven
      where b.queue = 'charge' and b.done_at is null and b.order_id not in (select id from changed)
        and b.lease_until <= now() + make_interval(secs => ${LATEST_CHARGE_LEASE_SECONDS})
        and exists (select from owing)
      limit ${MAX_UNPAID_ORDERS_ALLOWED}
      on conflict do nothing
    )`;
};
