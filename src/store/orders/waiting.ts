import type { Row, Sql } from 'postgres';
import { FIRST_ID } from '../../domain/ids.ts';
import type { OrderStatus } from '../../domain/order.ts';
import type { WaitingOrder } from '../../domain/waiting-order.ts';
import type { Db } from '../db.ts';
import { active } from '../fragments.ts';
import { DUE_TOLERANCE_MS, isNotYet, scheduleColumns } from './order-times.ts';

/** Drivers that one sweep compares with the tables; the next sweep goes on from there. */
const CATCH_UP_DRIVERS = 20_000;

const columns = (sql: Sql) => sql`
  o.id, o.retailer_id, o.delivery_tier, o.pickup_lat, o.pickup_lng, o.created_at, o.fair_start,
  o.excluded_driver_ids, o.payment_status, o.size, ${scheduleColumns(sql, sql`o`)}, a.lat, a.lng,
  ${isNotYet(sql, sql`o`)} as is_not_yet`;
const fromOrders = (sql: Sql) => sql`orders o left join dropoff_addresses a on a.id = o.dropoff_address_id`;
/** An order whose time is up does not wait any more, even before it is expired: no driver can get it. */
const waits = (sql: Sql) => sql`o.status = 'pending_dispatch' and o.expires_at > now()`;

function toWaiting(row: Row): WaitingOrder {
  return {
    orderId: row.id,
    retailerId: row.retailer_id,
    tierId: row.delivery_tier,
    point: { lat: row.pickup_lat, lng: row.pickup_lng },
    sinceMs: (row.dispatch_from ?? row.created_at).getTime(),
    size: row.size,
    readyAtMs: (row.ready_at ?? row.created_at).getTime(),
    deliverByMs: row.promised_by.getTime(),
    dropoff: row.lat === null ? null : { lat: row.lat, lng: row.lng },
    ...(row.deliver_after === null ? {} : { deliverAfterMs: row.deliver_after.getTime() }),
    ...(row.is_not_yet ? { dueMs: row.dispatch_from.getTime() } : {}),
    ...(row.fair_start === null ? {} : { fairStartMs: row.fair_start.getTime() }),
    ...(row.excluded_driver_ids.length > 0 ? { excludedDriverIds: new Set<string>(row.excluded_driver_ids) } : {}),
    ...(['processing', 'paid'].includes(row.payment_status) ? { isCharged: true } : {}),
  };
}

/** The waiting orders, and those that wait for their time, oldest first, at most `limit`. */
export async function loadWaiting({ sql }: Db, limit: number): Promise<WaitingOrder[]> {
  const rows = await sql`
    select ${columns(sql)} from ${fromOrders(sql)} where ${waits(sql)} order by o.created_at limit ${limit}`;
  return rows.map(toWaiting);
}

/** What a process needs to know of an order that another one changed. */
export type OrderState = {
  readonly orderId: string;
  readonly status: OrderStatus;
  readonly driverId: string | null;
  readonly waiting: WaitingOrder | null;
};

/** The states of orders; an unknown one is missing. */
export async function loadOrderStates({ sql }: Db, orderIds: readonly string[]): Promise<OrderState[]> {
  const rows = await sql`
    select ${columns(sql)}, o.status, o.driver_id, ${waits(sql)} as waits
    from ${fromOrders(sql)} where o.id = any(${[...orderIds]}::uuid[]) and o.status <> 'void'`;
  return rows.map((row) => ({
    orderId: row.id,
    status: row.status,
    driverId: row.driver_id,
    waiting: row.waits ? toWaiting(row) : null,
  }));
}

/** The ids of waiting orders, those that wait for their time included, and of drivers who are available. */
export type Matchable = {
  readonly orderIds: readonly string[];
  readonly driverIds: readonly string[];
  /** The `after` of the next call: the last driver of this part, or the first of all after the last part. */
  readonly nextAfter: string;
};

/**
 * The ids of what there is to match, by which a process finds what it has missed. Each call looks at one part
 * of the drivers, so that its cost does not depend on the size of the fleet.
 *
 * @param limit most orders; the oldest come first
 * @param freshMs age of the last position above which a driver is left out
 * @param after the part begins with the next id
 * @param part most drivers that are looked at
 */
export async function findMatchable(
  { sql }: Db,
  limit: number,
  freshMs: number,
  after: string = FIRST_ID,
  part: number = CATCH_UP_DRIVERS,
): Promise<Matchable> {
  const [row] = await sql`
    with looked_at as materialized (
      select id, active and on_duty as may from drivers where id > ${after} order by id limit ${part}
    )
    select
      (select string_agg(id::text, ',') from (
        select id from orders o where ${waits(sql)} order by created_at limit ${limit}) w) as order_ids,
      (select string_agg(d.id::text, ',') from looked_at d join driver_positions p on p.driver_id = d.id
       where d.may and p.captured_at > now() - make_interval(secs => ${freshMs / 1000})
         and not exists (select from orders o where o.driver_id = d.id
                         and o.status in ${active(sql)})) as driver_ids,
      (select id from looked_at order by id desc limit 1) as last,
      (select count(*) from looked_at)::int as looked_at`;
  const ids = (text: string | null | undefined) => (text ? text.split(',') : []);
  const nextAfter = row?.looked_at < part ? FIRST_ID : (row?.last as string);
  return { orderIds: ids(row?.order_ids), driverIds: ids(row?.driver_ids), nextAfter };
}

/** The ids of unassigned orders whose time is up, at most `limit`. */
export async function findOverdue({ sql }: Db, limit: number): Promise<string[]> {
  const rows = await sql`
    select id from orders where status = 'pending_dispatch' and expires_at <= now() limit ${limit}`;
  return rows.map((row) => row.id);
}

/** Time for which the oldest unassigned order has waited for a driver, in seconds; 0 if there is none. */
export async function readOldestWaiting({ sql }: Db): Promise<number> {
  const [row] = await sql`
    select extract(epoch from now() - oldest_since)::float8 as seconds
    from count_open_orders(${DUE_TOLERANCE_MS / 1_000}::float8) where status = 'pending_dispatch'`;
  return Math.max(0, row?.seconds ?? 0);
}
