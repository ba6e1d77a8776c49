import type { Fragment, Sql } from 'postgres';
import type { OrderStatus } from '../domain/order.ts';
import type { Db } from './db.ts';
import { firstLease, jobsAsJson } from './fragments.ts';
import { type OutboxRow, parseOutboxRows } from './outbox-rows.ts';
import { tellStore } from './webhook-events.ts';

/** What a change of an order left behind. */
export type ChangedOrder = {
  readonly id: string;
  readonly sequence: number;
  readonly status: OrderStatus;
  readonly driverId: string | null;
  /** The jobs this process has to relay. */
  readonly outbox: readonly OutboxRow[];
};

export type OrderEvent = { readonly type: string; readonly data?: Record<string, string | number | boolean | null> };

/** Further parts of a change's statement. */
export type ChangeParts = {
  /** CTEs that go first, `name as (…), …`; the update may read them. */
  readonly before?: Fragment;
  /** `select queue, run_at from changed where …`: the jobs that the change makes owed. */
  readonly jobs?: Fragment;
  /** CTEs that go last, `, name as (…)`; they may read `changed`. */
  readonly after?: Fragment;
  /** What the other processes are told of: `order` unless only details change, with which dispatch has nothing to do. */
  readonly notice?: 'order' | 'details';
};

/**
 * Changes one order, writes the event, the jobs it makes owed, what its store is told, and the notice: one statement.
 *
 * @param update an `update orders set … where …` without `returning`; it must add 1 to `sequence`
 * @returns null when the condition of the update did not hold, and then nothing was written
 */
export async function changeOrder(
  { sql, processId }: Db,
  update: Fragment,
  event: OrderEvent,
  parts: ChangeParts = {},
): Promise<ChangedOrder | null> {
  const told = tellStore(sql, event);
  const notice = `${processId}:${parts.notice ?? 'order'}:`;
  const [row] = await sql`
    with ${parts.before ? sql`${parts.before}, ` : sql``}changed as (
      ${update} returning id, sequence, status, driver_id, retailer_id, payment_status, expires_at
    ), event as (
      insert into order_events (order_id, sequence, type, data)
      select id, sequence, ${event.type}, ${event.data ? sql.json(event.data) : null}::jsonb from changed
      returning at
    ), owed as (${parts.jobs ?? sql`select null::text as queue, now() as run_at where false`}${told?.job ?? sql``}
    ), jobs as (
      insert into outbox (queue, order_id, retailer_id, run_at, lease_until)
      select owed.queue, changed.id, changed.retailer_id, owed.run_at, owed.run_at + ${firstLease(sql)}
      from changed, owed
      returning id, queue, order_id, retailer_id, run_at, relays
    )${told?.delivery ?? sql``}${parts.after ?? sql``}, notice as (
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
 * The orders of a statement for many, locked first and in one order: whoever opens an attempt locks the order first too,
 * and two statements that lock the same orders in different orders deadlock.
 */
export const lockOrders = (sql: Sql, orderIds: readonly string[]): Fragment => sql`
  locked as materialized (
    select id from orders where id = any(${[...orderIds]}::uuid[]) order by id for no key update
  )`;

/**
 * Changes the details of many orders by one statement, with their events and one notice: for changes that make nothing
 * owed and that stores are not told of.
 *
 * @param before CTEs that go first; the update may read them
 * @param update an `update orders o set … where …` without `returning`; it must add 1 to `sequence`
 * @param events `select id, sequence, type, data from changed …`
 * @returns the orders that were changed
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
      select pg_notify('sameday', ${processId} || ':details:' || string_agg(id::text, ',')) from changed having count(*) > 0
    )
    select id from changed where (select count(*) from notice) >= 0`;
  return new Map(rows.map(({ id }) => [id, true]));
}

/** A charge that may have been made is given back; what is owed is for the refund's job to find out. */
export function refundOwed(sql: Sql): Fragment {
  return sql`select 'refund' as queue, now() as run_at from changed where payment_status in ('processing', 'paid')`;
}
