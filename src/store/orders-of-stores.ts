import type { Fragment, Sql } from 'postgres';
import type { OrderStatus } from '../domain/order.ts';
import { LIST_SCAN_ROWS, LIST_SCAN_ROWS_PER_STORE } from '../limits.ts';
import type { Db } from './db.ts';
import { changedWithin, type OrderFilter, type OrderPage, ordersIn, readOrderPage } from './orders-list.ts';

/**
 * The orders of several stores, as `listStoreOrders` lists those of one, each with its `retailer_id`. A page
 * ends early where the orders of one store that were looked at end: what follows may have come before it.
 *
 * @param retailerIds up to MAX_ORGANIZATION_STORES
 */
export function listOrdersOfStores(
  { lists: sql }: Db,
  retailerIds: readonly string[],
  filter: OrderFilter,
): Promise<OrderPage> {
  const { status, limit } = filter;
  const within = changedWithin(sql, filter);
  if (status !== null && UNDER_WAY.has(status)) {
    const looked = ordersIn(sql, status, sql`retailer_id = any(${[...retailerIds]}::uuid[])${within}`);
    return readOrderPage(sql, looked, filter, LIST_SCAN_ROWS, true);
  }
  const rare = rareStatus(sql, status);
  const share = Math.max(LIST_SCAN_ROWS_PER_STORE, Math.ceil(LIST_SCAN_ROWS / Math.max(1, retailerIds.length)));
  const scanRows = status === null || rare ? Math.min(share, limit + 1) : share;
  const isWanted = status === null ? sql`k.status <> 'void'` : sql`k.status = ${status}`;
  const looked = sql`(
    with looked as materialized (
      select each.* from unnest(${[...retailerIds]}::uuid[]) as store(id) cross join lateral (
        select id, updated_at, status, row_number() over (order by updated_at, id) as scanned from orders
        where retailer_id = store.id${rare ?? sql``}${within}
        order by updated_at, id limit ${scanRows}) each
    ), horizon as (
      select updated_at, id from looked where scanned = ${scanRows} order by updated_at, id limit 1
    ), found as (
      select k.id, k.scanned from looked k left join horizon h on true
      where (h.id is null or (k.updated_at, k.id) <= (h.updated_at, h.id)) and (${isWanted} or k.id = h.id)
      order by k.updated_at, k.id limit ${limit + 1}
    )
    select orders.*, found.scanned from found join orders on orders.id = found.id) o`;
  return readOrderPage(sql, looked, filter, scanRows, true);
}

/** The statuses of the partial index of all stores' orders that wait or are carried. */
const UNDER_WAY: ReadonlySet<OrderStatus> = new Set(['pending_dispatch', 'driver_assigned', 'picked_up']);

/** The status as it is in `orders_rare_by_update`, as Postgres takes a partial index for nothing else. */
function rareStatus(sql: Sql, status: OrderStatus | null): Fragment | null {
  switch (status) {
    case 'cancelled':
      return sql` and status = 'cancelled'`;
    case 'expired':
      return sql` and status = 'expired'`;
    case 'undeliverable':
      return sql` and status = 'undeliverable'`;
    case 'returned':
      return sql` and status = 'returned'`;
    default:
      return null;
  }
}
