import type { Row, Sql } from 'postgres';
import { FIRST_ID } from '../domain/ids.ts';
import type { OrderStatus } from '../domain/order.ts';
import type { TierId } from '../domain/tier.ts';
import type { Point } from '../geo/point.ts';
import { CATCH_UP_DRIVERS } from '../limits.ts';
import type { Db } from './db.ts';
import { active } from './fragments.ts';

/** An order that waits for a driver, as the matcher needs to know one. */
export type WaitingRow = {
  readonly orderId: string;
  readonly retailerId: string;
  readonly tierId: TierId;
  readonly point: Point;
  readonly sinceMs: number;
  /** Drivers who gave it back. */
  readonly excludedDriverIds?: ReadonlySet<string>;
};

const columns = (sql: Sql) =>
  sql`id, retailer_id, delivery_tier, pickup_lat, pickup_lng, created_at, excluded_driver_ids`;
/** Whose time is up waits no more, though it has yet to expire: no driver can be given it. */
const waits = (sql: Sql) => sql`status = 'pending_dispatch' and expires_at > now()`;

function toWaiting(row: Row): WaitingRow {
  return {
    orderId: row.id,
    retailerId: row.retailer_id,
    tierId: row.delivery_tier,
    point: { lat: row.pickup_lat, lng: row.pickup_lng },
    sinceMs: row.created_at.getTime(),
    ...(row.excluded_driver_ids.length > 0 ? { excludedDriverIds: new Set<string>(row.excluded_driver_ids) } : {}),
  };
}

/** Every waiting order, oldest first, at most `limit`. */
export async function loadWaiting({ sql }: Db, limit: number): Promise<WaitingRow[]> {
  const rows = await sql`
    select ${columns(sql)} from orders where ${waits(sql)} order by created_at limit ${limit}`;
  return rows.map(toWaiting);
}

/** What a process must know of orders that another one changed. */
export type OrderState = {
  readonly orderId: string;
  readonly status: OrderStatus;
  readonly driverId: string | null;
  readonly waiting: WaitingRow | null;
};

/** The truth about a few orders, read after a notice. */
export async function loadOrderStates({ sql }: Db, orderIds: readonly string[]): Promise<OrderState[]> {
  const rows = await sql`
    select ${columns(sql)}, status, driver_id, ${waits(sql)} as waits
    from orders where id = any(${[...orderIds]}::uuid[]) and status <> 'void'`;
  return rows.map((row) => ({
    orderId: row.id,
    status: row.status,
    driverId: row.driver_id,
    waiting: row.waits ? toWaiting(row) : null,
  }));
}

/** Orders that wait, and drivers who could be given one, by their ids. */
export type Matchable = {
  readonly orderIds: readonly string[];
  readonly driverIds: readonly string[];
  /** Where to look for drivers next: after the last one looked at, or again from the first. */
  readonly nextAfter: string;
};

/**
 * What there is to match, as ids alone: cheap enough to be asked for over and over, to find what a process has missed. Of
 * the drivers one part is looked at each time, so that it costs the same however many there are.
 *
 * @param limit of the orders; the oldest are named
 * @param freshMs drivers whose last position is older are not named
 * @param after the drivers whose ids follow are looked at, `part` of them
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
        select id from orders where ${waits(sql)} order by created_at limit ${limit}) w) as order_ids,
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

/** The ids of waiting orders whose time is up, at most `limit`. */
export async function findOverdue({ sql }: Db, limit: number): Promise<string[]> {
  const rows = await sql`
    select id from orders where status = 'pending_dispatch' and expires_at <= now() limit ${limit}`;
  return rows.map((row) => row.id);
}

/** How long the oldest waiting order has waited, in seconds; 0 when none waits. */
export async function readOldestWaiting({ sql }: Db): Promise<number> {
  const [row] = await sql`
    select coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as seconds from orders
    where status = 'pending_dispatch'`;
  return Math.max(0, row?.seconds ?? 0);
}
