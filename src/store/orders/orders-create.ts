import type { Row } from 'postgres';
import type { DropoffPoint } from '../../domain/dropoff.ts';
import type { Identity } from '../../domain/idempotency.ts';
import type { PickupPointSource, PlaceOrder } from '../../domain/order.ts';
import type { ChosenDriver } from '../../domain/rejected-candidate.ts';
import type { Tier } from '../../domain/tier.ts';
import type { Point } from '../../geo/point.ts';
import { DEFAULT_UNPAID_ORDERS_ALLOWED } from '../../limits.ts';
import type { Db } from '../db.ts';
import { firstLease, jobListAsJson, keyIsGood, mayTake, NOTICE_ORDERS, rowsOf } from '../fragments.ts';
import { type OutboxRow, parseOutboxRows } from '../outbox-rows.ts';
import { extraColumns, extrasText, extraValues, givenOrder } from './order-extras.ts';
import { promisedBy } from './order-times.ts';
import { rejectedCandidatesText } from './rejected-candidates.ts';
import { heldBack } from './request-dedup.ts';

/** An order before its insert, which decides whether its driver is still free. */
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
  /** The point as far as it is known without a geocoder. */
  readonly dropoff: DropoffPoint | null;
  readonly driver: ChosenDriver | null;
  /** Since when an order without a driver counts as waiting; by default since its commit. */
  readonly fairStartMs?: number | undefined;
  /** When an order without a driver is due, where that is later; it expires so much later. */
  readonly dispatchFromMs?: number | undefined;
  /** Null for an order that is never deduplicated. */
  readonly idempotency: Identity | null;
};

export type CommittedOrder = {
  readonly id: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** Until when it is promised. */
  readonly deliverBy: Date;
  /** The jobs this process has to relay. */
  readonly outbox: readonly OutboxRow[];
};

/** What decides about the jobs of new orders. */
export type OrderJobs = {
  /** Whether a job asks a geocoder for the dropoff. */
  readonly locate: boolean;
  /** Time from an order to its text. */
  readonly smsDelaySeconds: number;
};

/**
 * Why an order was not inserted. `key_dead` refers to the API key, `key_used` to the idempotency key. `held`:
 * its store has no credit left, so that it may only wait.
 */
export type RefusedOrder = 'key_dead' | 'key_used' | 'held' | 'driver_lost' | 'voided';

const INPUT = rowsOf<NewOrder>([
  ['id', 'uuid', (order) => order.id],
  ['retailer_id', 'uuid', (order) => order.request.retailerId],
  ['key_id', 'uuid', (order) => order.keyId],
  ['driver_id', 'uuid', (order) => order.driver?.driverId ?? null],
  ['slot', 'int4', (order) => order.driver?.slot ?? 0],
  ['distance', 'float8', (order) => order.driver?.shownMeters ?? null],
  ['rejected', 'text', (order) => rejectedCandidatesText(order.driver)],
  ['customer_id', 'uuid', (order) => order.customerId],
  ['name', 'text', (order) => order.request.customer.name],
  ['email', 'text', (order) => order.request.customer.email],
  ['phone', 'text', (order) => order.request.customer.phone],
  ['sms_opt_in', 'bool', (order) => order.request.customer.smsOptIn],
  ['address_id', 'uuid', (order) => order.dropoffAddressId],
  ['line1', 'text', (order) => order.request.dropoffAddress.line1],
  ['line2', 'text', (order) => order.request.dropoffAddress.line2],
  ['city', 'text', (order) => order.request.dropoffAddress.city],
  ['state', 'text', (order) => order.request.dropoffAddress.state],
  ['zip', 'text', (order) => order.request.dropoffAddress.zip],
  ['to_lat', 'float8', (order) => order.dropoff?.point.lat ?? null],
  ['to_lng', 'float8', (order) => order.dropoff?.point.lng ?? null],
  ['to_accuracy', 'int4', (order) => order.dropoff?.accuracyMeters ?? null],
  ['to_source', 'text', (order) => order.dropoff?.source ?? null],
  ['tier', 'text', (order) => order.tier.id],
  ['fee', 'int4', (order) => order.tier.feeCents],
  ['payout', 'int4', (order) => order.tier.payoutCents],
  ['fair_start', 'timestamptz', ({ fairStartMs }) => (fairStartMs === undefined ? null : new Date(fairStartMs))],
  ['max_wait', 'int4', (order) => order.tier.maxWaitSeconds],
  ['promise', 'int4', (order) => order.tier.promiseMinutes],
  ['token', 'text', (order) => order.trackingToken],
  ['pickup', 'text', (order) => order.request.pickupAddress],
  ['lat', 'float8', (order) => order.pickup.lat],
  ['lng', 'float8', (order) => order.pickup.lng],
  ['source', 'text', (order) => order.pickupPointSource],
  ['idempotency_key', 'text', (order) => order.idempotency?.key ?? null],
  ['fingerprint', 'text', (order) => order.idempotency?.fingerprint ?? null],
  ['extras', 'text', (order) => extrasText(order.request.extras, order.dispatchFromMs)],
]);

