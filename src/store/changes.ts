import type { Fragment, Sql } from 'postgres';
import type { OrderStatus } from '../domain/order.ts';
import type { Db } from './db.ts';
import { firstLease, jobsAsJson } from './fragments.ts';
import { type OutboxRow, parseOutboxRows } from './outbox-rows.ts';
import { webhookParts } from './webhook-events.ts';

/** The result of a change to an order. */
export type ChangedOrder = {
  readonly id: string;
  readonly sequence: number;
  readonly status: OrderStatus;
  readonly driverId: string | null;
  /** The jobs this process has to relay. */
  readonly outbox: readonly OutboxRow[];
};

export type OrderEvent = { readonly type: string; readonly data?: Record<string, string | number | boolean | null> };

/** Optional parts of a change's statement. */
export type ChangeParts = {
  /** CTEs before the update, `name as (…), …`; the update may read them. */
  readonly before?: Fragment;
  /** The jobs to write to the outbox: `select queue, run_at from changed where …`. */
  readonly jobs?: Fragment;
  /** CTEs after the update, `, name as (…)`; they may read `changed`. */
  readonly after?: Fragment;
  /** Kind of the notice; `order` by default. `details` is for a change that does not concern dispatch. */
  readonly notice?: 'order' | 'details';
};

/**
 * Changes one order and writes its event, jobs, webhook delivery and notice, in one statement.
 *
 * @param update an `update orders set … where …` without `returning`; it must add 1 to `sequence`
 * @returns null if the update's condition did not hold; then nothing was written
 */
export async function changeOrder(
  { sql, processId }: Db,
  update: Fragment,
  event: OrderEvent,
  parts: ChangeParts = {},
): Promise<ChangedOrder | null> {
  const webhook = webhookParts(sql, event);
  const notice = `${processId}:${parts.notice ?? 'order'}:`;
  const [row] = await sql`
    with ${parts.before ? sql`${parts.before}, ` : sql``}changed as (
      ${update} returning id, sequence, status, driver_id, retailer_id, payment_status, expires_at
    ), event as (
      insert into order_events (order_id, sequence, type, data)
      select id, sequence, ${event.type}, ${event.data ? sql.json(event.data) : null}::jsonb from changed
      returning at
    ), owed as (${parts.jobs ?? sql`select null::text as queue, now() as run_at where false`}${webhook?.job ?? sql``}
    ), jobs as (
      insert into outbox (queue, order_id, retailer_id, run_at, lease_until)
      select owed.queue, changed.id, changed.retailer_id, owed.run_at, owed.run_at + ${firstLease(sql)}
      from changed, owed
      returning id, queue, order_id, retailer_id, run_at, relays
    )${webhook?.delivery ?? sql``}${parts.after ?? sql``}, notice as (
      select pg_notify('sameday', ${notice} || id) from changed
    )
    select changed.id, changed.sequence, changed.status, changed.driver_id,
      ${jobsAsJson(sql)} as outbox
    from changed, notice`;
  if (!row) return null;
  const { id, sequence, status } = row;
  return { id, sequence, status, driverId: row.driver_id, outbox: parseOutboxRows(row.outbox) };
}

/**
 * A CTE that locks orders before they are changed, in the order of their ids. A statement that opens payment
 * attempts locks its orders the same way, so that two statements with the same orders cannot deadlock.
 */
export const lockOrders = (sql: Sql, orderIds: readonly string[]): Fragment => sql`
  locked as materialized (
    select id from orders where id = any(${[...orderIds]}::uuid[]) order by id for no key update
  )`;

/**
 * Changes details of many orders and writes their events and one notice, in one statement. For changes that
 * write no jobs and no webhook deliveries.
 *
 * @param before CTEs before the update, which may read them
 * @param update an `update orders o set … where …` without `returning`; it must add 1 to `sequence`
 * @param events `select id, sequence, type, data from changed …`
 * @param about what the notice adds to the ids
 * @returns the ids of the changed orders
 */
export async function changeOrders(
  { sql, processId }: Db,
  before: Fragment,
  update: Fragment,
  events: Fragment,
  about: ':paid' | '' = '',
): Promise<Map<string, true>> {
  const rows = await sql`
    with ${before}, changed as (
      ${update} returning o.id, o.sequence
    ), event as (
      insert into order_events (order_id, sequence, type, data) ${events}
    ), notice as (
      select pg_notify('sameday', ${processId} || ':details:' || string_agg(id::text, ',') || ${about})
      from changed having count(*) > 0
    )
    select id from changed where (select count(*) from notice) >= 0`;
  return new Map(rows.map(({ id }) => [id, true]));
}

/** The refund job of an order that was or may have been charged; the job finds out what to refund. */
export function refundOwed(sql: Sql): Fragment {
  return sql`select 'refund' as queue, now() as run_at from changed where payment_status in ('processing', 'paid')`;
}
