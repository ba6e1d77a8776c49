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
 * @returns the number of orders
 */
export async function removeAllOrders({ sql, processId }: Db): Promise<number> {
  if (!/^[\w-]+$/.test(processId)) throw new TypeError('not the id of a process');
  // Several statements in one message are one transaction. Such a message takes no parameters.
  const results = await sql
    .unsafe(
      `lock table event_head, ${TABLES} in access exclusive mode;
      select count(*)::int as orders from orders where status <> 'void';
      truncate ${TABLES};
      update event_head set pruned_number = number, pruned_at = now();
      update retailers set unpaid_orders = 0, payment_failed_at = null where payment_failed_at is not null;
      ${REMOVE_JOBS};
      select pg_notify('sameday', '${processId}:everything:orders')`,
    )
    .simple();
  const [row] = results[1] as unknown as { readonly orders: number }[];
  return row?.orders ?? 0;
}