/**
 * Inserts a batch of orders with their customers, addresses, events and outbox rows: one statement, one
 * commit.
 *
 * The joins check again that API key, store and driver are valid, and that the slot is below the driver's
 * capacity. `on conflict do nothing` leaves out an order whose slot another process has taken. Rows are
 * inserted in the order of their drivers, so that two processes with the same drivers cannot deadlock.
 *
 * Orders with a driver of an unproven store, whose last charge failed, count against its credit. Its row is
 * locked before anything is inserted, and those beyond the credit are left out.
 *
 * @param unpaidAllowed unpaid orders in a row after which a store's further ones get no driver
 * @returns by id, the created orders, and null for a request without a key that a lost reply holds back (see
 *   `heldBack`); {@link explainRefused} tells why any other order is missing
 */
export async function insertOrders(
  { commits: sql, processId }: Db,
  orders: readonly NewOrder[],
  { locate, smsDelaySeconds }: OrderJobs = { locate: false, smsDelaySeconds: 0 },
  unpaidAllowed: number = DEFAULT_UNPAID_ORDERS_ALLOWED,
): Promise<Map<string, CommittedOrder | null>> {
  // `is true` keeps Postgres, which expects one row here, from comparing every order with every other.
  const wasCreated = sql`(id in (select id from created)) is true`;
  const rows = await sql`
    with input as materialized (${INPUT(sql, orders)}
    ), held as materialized (${heldBack(sql)}
    ), good as materialized (
      select i.*, i.extras::jsonb as more, date_trunc('milliseconds', now()) as at,
             case when i.driver_id is null then 'pending_dispatch' else 'driver_assigned' end as status,
             i.driver_id is not null and r.payment_failed_at is not null as on_credit
      from input i
      join retailers r on r.id = i.retailer_id and r.status = 'active'
      join api_keys k on k.id = i.key_id and k.retailer_id = r.id and ${keyIsGood(sql)}
      left join drivers d on d.id = i.driver_id and ${mayTake(sql, sql`i.slot`)}
      where (i.driver_id is null or d.id is not null) and i.id not in (select id from held)
    ), credits as materialized (
      select store, lock_unpaid_credit(store, ${unpaidAllowed}::int) as orders
      from (select distinct retailer_id as store from good where on_credit order by 1) stores
    ), beyond_credit as materialized (
      select n.id from (
        select id, retailer_id, row_number() over (partition by retailer_id order by id) as n from good where on_credit
      ) n join credits c on c.store = n.retailer_id where n.n > c.orders
    ), created as (
      insert into orders (id, retailer_id, customer_id, dropoff_address_id, driver_id, status, delivery_tier,
        delivery_fee_cents, driver_payout_cents, payment_status, sms_status, tracking_token, pickup_address,
        pickup_lat, pickup_lng, pickup_point_source, sequence, created_at, fair_start, assigned_at, expires_at,
        idempotency_key, request_fingerprint, extras_fingerprint, driver_slot, ${extraColumns(sql)})
      select id, retailer_id, customer_id, address_id, driver_id, status, tier, fee, payout,
        case when driver_id is null then 'not_charged' else 'processing' end,
        case when sms_opt_in then 'queued' else 'none' end, token, pickup, lat, lng, source,
        case when driver_id is null then 1 else 2 end, at, fair_start, case when driver_id is not null then at end,
        greatest(at, (more ->> 'dispatch_from')::timestamptz) + make_interval(secs => max_wait), idempotency_key,
        case when idempotency_key is not null then split_part(fingerprint, ' ', 1) end,
        case when idempotency_key is not null then nullif(split_part(fingerprint, ' ', 2), '') end, slot,
        ${extraValues(sql)}
      from good where id not in (select id from beyond_credit) order by driver_id, slot, id
      on conflict do nothing
      returning id, retailer_id, driver_id, status, payment_status, sms_status, created_at, expires_at, deliver_by
    ), new_customers as (
      insert into customers (id, name, email, phone, sms_opt_in)
      select customer_id, name, email, phone, sms_opt_in from good where ${wasCreated}
    ), new_addresses as (
      insert into dropoff_addresses (id, line1, line2, city, state, zip, lat, lng, accuracy_meters, point_source)
      select address_id, line1, line2, city, state, zip, to_lat, to_lng, to_accuracy, to_source
      from good where ${wasCreated}
    ), new_events as (
      insert into order_events (order_id, sequence, type, at, told, data, considered)
      select id, 1, 'created', created_at, true, null::jsonb, null from created
      union all
      select id, 2, 'driver_assigned', at, true,
             jsonb_build_object('driver_id', driver_id, 'distance_meters', round(distance)), rejected
      from good where driver_id is not null and ${wasCreated}
    ), told as (
      insert into unnumbered_events (order_id, sequence, type, retailer_id, at, status, payment_status, driver_id)
      select id, t.sequence, t.type, retailer_id, created_at, status, payment_status, driver_id
      from created cross join (values (1, 'order.created'), (2, 'order.assigned')) t(sequence, type)
      where t.sequence = 1 or driver_id is not null
      order by id, t.sequence
    ), unproven as (
      insert into unproven_orders (retailer_id, order_id)
      select retailer_id, id from good where on_credit and ${wasCreated}
    ), jobs as (
      insert into outbox (queue, order_id, retailer_id, run_at, lease_until)
      select queue, created.id, created.retailer_id, j.run_at, j.run_at + ${firstLease(sql)}
      from created cross join lateral (
        select 'charge' as queue, created.created_at as run_at where created.driver_id is not null
        union all select 'sms', created.created_at + make_interval(secs => ${smsDelaySeconds})
          where created.sms_status = 'queued'
        union all select 'redispatch', created.expires_at where created.driver_id is null
        union all select 'locate', created.created_at where ${locate}::bool
      ) j
      returning id, queue, order_id, retailer_id, run_at, relays
    ), notice as (
      select pg_notify('sameday', ${processId} || ':order:' || string_agg(id::text, ',') || '::' || json_agg(given))
      from (select id, ${givenOrder(sql)} as given, row_number() over () / ${NOTICE_ORDERS} as part
            from good where ${wasCreated}) c group by part
    )
    select i.id, c.created_at, c.expires_at, c.deliver_by, coalesce(j.outbox, '[]') as outbox
    from input i left join created c on c.id = i.id
    -- One aggregate over all jobs: a subquery for each order would scan the whole batch's jobs each time.
    left join (
      select order_id, ${jobListAsJson(sql)} as outbox from jobs group by order_id
    ) j on j.order_id = c.id
    where (c.id is not null or i.id in (select id from held)) and (select count(*) from notice) >= 0`;
  return new Map(rows.map((row) => [row.id, row.created_at === null ? null : toCommitted(row)]));
}

