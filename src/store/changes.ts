import type { Fragment, Sql } from 'postgres';
import type { OrderStatus } from '../domain/order.ts';
import { NOTICE_IDS } from '../limits.ts';
import type { Db } from './db.ts';
import { firstLease, jobListAsJson } from './fragments.ts';
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
  /** The jobs to write to the outbox: `select id, queue, run_at from changed where …`. */
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
  db: Db,
  update: Fragment,
  event: OrderEvent,
  parts: ChangeParts = {},
): Promise<ChangedOrder | null> {
  const [changed] = await changeAlike(db, update, event, parts);
  return changed ?? null;
}

/**
 * Changes any number of orders in the same way, as {@link changeOrder} changes one, in one statement.
 *
 * @returns the changed orders, in any order
 */
export async function changeAlike(
  { sql, processId }: Db,
  update: Fragment,
  event: OrderEvent,
  parts: ChangeParts = {},
): Promise<ChangedOrder[]> {
  const webhook = webhookParts(sql, event);
  const notice = `${processId}:${parts.notice ?? 'order'}:`;
  const rows = await sql`
    with ${parts.before ? sql`${parts.before}, ` : sql``}changed as (
      ${update} returning id, sequence, status, driver_id, retailer_id, payment_status, expires_at
    ), event as (
      insert into order_events (order_id, sequence, type, data)
      select id, sequence, ${event.type}, ${event.data ? sql.json(event.data) : null}::jsonb from changed
      returning order_id, at
    ), owed as (${parts.jobs ?? noJobs(sql)}${webhook?.job ?? sql``}
    ), jobs as (
      insert into outbox (queue, order_id, retailer_id, run_at, lease_until)
      select owed.queue, changed.id, changed.retailer_id, owed.run_at, owed.run_at + ${firstLease(sql)}
      from changed join owed using (id)
      returning id, queue, order_id, retailer_id, run_at, relays
    )${webhook?.delivery ?? sql``}${parts.after ?? sql``}, notice as (
      select pg_notify('sameday', ${notice} || string_agg(id::text, ','))
      from (select id, row_number() over () / ${NOTICE_IDS} as part from changed) c group by part
    )
    select changed.id, changed.sequence, changed.status, changed.driver_id, coalesce(j.outbox, '[]') as outbox
    from changed left join (
      select order_id, ${jobListAsJson(sql)} as outbox from jobs group by order_id
    ) j on j.order_id = changed.id
    where (select count(*) from notice) >= 0`;
  return rows.map((row) => ({
    id: row.id,
    sequence: row.sequence,
    status: row.status,
    driverId: row.driver_id,
    outbox: parseOutboxRows(row.outbox),
  }));
}

const noJobs = (sql: Sql): Fragment => sql`select null::uuid as id, null::text as queue, now() as run_at where false`;

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
 * @returns the ids of the changed orders
 */
export async function changeOrders(
  { sql, processId }: Db,
  before: Fragment,
  update: Fragment,
  events: Fragment,
): Promise<Map<string, true>> {
  const rows = await sql`
    with ${before}, changed as (
      ${update} returning o.id, o.sequence
    ), event as (
      insert into order_events (order_id, sequence, type, data) ${events}
    ), notice as (
      select pg_notify('sameday', ${processId} || ':details:' || string_agg(id::text, ',')) from changed
      having count(*) > 0
    )
    select id from changed where (select count(*) from notice) >= 0`;
  return new Map(rows.map(({ id }) => [id, true]));
}

/** The refund job of an order that was or may have been charged; the job finds out what to refund. */
export function refundOwed(sql: Sql): Fragment {
  return sql`
    select id, 'refund' as queue, now() as run_at from changed where payment_status in ('processing', 'paid')`;
}
