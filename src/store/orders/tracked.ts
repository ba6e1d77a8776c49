import type { Row, Sql } from 'postgres';
import { UNDELIVERABLE_REASONS } from '../../domain/order.ts';
import { windowOf } from '../../domain/schedule.ts';
import type { PlaceOnRoute, TrackedOrder } from '../../domain/tracked.ts';
import type { Db } from '../db.ts';
import { shownPlan } from '../planning/plan-readings.ts';
import { onRoute, placesOnRoutes } from './order-on-route.ts';
import { isNotYet, scheduleColumns, toScheduled } from './order-times.ts';

const iso = (date: Date | null): string | null => date?.toISOString() ?? null;

async function readTracked(sql: Sql, condition: ReturnType<Sql>): Promise<TrackedOrder[]> {
  const rows = await sql`
    select o.id, o.tracking_token, o.sequence, o.status, r.name as store_name, o.driver_id,
      split_part(d.name, ' ', 1) as driver_first_name, o.pickup_lat, o.pickup_lng, o.created_at, o.assigned_at,
      o.picked_up_at, o.delivered_at, coalesce(o.ended_at, o.undeliverable_at) as ended_at,
      exists (select from order_events e where e.order_id = o.id and e.type = 'released') as was_released,
      o.photo_name is not null as has_photo, o.reason_code, ${onRoute(sql)} as on_route,
      ${scheduleColumns(sql, sql`o`)}, ${isNotYet(sql, sql`o`)} as is_not_yet,
      ${shownPlan(sql)} as plan,
      o.dropoff_instructions, o.leave_at_door, a.lat, a.lng, a.accuracy_meters
    from orders o join retailers r on r.id = o.retailer_id left join drivers d on d.id = o.driver_id
      left join dropoff_addresses a on a.id = o.dropoff_address_id
    where ${condition} and o.status <> 'void'`;
  const places = await placesOnRoutes(rows);
  return rows.map((row) => toTracked(row, places.get(row.id) ?? null));
}

function toTracked(row: Row, place: PlaceOnRoute | null): TrackedOrder {
  const schedule = toScheduled(row);
  const pickup = { lat: row.pickup_lat, lng: row.pickup_lng };
  const dropoff = row.lat === null ? null : { lat: row.lat, lng: row.lng, accuracyMeters: row.accuracy_meters };
  return {
    orderId: row.id,
    trackingToken: row.tracking_token,
    sequence: row.sequence,
    status: row.status,
    storeName: row.store_name,
    driverId: row.driver_id,
    driverFirstName: row.driver_first_name,
    onRoute: place,
    planned: row.plan?.range ?? (row.is_not_yet ? windowOf({ ...schedule, pickup, dropoff }) : null),
    deliverBy: schedule.deliverBy.toISOString(),
    pickup,
    dropoff,
    createdAt: row.created_at.toISOString(),
    assignedAt: iso(row.assigned_at),
    pickedUpAt: iso(row.picked_up_at),
    deliveredAt: iso(row.delivered_at),
    endedAt: iso(row.ended_at),
    wasReleased: row.was_released,
    reason: UNDELIVERABLE_REASONS.find((reason) => reason === row.reason_code) ?? null,
    dropoffInstructions: row.dropoff_instructions,
    leaveAtDoor: row.leave_at_door,
    hasPhoto: row.has_photo,
  };
}

/** What the tracking page shows of the order with this token; null for an unknown token. */
export async function findTrackedByToken({ sql }: Db, token: string): Promise<TrackedOrder | null> {
  const [order] = await readTracked(sql, sql`o.tracking_token = ${token}`);
  return order ?? null;
}

/** The same for orders by their ids; an unknown one is missing. */
export async function findTrackedByIds({ sql }: Db, orderIds: readonly string[]): Promise<Map<string, TrackedOrder>> {
  const orders = await readTracked(sql, sql`o.id = any(${[...orderIds]}::uuid[])`);
  return new Map(orders.map((order) => [order.orderId, order]));
}

/** The stored name of the handover's photo; null for an unknown token or an order without one. */
export async function findPhotoName({ sql }: Db, token: string): Promise<string | null> {
  const [row] = await sql`select photo_name from orders where tracking_token = ${token}`;
  return row?.photo_name ?? null;
}
