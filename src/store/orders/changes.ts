import type { Fragment, Sql } from 'postgres';
import type { OrderStatus } from '../../domain/order.ts';
import type { Db } from '../db.ts';
import { firstLease, isOwed, jobsAsJson, NOTICE_IDS } from '../fragments.ts';
import { type OutboxRow, parseOutboxRows } from '../outbox-rows.ts';

/** The result of a change to an order. */
export type ChangedOrder = {
  readonly id: string;
  readonly sequence: number;
  readonly status: OrderStatus;
  readonly driverId: string | null;
  /** The jobs this process has to relay. */
  readonly outbox: readonly OutboxRow[];
};

export type OrderEvent = {
  readonly type: string;
  readonly data?: Record<string, string | number | boolean | null>;
  /** What is known of a driver's action beyond what they say, for the operator alone. */
  readonly receipt?: Record<string, unknown>;
};

/** Optional parts of a change's statement. */
export type ChangeParts = {
  /** CTEs before the update, `name as (…), …`; the update may read them. */
  readonly before?: Fragment;
  /** The jobs to write to the outbox: `select queue, run_at where …`; it may read `changed`. */
  readonly jobs?: Fragment;
  /** The event's data where they depend on what was changed, in place of its own; it may read `changed`. */
  readonly data?: Fragment;
  /** CTEs after the update, `, name as (…)`; they may read `changed`. */
  readonly after?: Fragment;
  /** Kind of the notice; `order` by default. `details` is for a change that does not concern dispatch. */
  readonly notice?: 'order' | 'details';
};

/**
 * Changes one order and writes its event, jobs and notice, in one statement. A trigger hands the event to the
 * writer that tells stores.
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
  const notice = `${processId}:${parts.notice ?? 'order'}:`;
  const [row] = await sql`
    with ${parts.before ? sql`${parts.before}, ` : sql``}changed as (
      ${update}
      returning id, sequence, status, driver_id, driver_payout_cents, retailer_id, payment_status, expires_at,
        clock_timestamp() as at
    ), event as (
      insert into order_events (order_id, sequence, type, at, data, receipt)
      select id, sequence, ${event.type}, at, ${parts.data ?? asJson(sql, event.data)}, ${asJson(sql, event.receipt)}
      from changed
    ), ${insertJobs(sql, parts.jobs ?? noJobs(sql))}${parts.after ?? sql``}, notice as (
      select pg_notify('sameday', ${notice} || string_agg(id::text, ','))
      from (select id, row_number() over () / ${NOTICE_IDS} as part from changed) c group by part
    )
    select (select count(*) from notice) as notices, ${jobsAsJson(sql)} as outbox,
      (select coalesce(json_agg(json_build_object('id', id, 'sequence', sequence, 'status', status,
        'driverId', driver_id)), '[]') from changed) as orders`;
  return withJobs(row?.orders ?? [], parseOutboxRows(row?.outbox ?? []));
}

/** Gives each order its jobs. Here and not by a join, whose cost could be the square of the orders. */
function withJobs(orders: readonly Omit<ChangedOrder, 'outbox'>[], jobs: readonly OutboxRow[]): ChangedOrder[] {
  const byOrder = new Map<string, OutboxRow[]>();
  for (const job of jobs) {
    const known = byOrder.get(job.orderId);
    if (known) known.push(job);
    else byOrder.set(job.orderId, [job]);
  }
  return orders.map((order) => ({ ...order, outbox: byOrder.get(order.id) ?? [] }));
}

const asJson = (sql: Sql, value: object | undefined): Fragment =>
  sql`${value ? sql.json(value as never) : null}::jsonb`;

const noJobs = (sql: Sql): Fragment => sql`select null::text as queue, now() as run_at where false`;

/**
 * The CTEs that write the jobs of the orders in `changed`: `owed`, the orders with their jobs' `outbox_id`,
 * `queue` and `run_at`, and `jobs`, the rows as written. The ids are drawn first, because a join of what was
 * written with its orders is planned for one order and would cost the square of many.
 *
 * @param owed the jobs of one order, `select queue, run_at where …`; it may read `changed`
 */
