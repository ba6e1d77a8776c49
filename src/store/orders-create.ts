import type { Fragment, Row, Sql } from 'postgres';
import type { DropoffPoint } from '../domain/dropoff.ts';
import type { Identity } from '../domain/idempotency.ts';
import type { CreatedOrder, PickupPointSource, PlaceOrder } from '../domain/order.ts';
import type { ChosenDriver } from '../domain/rejected-candidate.ts';
import type { Tier } from '../domain/tier.ts';
import type { Point } from '../geo/point.ts';
import { ARRAY_OF } from '../postgres/types.ts';
import { type OutboxRow, parseOutboxRows } from './outbox.ts';
import { rejectedCandidatesText } from './rejected-candidates.ts';
import { claimFingerprints } from './request-dedup.ts';
import { insertDeliveries } from './webhooks.ts';

/** An order on its way into the database: everything decided but whether its driver is still free. */
export type NewOrder = {
  readonly id: string;
  readonly customerId: string;
  readonly dropoffAddressId: string;
  readonly trackingToken: string;
  readonly keyId: string;
  readonly request: PlaceOrder;
  readonly tier: Tier;
  readonly pickup: Point;
  readonly pickupPointSource: PickupPointSource;
  /** As far as it is known without asking anybody. */
  readonly dropoff: DropoffPoint | null;
  readonly driver: ChosenDriver | null;
  /** Null where equal requests have nothing to do with each other. */
  readonly idempotency: Identity | null;
};

export type CommittedOrder = {
  readonly id: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** The jobs this process has to relay. */
  readonly outbox: readonly OutboxRow[];
};

/** Why a row of a batch was not inserted; `key_used` of an idempotency key. */
export type RefusedOrder = 'key_dead' | 'key_used' | 'driver_lost' | 'voided';

/**
 * Inserts a batch of orders with their customers, addresses, events and outbox rows: one statement, one commit.
 *
 * The joins check again that key, store and driver are good; `on conflict do nothing` leaves out an order whose driver
 * was taken by another process. What did not come back is explained by {@link explainRefused}. Rows go in sorted by
 * driver, so that two processes with the same drivers cannot deadlock.
 *
 * @param origin the process that commits; it ignores its own notice
 * @param locate whether a job is owed that asks a geocoder for the dropoffs
 * @returns what was made, and null for a request without a key that an equal one stands in the way of (`unheard.ts`)
 */
