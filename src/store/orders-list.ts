import type { Row } from 'postgres';
import type { OrderStatus } from '../domain/order.ts';
import { LIST_OVERLAP_MS } from '../limits.ts';
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
 * appears again on a later page.
 *
 * `updatedAfter` looks back by LIST_OVERLAP_MS, as a change may be committed later than its own time. A
 * caller who passes the time of the latest change it has seen misses no change, and sees some orders again.
 */
export async function listStoreOrders({ sql }: Db, retailerId: string, filter: OrderFilter): Promise<OrderPage> {
  const { status, updatedAfter, limit, cursor } = filter;
  const rows = await sql`
    select id, status, delivery_tier, delivery_fee_cents as delivery_fee, payment_status, sms_status, tracking_token,
      driver_id, reason_code, created_at, updated_at, (extract(epoch from updated_at) * 1000000)::int8::text as micros
    from orders
    where retailer_id = ${retailerId} and status <> 'void'
      ${status ? sql`and status = ${status}` : sql``}
      ${updatedAfter ? sql`and updated_at > ${new Date(updatedAfter.getTime() - LIST_OVERLAP_MS)}` : sql``}
      ${
        cursor
          ? sql`and (updated_at, id) > (to_timestamp(0) + ${cursor.updatedMicros}::int8 * interval '1 microsecond',
                                        ${cursor.id}::uuid)`
          : sql``
      }
    order by updated_at, id limit ${limit + 1}`;
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    orders: page.map(withoutMicros),
    next: rows.length > limit && last ? { updatedMicros: last.micros, id: last.id } : null,
  };
}

/** The order without the cursor's column. */
function withoutMicros(row: Row): ListedOrder {
  const { micros, ...order } = row;
  void micros;
  return order as ListedOrder;
}