export const insertJobs = (sql: Sql, owed: Fragment): Fragment => sql`
  owed as materialized (
    select nextval('outbox_id_seq') as outbox_id, job.queue, job.run_at, changed.*
    from changed cross join lateral (${owed}) job
  ), jobs as (
    insert into outbox (id, queue, order_id, retailer_id, run_at, lease_until) overriding system value
    select outbox_id, queue, id, retailer_id, run_at, run_at + ${firstLease(sql)} from owed
    returning id, queue, order_id, retailer_id, run_at, relays
  )`;

/**
 * A CTE that locks orders before they are changed, in the order of their ids. A statement that opens payment
 * attempts locks its orders the same way, so that two statements with the same orders cannot deadlock.
 */
export const lockOrders = (sql: Sql, orderIds: readonly string[]): Fragment => sql`
  locked as materialized (
    select id, retailer_id from orders where id = any(${[...orderIds]}::uuid[]) order by id for no key update
  )`;

/**
 * Changes details of many orders and writes their events and one notice, in one statement. For changes that
 * write no jobs, and of which stores are told nothing but that an order is paid.
 *
 * @param before CTEs before the update, which may read them
 * @param update an `update orders o set … where …` without `returning`; it must add 1 to `sequence`
 * @param events `select id, sequence, type, data from changed …`
 * @param about what the notice adds to the ids
 * @param after CTEs after the update, `, name as (…)`; they may read `changed`
 * @returns the ids of the changed orders
 */
export async function changeOrders(
  { sql, processId }: Db,
  before: Fragment,
  update: Fragment,
  events: Fragment,
  about: ':paid' | '' = '',
  after: Fragment = sql``,
): Promise<Map<string, true>> {
  const rows = await sql`
    with ${before}, changed as (
      ${update} returning o.id, o.sequence, o.retailer_id, o.status, o.payment_status, o.driver_id
    ), event as (
      insert into order_events (told, order_id, sequence, type, data) select true, e.* from (${events}) e
    )${about === ':paid' ? tellPaid(sql) : sql``}${after}, notice as (
      select pg_notify('sameday', ${processId} || ':details:' || string_agg(id::text, ',') || ${about})
      from changed having count(*) > 0
    )
    select id from changed where (select count(*) from notice) >= 0`;
  return new Map(rows.map(({ id }) => [id, true]));
}

/** Hands the event of the orders in `changed` that they are paid to the writer of numbers. */
const tellPaid = (sql: Sql): Fragment => sql`, told as (
    insert into unnumbered_events (order_id, sequence, type, retailer_id, at, status, payment_status, driver_id)
    select id, sequence, 'order.paid', retailer_id, now(), status, payment_status, driver_id from changed order by id
  )`;

/** The refund job of the order in `changed`, where money may have to go back. The job finds out whether it must. */
export const refundJob = (sql: Sql, where: Fragment): Fragment =>
  sql`select 'refund' as queue, now() as run_at where ${where}`;

/** The refund job of an order that ends: it was charged, or may be. */
export const refundJobAtEnd = (sql: Sql): Fragment =>
  refundJob(sql, sql`changed.payment_status in ('processing', 'paid')`);

/**
 * A CTE for a statement that records what became of a charge: the refund that waited for it is due. Its own tries may
 * be over by then, and its lease is long; `, due as (…)`.
 */
export const refundIsDue = (sql: Sql): Fragment => sql`, due as (
    update outbox b set lease_until = now() from changed
    where changed.status in ('cancelled', 'expired') and b.order_id = changed.id and b.queue = 'refund'
      and ${isOwed(sql, sql`b`)}
  )`;

/**
 * What ends a wait for a driver, for good and undelivered: its refund's job is written, and the job that would have
 * ended it and the one that locates the dropoff are done, locked in the order of their ids (`extendLease`).
 */
export const endOfWait = (sql: Sql) => ({
  jobs: refundJobAtEnd(sql),
  after: sql`, waited as (
    update outbox b set done_at = coalesce(b.done_at, now()) where b.id = any(array(
      select w.id from outbox w join changed on w.order_id = changed.id and w.queue in ('redispatch', 'locate')
      order by w.id for no key update of w))
  )`,
});
