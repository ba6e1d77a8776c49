import type { Fragment, Row, Sql } from 'postgres';
import type { OrderStatus } from '../domain/order.ts';
import { LIST_OVERLAP_MS, LIST_SCAN_ROWS } from '../limits.ts';
import type { Db } from './db.ts';

/** The last order of a page: the time of its last change in microseconds since 1970, and its id. */
export type OrderCursor = { readonly updatedMicros: string; readonly id: string };

export type OrderFilter = {
  readonly status: OrderStatus | null;
  readonly updatedAfter: Date | null;
  /** 1 to 100. */
  readonly limit: number;
  readonly cursor: OrderCursor | null;
};

/** An order with wire names. */
export type ListedOrder = { readonly id: string; readonly status: OrderStatus };
/** The orders, and the cursor of the next page; null after the last page. */
export type OrderPage = { readonly orders: readonly ListedOrder[]; readonly next: OrderCursor | null };

/**
 * A store's orders by the time of their last change, oldest first. An order that changes while pages are read
 * appears again on a later page. A page ends early, and may be empty, where LIST_SCAN_ROWS orders were looked
 * at and `next` goes on from there.
 *
 * `updatedAfter` looks back by LIST_OVERLAP_MS, as a change may be committed later than its own time. A
 * caller who passes the time of the latest change it has seen misses no change, and sees some orders again.
 */
export async function listStoreOrders({ lists: sql }: Db, retailerId: string, filter: OrderFilter): Promise<OrderPage> {
  const within = sql`retailer_id = ${retailerId}${changedWithin(sql, filter)}`;
  return readOrderPage(sql, ordersIn(sql, filter.status, within), filter, LIST_SCAN_ROWS, false);
}

/**
 * Reads a page of the orders that were looked at.
 *
 * @param looked the rows of `orders` as `o`, with `scanned`: how many of its store were looked at up to it
 * @param scanRows the most of a store that are; the list goes on behind the last one where it has that number
 * @param namesStore whether an order has its `retailer_id`
 */
export async function readOrderPage(
  sql: Sql,
  looked: Fragment,
  filter: OrderFilter,
  scanRows: number,
  namesStore: boolean,
): Promise<OrderPage> {
  const { limit } = filter;
  const rows = await sql`
    select id, status, delivery_tier, delivery_fee_cents as delivery_fee, payment_status, sms_status, tracking_token,
      driver_id, reason_code, created_at, updated_at, (extract(epoch from updated_at) * 1000000)::int8::text as micros,
      scanned${namesStore ? sql`, retailer_id` : sql``}
    from ${looked}
    order by updated_at, id limit ${limit + 1}`;
  const page = rows.slice(0, limit);
  // The last order that was looked at comes also where it is not in the status asked for.
  const endsEarly = rows.length <= limit && rows.at(-1)?.scanned === scanRows;
  const last = page.at(-1);
  return {
    orders: page.filter(({ status }) => (filter.status ? status === filter.status : status !== 'void')).map(onWire),
    next: (rows.length > limit || endsEarly) && last ? { updatedMicros: last.micros, id: last.id } : null,
  };
}

/** The conditions of a filter, its status aside. */
export function changedWithin(sql: Sql, { updatedAfter, cursor }: OrderFilter): Fragment {
  return sql`
    ${updatedAfter ? sql`and updated_at > ${new Date(updatedAfter.getTime() - LIST_OVERLAP_MS)}` : sql``}
    ${
      cursor
        ? sql`and (updated_at, id) > (to_timestamp(0) + ${cursor.updatedMicros}::int8 * interval '1 microsecond',
                                      ${cursor.id}::uuid)`
        : sql``
    }`;
}

/**
 * The orders in a status by the index that holds few others. A status stands in the statement as it is in the
 * index, since Postgres takes a partial index for nothing else.
 *
 * @param within which of them, of one store
 */
export function ordersIn(sql: Sql, status: OrderStatus | null, within: Fragment): Fragment {
  switch (status) {
    case 'cancelled':
      return rare(sql, sql`status = 'cancelled'`, within);
    case 'expired':
      return rare(sql, sql`status = 'expired'`, within);
    case 'undeliverable':
      return rare(sql, sql`status = 'undeliverable'`, within);
    case 'returned':
      return rare(sql, sql`status = 'returned'`, within);
    case 'pending_dispatch':
      return underWay(sql, sql`status = 'pending_dispatch'`, within);
    case 'driver_assigned':
      return underWay(sql, sql`status = 'driver_assigned'`, within);
    case 'picked_up':
      return underWay(sql, sql`status = 'picked_up'`, within);
    default:
      return past(sql, status ? sql`status = ${status}` : sql`status <> 'void'`, within);
  }
}

/** By `orders_rare_by_update`, in the order of the list. */
const rare = (sql: Sql, isStatus: Fragment, within: Fragment): Fragment =>
  sql`(select *, null::int8 as scanned from orders where ${isStatus} and ${within}) o`;

/**
 * By the partial index of all stores' orders that wait or are carried: a store has few beside those that are
 * over. `offset 0` keeps Postgres from walking along the store's orders instead.
 */
const underWay = (sql: Sql, isStatus: Fragment, within: Fragment): Fragment =>
  sql`(select *, null::int8 as scanned from orders where ${isStatus} offset 0) o where ${within}`;

/** Along the store's orders, LIST_SCAN_ROWS of them at most; the last one always comes. */
const past = (sql: Sql, isWanted: Fragment, within: Fragment): Fragment => sql`
  (select *, row_number() over (order by updated_at, id) as scanned from orders where ${within}
   order by updated_at, id limit ${LIST_SCAN_ROWS}) o
  where ${isWanted} or scanned = ${LIST_SCAN_ROWS}`;

/** The order without the columns of the cursor. */
function onWire(row: Row): ListedOrder {
  const { micros, scanned, ...order } = row;
  void micros;
  void scanned;
  return order as ListedOrder;
}