export async function insertOrders(
  sql: Sql,
  orders: readonly NewOrder[],
  origin: string,
  locate = false,
): Promise<Map<string, CommittedOrder | null>> {
  const of = <T>(pick: (order: NewOrder) => T): T[] => orders.map(pick);
  const rows = await sql`
    with input as materialized (
      select * from unnest(
        ${of((o) => o.id)}::uuid[], ${of((o) => o.request.retailerId)}::uuid[], ${of((o) => o.keyId)}::uuid[],
        ${of((o) => o.driver?.driverId ?? null)}::uuid[], ${of((o) => o.driver?.distanceMeters ?? null)}::float8[],
        ${of((o) => o.customerId)}::uuid[], ${of((o) => o.request.customer.name)}::text[],
        ${of((o) => o.request.customer.email)}::text[], ${of((o) => o.request.customer.phone)}::text[],
        ${sql.array(
          of((o) => o.request.customer.smsOptIn),
          ARRAY_OF.bool,
        )}::bool[],
        ${of((o) => o.dropoffAddressId)}::uuid[], ${of((o) => o.request.dropoffAddress.line1)}::text[],
        ${of((o) => o.request.dropoffAddress.line2)}::text[], ${of((o) => o.request.dropoffAddress.city)}::text[],
        ${of((o) => o.request.dropoffAddress.state)}::text[], ${of((o) => o.request.dropoffAddress.zip)}::text[],
        ${of((o) => o.tier.id)}::text[], ${of((o) => o.tier.feeCents)}::int4[],
        ${of((o) => o.tier.payoutCents)}::int4[], ${of((o) => o.tier.maxWaitSeconds)}::int4[],
        ${of((o) => o.trackingToken)}::text[], ${of((o) => o.request.pickupAddress)}::text[],
        ${of((o) => o.pickup.lat)}::float8[], ${of((o) => o.pickup.lng)}::float8[],
        ${of((o) => o.pickupPointSource)}::text[],
        ${of((o) => o.dropoff?.point.lat ?? null)}::float8[], ${of((o) => o.dropoff?.point.lng ?? null)}::float8[],
        ${of((o) => o.dropoff?.accuracyMeters ?? null)}::int4[], ${of((o) => o.dropoff?.source ?? null)}::text[],
        ${of((o) => rejectedCandidatesText(o.driver))}::text[],
        ${of((o) => o.idempotency?.key ?? null)}::text[], ${of((o) => o.idempotency?.fingerprint ?? null)}::text[]
      ) as t(id, retailer_id, key_id, driver_id, distance, customer_id, name, email, phone, sms_opt_in,
             address_id, line1, line2, city, state, zip, tier, fee, payout, max_wait, token, pickup, lat, lng, source,
             to_lat, to_lng, to_accuracy, to_source, considered, idempotency_key, fingerprint)
    ), taken as (${claimFingerprints(sql, origin)}
    ), fresh as materialized (
      select i.*, i.idempotency_key is null and i.fingerprint is not null and t.fingerprint is null as repeats
      from input i left join taken t on t.fingerprint = i.fingerprint
    ), good as materialized (
      select i.*, date_trunc('milliseconds', now()) as at,
             case when i.driver_id is null then 'pending_dispatch' else 'driver_assigned' end as status
      from fresh i
      join retailers r on r.id = i.retailer_id and r.status = 'active'
      join api_keys k on k.id = i.key_id and k.retailer_id = r.id and k.revoked_at is null
      left join drivers d on d.id = i.driver_id and d.active and d.on_duty
      where (i.driver_id is null or d.id is not null) and not i.repeats
    ), created as (
      insert into orders (id, retailer_id, customer_id, dropoff_address_id, driver_id, status, delivery_tier,
        delivery_fee_cents, driver_payout_cents, payment_status, sms_status, tracking_token, pickup_address,
        pickup_lat, pickup_lng, pickup_point_source, sequence, created_at, assigned_at, expires_at, idempotency_key,
        request_fingerprint)
      select id, retailer_id, customer_id, address_id, driver_id, status, tier, fee, payout,
        case when driver_id is null then 'not_charged' else 'processing' end,
        case when sms_opt_in then 'queued' else 'none' end, token, pickup, lat, lng, source,
        case when driver_id is null then 1 else 2 end, at, case when driver_id is null then null else at end,
        at + make_interval(secs => max_wait), idempotency_key,
        case when idempotency_key is not null then fingerprint end
      from good order by driver_id, id
      on conflict do nothing
      returning id, retailer_id, driver_id, status, payment_status, sms_status, created_at, expires_at
    ), new_customers as (
      insert into customers (id, name, email, phone, sms_opt_in)
      select customer_id, name, email, phone, sms_opt_in from good join created using (id)
    ), new_addresses as (
      insert into dropoff_addresses (id, line1, line2, city, state, zip, lat, lng, accuracy_meters, point_source)
      select address_id, line1, line2, city, good.state, zip, to_lat, to_lng, to_accuracy, to_source
      from good join created using (id)
    ), new_events as (
      insert into order_events (order_id, sequence, type, at, data, considered)
      select id, 1, 'created', created_at, null::jsonb, null from created
      union all
      select id, 2, 'driver_assigned', created_at,
             jsonb_build_object('driver_id', created.driver_id, 'distance_meters', round(good.distance)), good.considered
      from created join good using (id) where created.driver_id is not null
    ), jobs as (
      insert into outbox (queue, order_id, retailer_id, run_at, lease_until)
      select queue, created.id, created.retailer_id, j.run_at, j.run_at + interval '30 seconds'
      from created cross join lateral (
        select 'charge' as queue, created.created_at as run_at where created.driver_id is not null
        union all select 'sms', created.created_at where created.sms_status = 'queued'
        union all select 'redispatch', created.expires_at where created.driver_id is null
        union all select 'locate', created.created_at where ${locate}::bool
        union all select 'webhook', created.created_at from webhook_endpoints w
          where w.retailer_id = created.retailer_id and w.disabled_at is null and created.driver_id is not null
      ) j
      returning id, queue, order_id, retailer_id, run_at
    ), deliveries as (${insertDeliveries(sql, 'order.assigned', assignedRows(sql))}
    ), notice as (
      select pg_notify('sameday', ${origin} || ':order:' || string_agg(id::text, ','))
      from (select id, row_number() over () / 200 as part from created) c group by part
    )
    select i.id, c.created_at, c.expires_at, coalesce(j.outbox, '[]') as outbox
    from fresh i left join created c on c.id = i.id
    -- Once over all jobs, not once an order: a batch of hundreds would look at each job hundreds of times.
    left join (
      select order_id, json_agg(json_build_object('id', id, 'queue', queue, 'order_id', order_id,
        'retailer_id', retailer_id, 'run_at', run_at)) as outbox
      from jobs group by order_id
    ) j on j.order_id = c.id
    where (c.id is not null or i.repeats) and (select count(*) from notice) >= 0`;
  return new Map(rows.map((row) => [row.id, row.created_at === null ? null : committedOf(row)]));
}

const committedOf = (row: Row): CommittedOrder => {
  return { id: row.id, createdAt: row.created_at, expiresAt: row.expires_at, outbox: parseOutboxRows(row.outbox) };
};

