import { below } from '../../limits.ts';
import type { Db } from '../db.ts';
import {
  createdWithin,
  LIST_SCAN_ROWS,
  listedWithin,
  type OrderFilter,
  type OrderPage,
  ordersIn,
  rareStatus,
  readOrderPage,
  statusUnderWay,
} from '../orders/orders-list.ts';

/**
 * Orders, or events, of each store that a page of an organization's list looks at, where LIST_SCAN_ROWS shared among
 * its stores would be fewer. With MAX_ORGANIZATION_STORES it looks at 20,000, in under 0.1 s. Below LIST_SCAN_ROWS.
 */
export const LIST_SCAN_ROWS_PER_STORE = 20;

below({ LIST_SCAN_ROWS_PER_STORE }, { LIST_SCAN_ROWS });

/** Rows of each of so many stores that a page looks at. */
export const scanShare = (stores: number): number =>
  Math.max(LIST_SCAN_ROWS_PER_STORE, Math.ceil(LIST_SCAN_ROWS / Math.max(1, stores)));

/**
 * The orders of several stores, as `listStoreOrders` lists those of one, each with its `retailer_id`, and without its
 * tracking token. A page
 * ends early where the orders of one store that were looked at end: what follows may have come before it.
 *
 * @param retailerIds up to MAX_ORGANIZATION_STORES
 */
export function listOrdersOfStores(
  { lists: sql }: Db,
  retailerIds: readonly string[],
  filter: OrderFilter,
): Promise<OrderPage> {
  const { status, limit, externalId } = filter;
  const within = listedWithin(sql, filter);
  if (externalId === null && statusUnderWay(sql, status)) {
    const looked = ordersIn(sql, filter, sql`retailer_id = any(${[...retailerIds]}::uuid[])${within}`);
    return readOrderPage(sql, looked, filter, LIST_SCAN_ROWS, true);
  }
  const rare = rareStatus(sql, status);
  const share = scanShare(retailerIds.length);
  const isDense = (status === null || rare) && !filter.createdAfter && !filter.createdBefore;
  const scanRows = isDense ? Math.min(share, limit + 1) : share;
  const isWanted = sql`
    ${status === null ? sql`status <> 'void'` : sql`status = ${status}`} and ${createdWithin(sql, filter)}`;
  const looked = sql`(
    with looked as materialized (
      select each.* from unnest(${[...retailerIds]}::uuid[]) as store(id) cross join lateral (
        select id, updated_at, row_number() over (order by updated_at, id) as scanned, ${isWanted} as wanted from orders
        where retailer_id = store.id${rare ? sql` and ${rare}` : sql``}${within}
        order by updated_at, id limit ${scanRows}) each
    ), horizon as (
      select updated_at, id from looked where scanned = ${scanRows} order by updated_at, id limit 1
    ), found as (
      select k.id, k.scanned, k.wanted from looked k left join horizon h on true
      where (h.id is null or (k.updated_at, k.id) <= (h.updated_at, h.id)) and (k.wanted or k.id = h.id)
      order by k.updated_at, k.id limit ${limit + 1}
    )
    select orders.*, found.scanned, found.wanted from found join orders on orders.id = found.id) o`;
  return readOrderPage(sql, looked, filter, scanRows, true);
}