function toCommitted(row: Row): CommittedOrder {
  return {
    id: row.id,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    deliverBy: row.deliver_by,
    outbox: parseOutboxRows(row.outbox),
  };
}

const REFUSED = rowsOf<NewOrder>([
  ['id', 'uuid', (order) => order.id],
  ['key_id', 'uuid', (order) => order.keyId],
  ['retailer_id', 'uuid', (order) => order.request.retailerId],
  ['driver_id', 'uuid', (order) => order.driver?.driverId ?? null],
  ['idempotency_key', 'text', (order) => order.idempotency?.key ?? null],
]);

/**
 * The reasons why orders of a batch were not inserted, by their ids: a voided id, a dead API key, a used
 * idempotency key, a store without credit, or else a driver who is no longer free.
 */
export async function explainRefused(
  { sql }: Db,
  orders: readonly NewOrder[],
  unpaidAllowed: number = DEFAULT_UNPAID_ORDERS_ALLOWED,
): Promise<Map<string, RefusedOrder>> {
  const rows = await sql`
    select i.id, o.id is not null as voided, k.id is null as key_dead, u.id is not null as key_used,
      i.driver_id is not null and unpaid_credit(i.retailer_id, ${unpaidAllowed}::int) <= 0 as held
    from (${REFUSED(sql, orders)}) i
    left join orders o on o.id = i.id
    left join (api_keys k join retailers r on r.id = k.retailer_id and r.status = 'active')
      on k.id = i.key_id and k.retailer_id = i.retailer_id and ${keyIsGood(sql)}
    left join orders u on u.retailer_id = i.retailer_id and u.idempotency_key = i.idempotency_key`;
  return new Map(rows.map((row) => [row.id, reasonOf(row)]));
}

function reasonOf({ voided, key_dead, key_used, held }: Row): RefusedOrder {
  if (voided) return 'voided';
  if (key_dead) return 'key_dead';
  if (key_used) return 'key_used';
  return held ? 'held' : 'driver_lost';
}

/**
 * Resolves commits of unknown outcome by a write: a tombstone under the order's id waits for a transaction
 * that is still in flight and blocks one that arrives later. Afterwards each id is either a real order or
 * void.
 *
 * @returns the real orders by id
 */
export async function resolveUnknown(
  { sql }: Db,
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
    select o.id, o.created_at, o.expires_at, ${promisedBy(sql, sql`o`)} as deliver_by,
      (select ${jobListAsJson(sql)} from outbox where order_id = o.id) as outbox
    from orders o where o.id = any(${orders.map((o) => o.id)}::uuid[]) and o.status <> 'void'`;
  return new Map(rows.map((row) => [row.id, toCommitted(row)]));
}
