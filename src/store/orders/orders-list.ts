import type { Fragment, Row, Sql } from 'postgres';
import type { TimedOrder } from '../../domain/estimate.ts';
import type { OrderStatus } from '../../domain/order.ts';
import type { PlaceOnRoute } from '../../domain/tracked.ts';
import { below, STATEMENT_TIMEOUT_MS } from '../../limits.ts';
import type { Db } from '../db.ts';
import { type Cursor, microsOf, rowAt } from '../pages.ts';
import { shownPlan } from '../planning/plan-readings.ts';
import { onRoute, placesOnRoutes } from './order-on-route.ts';
import { scheduleColumns, toScheduled } from './order-times.ts';

/**
 * Time by which a list of changes looks back before its cursor, as a change is committed later than its own
 * time says. Above STATEMENT_TIMEOUT_MS, which bounds that delay.
 */
const LIST_OVERLAP_MS = 10_000;
/** Orders that one page of such a list looks at before it ends early: 10 ms. Above the largest page, of 100. */
export const LIST_SCAN_ROWS = 5_000;
/** Largest page of a list that its schema allows, in orders. */
const LARGEST_PAGE = 100;

below({ STATEMENT_TIMEOUT_MS }, { LIST_OVERLAP_MS });
below({ LARGEST_PAGE }, { LIST_SCAN_ROWS });

export type OrderFilter = {
  readonly status: OrderStatus | null;
  readonly externalId: string | null;
  /** Orders created at this time or later, and before that one. */
  readonly createdAfter: Date | null;
  readonly createdBefore: Date | null;
  readonly updatedAfter: Date | null;
  /** 1 to 100. */
  readonly limit: number;
  /** By the time of the last change. */
  readonly cursor: Cursor | null;
};

/** An order with wire names, beside what its estimate follows from. */
export type ListedOrder = { readonly id: string; readonly status: OrderStatus; readonly times: TimedOrder };
/** The orders, and the cursor of the next page; null after the last page. */
export type OrderPage = { readonly orders: readonly ListedOrder[]; readonly next: Cursor | null };

/**
 * A store's orders by the time of their last change, oldest first. An order that changes while pages are read
 * appears again on a later page. A page ends early, and may be empty, where LIST_SCAN_ROWS orders were looked
 * at and `next` goes on from there.
 *
 * `updatedAfter` looks back by LIST_OVERLAP_MS, as a change may be committed later than its own time. A
 * caller who passes the time of the latest change it has seen misses no change, and sees some orders again.
 */
export async function listStoreOrders({ lists: sql }: Db, retailerId: string, filter: OrderFilter): Promise<OrderPage> {
  const part = sql`retailer_id = ${retailerId}${listedWithin(sql, filter)}`;
  return readOrderPage(sql, ordersIn(sql, filter, part), filter, LIST_SCAN_ROWS, false);
}

/**
 * Reads a page of the orders that were looked at.
 *
 * @param looked the rows of `orders` as `o`, with `wanted`, and `scanned`: how many of its store were looked at
 *   up to it
 * @param scanRows the most of a store that are; the list goes on behind the last one where it has that number
 * @param isChain whether an order has its `retailer_id`, and no `tracking_token`: whoever has it can change notes
 */
export async function readOrderPage(
  sql: Sql,
  looked: Fragment,
  { limit }: OrderFilter,
  scanRows: number,
  isChain: boolean,
): Promise<OrderPage> {
  const rows = await sql`
    select id, external_id, status, delivery_tier, delivery_fee_cents as delivery_fee, payment_status, sms_status,
      driver_id, reason_code, created_at, updated_at, assigned_at, ${scheduleColumns(sql, sql`o`)},
      pickup_lat, pickup_lng, case when status in ('driver_assigned', 'picked_up') then (
        select json_build_object('lat', a.lat, 'lng', a.lng, 'accuracyMeters', a.accuracy_meters)
        from dropoff_addresses a where a.id = o.dropoff_address_id and a.lat is not null) end as dropoff,
      ${onRoute(sql)} as on_route, ${shownPlan(sql)} as plan,
      ${microsOf(sql, sql`updated_at`)} as micros, scanned, wanted
      ${isChain ? sql`, retailer_id` : sql`, tracking_token`}
    from ${looked}
    order by updated_at, id limit ${limit + 1}`;
  const page = rows.slice(0, limit);
  const listed = page.filter(({ wanted }) => wanted);
  const places = await placesOnRoutes(listed);
  // The last order that was looked at comes also where it is not asked for.
  const endsEarly = rows.length <= limit && rows.at(-1)?.scanned === scanRows;
  const last = page.at(-1);
  return {
    orders: listed.map((row) => onWire(row, places.get(row.id) ?? null)),
    next: (rows.length > limit || endsEarly) && last ? { micros: last.micros, id: last.id } : null,
  };
}