/** The orders that have a driver from the start; the assignment is their second event. */
const assignedRows = (sql: Sql) => sql`
  select id, retailer_id, 2 as sequence, status, payment_status, driver_id, created_at as at from created`;

/**
 * Reads back why rows of a batch were not inserted: a dead key, a voided id, an idempotency key that made an order before,
 * or else a driver who is no longer free.
 */
export async function explainRefused(sql: Sql, orders: readonly NewOrder[]): Promise<Map<string, RefusedOrder>> {
  const rows = await sql`
    select i.id, o.id is not null as voided, k.id is null as key_dead, u.id is not null as key_used
    from unnest(${orders.map((o) => o.id)}::uuid[], ${orders.map((o) => o.keyId)}::uuid[],
                ${orders.map((o) => o.request.retailerId)}::uuid[],
                ${orders.map((o) => o.idempotency?.key ?? null)}::text[]) as i(id, key_id, retailer_id, idempotency_key)
    left join orders o on o.id = i.id
    left join (api_keys k join retailers r on r.id = k.retailer_id and r.status = 'active')
      on k.id = i.key_id and k.retailer_id = i.retailer_id and k.revoked_at is null
    left join orders u on u.retailer_id = i.retailer_id and u.idempotency_key = i.idempotency_key`;
  return new Map(rows.map((row) => [row.id, reasonOf(row)]));
}

function reasonOf({ voided, key_dead, key_used }: Row): RefusedOrder {
  if (voided) return 'voided';
  if (key_dead) return 'key_dead';
  return key_used ? 'key_used' : 'driver_lost';
}

/** An order that was made before: as it was shown then, but its payment as it stands now. */
export type PlacedOrder = { readonly order: CreatedOrder; readonly fingerprint: string };

/** The order that a store's idempotency key made; null where it made none. Kept for as long as the order. */
export function findPlaced(sql: Sql, retailerId: string, idempotencyKey: string): Promise<PlacedOrder | null> {
  return readPlaced(sql, sql`o.retailer_id = ${retailerId} and o.idempotency_key = ${idempotencyKey}`);
}

/** The order with this id as it was made; null where there is none. */
export async function findMade(sql: Sql, orderId: string): Promise<CreatedOrder | null> {
  return (await readPlaced(sql, sql`o.id = ${orderId}`))?.order ?? null;
}

async function readPlaced(sql: Sql, which: Fragment): Promise<PlacedOrder | null> {
  const [row] = await sql`
    select o.id, o.delivery_tier, o.delivery_fee_cents, o.payment_status, o.tracking_token, o.created_at,
      o.request_fingerprint,
      -- Who had a driver from the start was given him in the moment of creation.
      exists (select from order_events e where e.order_id = o.id and e.sequence = 2 and e.type = 'driver_assigned'
        and e.at = o.created_at) as was_assigned
    from orders o where ${which} and o.status <> 'void'`;
  if (!row) return null;
  const order: CreatedOrder = {
    id: row.id,
    status: row.was_assigned ? 'driver_assigned' : 'pending_dispatch',
    tierId: row.delivery_tier,
    feeCents: row.delivery_fee_cents,
    paymentStatus: row.payment_status,
    trackingToken: row.tracking_token,
    createdAt: row.created_at,
  };
  return { order, fingerprint: row.request_fingerprint };
}

/**
 * Settles orders whose commit had an unknown outcome, by writing: a tombstone under the same id waits for a
 * transaction still in flight and blocks one that comes late. Afterwards each id is either a real order or void.
 *
 * @returns the ids that are real orders after all
 */
export async function resolveUnknown(
  sql: Sql,
  orders: readonly { readonly id: string }[],
): Promise<Map<string, CommittedOrder>> {
  await sql`
    insert into orders (id, retailer_id, customer_id, dropoff_address_id, status, delivery_tier, delivery_fee_cents,
      driver_payout_cents, payment_status, sms_status, tracking_token, pickup_address, pickup_lat, pickup_lng,
      pickup_point_source, sequence, created_at, expires_at)
    select id, id, id, id, 'void', 'standard', 0, 0, 'not_charged', 'none', 'void:' || id, '', 0, 0, '', 0, now(), now()
    from unnest(${orders.map((o) => o.id)}::uuid[]) as i(id) order by id
    on conflict (id) do nothing`;
  const rows = await sql`
    select o.id, o.created_at, o.expires_at,
      (select coalesce(json_agg(json_build_object('id', j.id, 'queue', j.queue, 'order_id', j.order_id,
              'retailer_id', j.retailer_id, 'run_at', j.run_at)), '[]')
       from outbox j where j.order_id = o.id) as outbox
    from orders o where o.id = any(${orders.map((o) => o.id)}::uuid[]) and o.status <> 'void'`;
  return new Map(rows.map((row) => [row.id, committedOf(row)]));
}
