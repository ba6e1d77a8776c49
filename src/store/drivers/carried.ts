import type { Fragment, Row, Sql } from 'postgres';
import type { OrderStatus } from '../../domain/order.ts';
import { type CarriedOrder, STEPS } from '../../domain/route.ts';
import { active } from '../fragments.ts';
import { promisedBy } from '../orders/order-times.ts';

/** Joins the active orders `o` of a driver `d`, with their doors `a`. */
export const joinCarried = (sql: Sql): Fragment => sql`
  left join orders o on o.driver_id = d.id and o.status in ${active(sql)}
  left join dropoff_addresses a on a.id = o.dropoff_address_id`;

/** What {@link toCarried} reads; `order_id` is null for a driver who carries nothing. */
export const carriedColumns = (sql: Sql): Fragment => sql`
  o.id as order_id, o.retailer_id, o.driver_slot, o.status, o.pickup_lat, o.pickup_lng, a.lat as door_lat,
  a.lng as door_lng, coalesce(o.ready_at, o.created_at) as ready_at, o.deliver_after,
  ${promisedBy(sql, sql`o`)} as deliver_by`;

export function toCarried(row: Row): CarriedOrder {
  return {
    orderId: row.order_id,
    retailerId: row.retailer_id,
    slot: row.driver_slot,
    step: STEPS[row.status as OrderStatus] ?? 'to_fetch',
    pickup: { lat: row.pickup_lat, lng: row.pickup_lng },
    dropoff: row.door_lat === null ? null : { lat: row.door_lat, lng: row.door_lng },
    readyAtMs: row.ready_at.getTime(),
    ...(row.deliver_after === null ? {} : { deliverAfterMs: row.deliver_after.getTime() }),
    deliverByMs: row.deliver_by.getTime(),
  };
}
