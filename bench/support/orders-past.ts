import type { Sql } from '../../src/postgres/connect.ts';
import { STORE_ADDRESS } from '../../test/harness/order-world.ts';

/**
 * Writes complete orders to the tables, spread over all stores and tiers: `delivered` ones with their events
 * and done jobs, or ones that wait for a driver and owe the job that will expire them.
 */
export async function addOrders(sql: Sql, count: number, status: 'delivered' | 'pending_dispatch'): Promise<void> {
  if (count === 0) return;
  const delivered = status === 'delivered';
  await sql`drop table if exists made`;
  await sql`create unlogged table made as
    select gen_random_uuid() as id, gen_random_uuid() as customer_id, gen_random_uuid() as address_id,
      gen_random_uuid() as driver_id, r.id as retailer_id, r.lat, r.lng, t.id as tier, t.fee_cents, t.payout_cents,
      now() - n % 86000 * interval '1 second' - case when ${delivered} then interval '1 day' else interval '0' end as at
    from generate_series(1, ${count}::int) n
    join (select *, row_number() over (order by id) - 1 as place, count(*) over () as stores from retailers) r
      on r.place = n % r.stores
    join (select *, row_number() over (order by id) - 1 as place from tiers) t on t.place = n / r.stores % 3`;
  await sql`insert into customers select customer_id, 'Jordan Lee', 'jordan@example.com', '+14155550123', true from made`;
  await sql`insert into dropoff_addresses (id, line1, city, state, zip)
    select address_id, '401 Valencia St', 'San Francisco', 'CA', '94103' from made`;
  await sql`
    insert into orders (id, retailer_id, customer_id, dropoff_address_id, driver_id, status, delivery_tier,
      delivery_fee_cents, driver_payout_cents, payment_status, sms_status, tracking_token, pickup_address, pickup_lat,
      pickup_lng, pickup_point_source, sequence, created_at, assigned_at, picked_up_at, delivered_at, ended_at, expires_at)
    select id, retailer_id, customer_id, address_id, case when ${delivered} then driver_id end, ${status}, tier,
      fee_cents, payout_cents, case when ${delivered} then 'paid' else 'not_charged' end, 'sent',
      replace(id::text, '-', ''), ${STORE_ADDRESS}, lat, lng, 'registered', case when ${delivered} then 4 else 1 end, at,
      ended, ended, ended, ended, at + interval '2 days'
    from made, lateral (select case when ${delivered} then at end as ended) e`;
  await sql`
    insert into order_events (order_id, sequence, type, at)
    select id, e.sequence, e.type, at from made,
      (values (1, 'created'), (2, 'driver_assigned'), (3, 'picked_up'), (4, 'delivered')) as e (sequence, type)
    where ${delivered} or e.sequence = 1`;
  await (delivered ? addDoneJobs(sql) : addOwedJobs(sql));
  await sql`drop table made`;
  await sql`vacuum analyze`;
  await sql`checkpoint`;
}

function addDoneJobs(sql: Sql) {
  return sql`
    insert into outbox (queue, order_id, retailer_id, run_at, lease_until, created_at, done_at)
    select queue, id, retailer_id, at, at, at, at from made, unnest(array['charge', 'sms']) as queue`;
}

function addOwedJobs(sql: Sql) {
  return sql`
    insert into outbox (queue, order_id, retailer_id, run_at, lease_until)
    select 'redispatch', id, retailer_id, at + interval '2 days', at + interval '49 hours' from made`;
}
