import type { Db } from '../db.ts';

/**
 * The tables of orders and of what belongs to them. Listed as the statement that creates an order touches
 * them, since two statements that lock tables in other orders may deadlock.
 */
const TABLES = [
  'unheard_requests',
  'orders',
  'unproven_orders',
  'unpaid_charges',
  'customers',
  'dropoff_addresses',
  'order_events',
  'payments',
  'messages',
  'texts',
  'outbox',
  'webhook_deliveries',
  'driver_actions',
  'payouts',
  'refunds',
  'charge_retries',
  'unnumbered_events',
  'store_events',
  'stripe_refunds',
  'disputes',
  'plans',
  'driver_waits',
].join(', ');

/**
 * Orders up to which a reset counts them one by one; beyond, Postgres' estimate has to do. Every process waits for the
 * count, and STATEMENT_TIMEOUT_MS ends one of millions.
 */
const COUNTED_ORDERS = 100_000;

/** BullMQ's jobs, where its tables are here. A worker ends the job that it is at, which finds no order. */
const REMOVE_JOBS = `do $$ begin
  if to_regclass('bullmq.job') is null then return; end if;
  lock table bullmq.job in exclusive mode;
  delete from bullmq.job where state <> 'active';
end $$`;

/**
 * Removes every order with all that belongs to it, the jobs in BullMQ's tables included, in one transaction,
 * and has every process read everything anew. The numbers of events go on. Stores, keys, webhooks, drivers and
 * tiers stay. Waits for the statements in flight; later ones wait for it.
 *
 * The writer of events locks the row of their last number before its tables, and so does this.
 *
 * @param counted orders up to which their number is exact
 * @returns the number of orders
 */
export async function removeAllOrders({ sql, processId }: Db, counted: number = COUNTED_ORDERS): Promise<number> {
  if (!/^[\w-]+$/.test(processId)) throw new TypeError('not the id of a process');
  // Several statements in one message are one transaction. Such a message takes no parameters.
  const results = await sql
    .unsafe(
      `lock table event_head, ${TABLES} in access exclusive mode;
      select case when n < ${counted} then n else greatest(n, c.reltuples)::int end as orders from pg_class c,
        (select count(*)::int as n from (select from orders where status <> 'void' limit ${counted}) o) first
      where c.oid = 'orders'::regclass;
      truncate ${TABLES};
      update event_head set pruned_number = number, pruned_at = now();
      update retailers set payment_failed_at = null where payment_failed_at is not null;
      ${REMOVE_JOBS};
      select pg_notify('sameday', '${processId}:everything:orders')`,
    )
    .simple();
  const [row] = results[1] as unknown as { readonly orders: number }[];
  return row?.orders ?? 0;
}
