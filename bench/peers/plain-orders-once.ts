import type { Sql } from 'postgres';
import { type NewPlainOrder, pointOf, takingNearest, toReply } from './plain-orders.ts';

/**
 * `placeInTransaction` folded into one statement, which is its own transaction, as a team writes it that
 * knows the cost of a round trip. Where others are taking all of the nearest drivers the order waits.
 */
export async function placeInOneStatement(sql: Sql, order: NewPlainOrder) {
  const { body, tier, pickup, ids, token } = order;
  const { customer, dropoff_address: to } = body;
  const [row] = await sql`
    with ${takingNearest(sql, tier, pickup)}, driver as (
      select taken.id, taken.meters, taken.id is not null as found from (select) one left join taken on true
    ), customer as (
      insert into customers (id, name, email, phone, sms_opt_in)
      values (${ids.customer}, ${customer.name}, ${customer.email}, ${customer.phone}, ${customer.sms_opt_in})
    ), address as (
      insert into dropoff_addresses (id, line1, line2, city, state, zip)
      values (${ids.address}, ${to.line1}, ${to.line2 ?? null}, ${to.city}, ${to.state}, ${to.zip})
    ), event as (
      insert into order_events (order_id, type, data)
      select ${ids.order}::uuid, case when found then 'driver_assigned' else 'created' end,
        case when found then jsonb_build_object('driver_id', id, 'distance_meters', round(meters)) end
      from driver
    )
    insert into orders (id, retailer_id, customer_id, dropoff_address_id, driver_id, status, delivery_tier,
      delivery_fee_cents, driver_payout_cents, payment_status, sms_status, tracking_token, pickup_address,
      pickup_location, assigned_at, expires_at)
    select ${ids.order}::uuid, ${body.retailer_id}::uuid, ${ids.customer}::uuid, ${ids.address}::uuid, id,
      case when found then 'driver_assigned' else 'pending_dispatch' end, ${tier.id}, ${tier.feeCents}::int,
      ${tier.payoutCents}::int, case when found then 'processing' else 'not_charged' end,
      ${customer.sms_opt_in ? 'queued' : 'none'}, ${token}, ${body.pickup_address}, ${pointOf(sql, pickup)},
      case when found then now() end, now() + make_interval(secs => ${tier.maxWaitSeconds})
    from driver
    returning created_at, driver_id`;
  return toReply(order, row?.driver_id !== null, row?.created_at);
}
