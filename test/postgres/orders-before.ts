import { newId } from '../../src/domain/ids.ts';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import { STEP_MS } from '../harness/patience.ts';

/*
 * Orders on the tables of an earlier build, whose columns a later migration may not take away while that build goes on.
 * Today's statements may name columns that these tables do not have yet.
 */

const RETAILER_ID = newId();

/** Inserts a store. */
export async function addStoreBefore(sql: Sql): Promise<void> {
  await sql`
    insert into retailers (id, name, address, lat, lng)
    values (${RETAILER_ID}, 'Corner Market', 'One Test Square', 1, 2)`;
}

/** Inserts so many ended orders, and `others` rows in each of the other tables that grow with the orders. */
export async function fillOrders(url: string, orders: number, others: number): Promise<void> {
  const sql = connect({ url, applicationName: 'test', max: 1, statementTimeoutMs: 0, deadlineMs: 0 });
  await sql`set session_replication_role = replica`;
  await sql`
    insert into orders (id, retailer_id, customer_id, dropoff_address_id, status, delivery_tier, delivery_fee_cents,
      driver_payout_cents, payment_status, sms_status, tracking_token, pickup_address, pickup_lat, pickup_lng,
      pickup_point_source, created_at, expires_at)
    select gen_random_uuid(), ${RETAILER_ID}::uuid, gen_random_uuid(), gen_random_uuid(), 'expired', 'standard', 799,
      550, 'not_charged', 'none', n::text, 'One Test Square', 37.7, -122.4, 'registered', now(), now()
    from generate_series(1, ${orders}::int) n`;
  await createOrders(sql, others);
  const some = sql`from orders limit ${others}::int`;
  await sql`insert into payments (order_id, attempt, amount_cents, status) select id, 1, 799, 'paid' ${some}`;
  await sql`insert into messages (order_id, status) select id, 'sent' ${some}`;
  await sql`
    insert into texts (order_id, kind, recipient, outbox_id)
    select id, 'delivered', 'customer', row_number() over () ${some}`;
  await sql`
    insert into payouts (order_id, driver_id, amount_cents, status) select id, gen_random_uuid(), 550, 'owed' ${some}`;
  await sql`
    insert into store_events (number, order_id, sequence, retailer_id, type, at, status, payment_status)
    select row_number() over (), id, 1, retailer_id, 'order.created', created_at, status, payment_status ${some}`;
  await sql`
    insert into webhook_deliveries (outbox_id, retailer_id, order_id, type, sequence, payload, status)
    select row_number() over (), retailer_id, id, 'order.created', 1, '{}', 'delivered' ${some}`;
  // Autovacuum would do it at some moment, and hold a lock meanwhile.
  await sql`vacuum (analyze)`;
  await sql.end({ timeout: 5 });
}

/** Creates orders that wait for a driver, as the service does, by one statement. */
async function createOrders(sql: Sql, count: number): Promise<string[]> {
  const created = await sql<{ id: string }[]>`
    with input as materialized (
      select gen_random_uuid() as id, gen_random_uuid() as customer_id, gen_random_uuid() as address_id
      from generate_series(1, ${count}::int)
    ), created as (
      insert into orders (id, retailer_id, customer_id, dropoff_address_id, status, delivery_tier, delivery_fee_cents,
        driver_payout_cents, payment_status, sms_status, tracking_token, pickup_address, pickup_lat, pickup_lng,
        pickup_point_source, created_at, expires_at)
      select i.id, r.id, customer_id, address_id, 'pending_dispatch', 'standard', 799, 550, 'not_charged', 'queued',
        i.id || '-', r.address, r.lat, r.lng, 'registered', now(), now()
      from input i join retailers r on r.id = ${RETAILER_ID}
      returning id, retailer_id, created_at
    ), customers as (
      insert into customers (id, name, email, phone, sms_opt_in)
      select customer_id, 'Jordan Lee', 'jordan@example.com', '+14155550123', true from input
    ), addresses as (
      insert into dropoff_addresses (id, line1, city, state, zip)
      select address_id, '401 Valencia St', 'San Francisco', 'CA', '94103' from input
    ), events as (
      insert into order_events (order_id, sequence, type, at, told)
      select id, 1, 'created', created_at, true from created
    ), told as (
      insert into unnumbered_events (order_id, sequence, type, retailer_id, at, status, payment_status)
      select id, 1, 'order.created', retailer_id, created_at, 'pending_dispatch', 'not_charged' from created
    ), jobs as (
      insert into outbox (queue, order_id, retailer_id, lease_until)
      select 'sms', id, retailer_id, created_at from created
    )
    select id from created`;
  return created.map(({ id }) => id);
}

async function cancelOrder(sql: Sql, id: string): Promise<void> {
  await sql`
    with cancelled as (
      update orders set status = 'cancelled', cancelled_by = 'store', sequence = 2, ended_at = now() where id = ${id}
      returning id
    ), done as (
      update outbox set done_at = now() where order_id in (select id from cancelled)
    )
    insert into order_events (order_id, sequence, type, told) select id, 2, 'cancelled', true from cancelled`;
}

/** Creates and cancels one order after the other while `work` goes on; returns how many, and the longest statement. */
export async function besideOrders(
  url: string,
  work: () => Promise<unknown>,
): Promise<{ readonly orders: number; readonly longestMs: number }> {
  // Without the service's time-outs: how long a statement waits is to be known.
  const sql = connect({ url, applicationName: 'sameday', max: 1, statementTimeoutMs: STEP_MS, deadlineMs: STEP_MS });
  let longestMs = 0;
  let orders = 0;
  const timed = async <Result>(statement: Promise<Result>): Promise<Result> => {
    const beganMs = performance.now();
    const result = await statement;
    longestMs = Math.max(longestMs, performance.now() - beganMs);
    return result;
  };
  const one = async (): Promise<void> => {
    for (const id of await timed(createOrders(sql, 1))) await timed(cancelOrder(sql, id));
    orders += 1;
  };
  try {
    // Types of parameters are asked for once.
    await one();
    longestMs = 0;
    let isOver = false;
    const working = work().finally(() => {
      isOver = true;
    });
    const goingOn = (async () => {
      while (!isOver) await one();
    })();
    await Promise.all([working, goingOn]);
    return { orders, longestMs };
  } finally {
    await sql.end({ timeout: 5 });
  }
}
