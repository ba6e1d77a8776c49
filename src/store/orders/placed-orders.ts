import type { Fragment, Row, Sql } from 'postgres';
import { firstEstimate } from '../../domain/estimate.ts';
import type { EarlierOrder } from '../../domain/order.ts';
import type { Point } from '../../geo/point.ts';
import type { Db } from '../db.ts';
import { isPlanned } from '../planning/plan-readings.ts';
import { scheduleColumns, toScheduled } from './order-times.ts';

/** Where a door is by its ZIP code; null where that is not known. */
export type DoorByZip = (zip: string) => (Point & { readonly accuracyMeters: number }) | null;

/** An order as its creation was answered, but with its present payment status, and its status by now. */
export type PlacedOrder = { readonly order: EarlierOrder; readonly fingerprint: string };

/**
 * The orders that a store created with idempotency keys, however old, by key; an unused key is missing.
 *
 * @param doorByZip as its creation knew the door; by default where it is as far as is known by now
 */
export async function findPlacedByKeys(
  { sql }: Db,
  retailerId: string,
  idempotencyKeys: readonly string[],
  doorByZip?: DoorByZip,
): Promise<Map<string, PlacedOrder>> {
  const which = sql`o.retailer_id = ${retailerId} and o.idempotency_key = any(${[...idempotencyKeys]}::text[])`;
  const placed = await readPlaced(sql, which, doorByZip);
  return new Map(placed.map(({ idempotencyKey, ...order }) => [idempotencyKey, order]));
}

/** The orders with these ids that exist, by id; `doorByZip` as for `findPlacedByKeys`. */
export async function findPlacedByIds(
  { sql }: Db,
  ids: readonly string[],
  doorByZip?: DoorByZip,
): Promise<Map<string, EarlierOrder>> {
  const placed = await readPlaced(sql, sql`o.id = any(${[...ids]}::uuid[])`, doorByZip);
  return new Map(placed.map(({ order }) => [order.id, order]));
}

type WithKey = PlacedOrder & { readonly idempotencyKey: string };

async function readPlaced(sql: Sql, which: Fragment, doorByZip?: DoorByZip): Promise<WithKey[]> {
  const rows = await sql`
    select o.id, o.delivery_tier, o.delivery_fee_cents, o.payment_status, o.tracking_token, o.created_at,
      o.status, o.external_id, ${scheduleColumns(sql, sql`o`)}, o.pickup_lat, o.pickup_lng, a.lat, a.lng,
      a.accuracy_meters, a.zip, ${isPlanned(sql)} as is_planned, o.idempotency_key,
      concat_ws(' ', o.request_fingerprint, o.extras_fingerprint) as fingerprint,
      -- The assignment of an order that was created with a driver has the time of its creation.
      (select coalesce(e.data -> 'distance_meters', '0') from order_events e
       where e.order_id = o.id and e.sequence = 2 and e.type = 'driver_assigned' and e.at = o.created_at) as driver_meters
    from orders o left join dropoff_addresses a on a.id = o.dropoff_address_id where ${which} and o.status <> 'void'`;
  return rows.map((row) => ({
    order: toEarlier(row, doorByZip),
    fingerprint: row.fingerprint,
    idempotencyKey: row.idempotency_key,
  }));
}

function toEarlier(row: Row, doorByZip?: DoorByZip): EarlierOrder {
  const schedule = toScheduled(row);
  const pickup = { lat: row.pickup_lat, lng: row.pickup_lng };
  const located = row.lat === null ? null : { lat: row.lat, lng: row.lng, accuracyMeters: row.accuracy_meters };
  const dropoff = doorByZip && row.zip !== null ? doorByZip(row.zip) : located;
  const { created_at: createdAt, driver_meters: driverMeters } = row;
  const estimatedDelivery = firstEstimate({ ...schedule, createdAt, pickup, dropoff }, driverMeters);
  return {
    id: row.id,
    status: driverMeters === null ? 'pending_dispatch' : 'driver_assigned',
    tierId: row.delivery_tier,
    feeCents: row.delivery_fee_cents,
    paymentStatus: row.payment_status,
    trackingToken: row.tracking_token,
    createdAt,
    externalId: row.external_id,
    deliverBy: schedule.deliverBy,
    estimatedDelivery,
    isForLater: driverMeters === null && estimatedDelivery !== null,
    statusNow: row.status,
    isPlanned: row.is_planned,
  };
}