/** The part of a store's orders that an index finds: `and …`. No order changed before it was created. */
export function listedWithin(sql: Sql, { externalId, createdAfter, updatedAfter, cursor }: OrderFilter): Fragment {
  return sql`
    ${externalId === null ? sql`` : sql`and external_id = ${externalId}`}
    ${createdAfter ? sql`and updated_at >= ${createdAfter}` : sql``}
    ${updatedAfter ? sql`and updated_at > ${new Date(updatedAfter.getTime() - LIST_OVERLAP_MS)}` : sql``}
    ${cursor ? sql`and (updated_at, id) > ${rowAt(sql, cursor)}` : sql``}`;
}

/** The part that is looked at row by row. */
export const createdWithin = (sql: Sql, { createdAfter, createdBefore }: OrderFilter): Fragment => sql`
  ${createdAfter ? sql`created_at >= ${createdAfter}` : sql`true`}
  and ${createdBefore ? sql`created_at < ${createdBefore}` : sql`true`}`;

/**
 * The orders in a status by the index that holds few others. A status stands in the statement as it is in the
 * index, since Postgres takes a partial index for nothing else.
 *
 * @param part which of them; of one store, or under way
 */
export function ordersIn(sql: Sql, filter: OrderFilter, part: Fragment): Fragment {
  const { status, externalId } = filter;
  const created = createdWithin(sql, filter);
  const rare = externalId === null ? rareStatus(sql, status) : null;
  const underWay = externalId === null ? statusUnderWay(sql, status) : null;
  if (rare) return looked(sql, sql`${rare} and ${part}`, created);
  if (underWay) return carried(sql, underWay, sql`${part} and ${created}`);
  return looked(sql, part, sql`${status ? sql`status = ${status}` : sql`status <> 'void'`} and ${created}`);
}

const RARE: readonly OrderStatus[] = ['cancelled', 'expired', 'undeliverable', 'returned'];
const UNDER_WAY: readonly OrderStatus[] = ['pending_dispatch', 'driver_assigned', 'picked_up'];

/** A status of `orders_rare_by_update` as it is in that index; null for any other. */
export const rareStatus = (sql: Sql, status: OrderStatus | null) => literalStatus(sql, status, RARE);

/** A status of the partial index of all stores' orders that wait or are carried; null for any other. */
export const statusUnderWay = (sql: Sql, status: OrderStatus | null) => literalStatus(sql, status, UNDER_WAY);

function literalStatus(sql: Sql, status: OrderStatus | null, indexed: readonly OrderStatus[]): Fragment | null {
  if (status === null || !indexed.includes(status)) return null;
  const text = [`status = '${status}'`];
  return sql(Object.assign(text, { raw: text }));
}

/**
 * By the partial index of all stores' orders that wait or are carried: a store has few beside those that are
 * over. `offset 0` keeps Postgres from walking along the store's orders instead.
 */
const carried = (sql: Sql, isStatus: Fragment, part: Fragment): Fragment => sql`
  (select *, null::int8 as scanned, true as wanted from orders where ${isStatus} offset 0) o where ${part}`;

/**
 * Along an index in the order of the list (`orders_by_update`, `orders_rare_by_update`,
 * `orders_by_external_id`), LIST_SCAN_ROWS orders of it at most; the last one always comes.
 */
const looked = (sql: Sql, part: Fragment, isWanted: Fragment): Fragment => sql`
  (select *, row_number() over (order by updated_at, id) as scanned, ${isWanted} as wanted from orders where ${part}
   order by updated_at, id limit ${LIST_SCAN_ROWS}) o
  where wanted or scanned = ${LIST_SCAN_ROWS}`;

/** The order without the columns of the cursor. */
function onWire(row: Row, place: PlaceOnRoute | null): ListedOrder {
  const { micros, scanned, wanted, ready_at, deliver_after, promised_by, dispatch_from, ...rest } = row;
  const { assigned_at: assignedAt, pickup_lat: lat, pickup_lng: lng, dropoff, on_route, plan, ...order } = rest;
  void [micros, scanned, wanted, ready_at, deliver_after, promised_by, dispatch_from, on_route];
  const { status, driver_id: driverId } = row;
  const onTheWay = { onRoute: place, pickup: { lat, lng }, dropoff, plan };
  return { ...order, times: { ...toScheduled(row), status, driverId, assignedAt, ...onTheWay } } as ListedOrder;
}
