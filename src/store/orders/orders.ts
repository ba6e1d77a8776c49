import type { Fragment, Sql } from 'postgres';
import type { TextKind, TextStatus } from '../../domain/customer-text.ts';
import type { HoldReason } from '../../domain/hold.ts';
import type { DropoffAddress, OrderStatus } from '../../domain/order.ts';
import type { Lease, ShownPlan } from '../../domain/plan.ts';
import type { ChosenDriver } from '../../domain/rejected-candidate.ts';
import { DEFAULT_UNPAID_ORDERS_ALLOWED } from '../../limits.ts';
import type { Db } from '../db.ts';
import { active, isOwed, isWaiting, jobsAsJson, mayTake } from '../fragments.ts';
import { type OutboxRow, parseOutboxRows } from '../outbox-rows.ts';
import { shownPlan } from '../planning/plan-readings.ts';
import { holdsLease } from '../planning/plans.ts';
import { type ChangedOrder, changeAlike, changeOrder, endOfWait, insertJobs } from './changes.ts';
import { onRoute, type RouteJson } from './order-on-route.ts';
import { isDue, promisedBy } from './order-times.ts';
import { type RejectedCandidateOnWire, rejectedCandidatesText } from './rejected-candidates.ts';

const EXPIRED = { type: 'expired' };
const expiring = (sql: Sql, which: Fragment): Fragment => sql`
  update orders set status = 'expired', ended_at = now(), reason_code = 'no_driver', sequence = sequence + 1
  where ${which}`;

/** Expires a waiting order. Null if it no longer waits or its time is not up. */
export function expireOrder(db: Db, orderId: string): Promise<ChangedOrder | null> {
  const { sql } = db;
  const update = expiring(sql, sql`id = ${orderId} and ${isWaiting(sql, sql`orders`)} and expires_at <= now()`);
  return changeOrder(db, update, EXPIRED, endOfWait(sql));
}

/** Orders that nobody can deliver in time: the oldest ones that wait, before their time is up. */
export type Surplus = {
  readonly createdBefore: Date;
  /** So many of the newest waiting orders stay, and these besides. */
  readonly keep: number;
  readonly keepIds: readonly string[];
  /** Most orders of one statement. */
  readonly limit: number;
};

/**
 * Expires a surplus of waiting orders in one statement, oldest first. Their events are marked as the sandbox's,
 * for which no webhook is sent. Leaves out those that are just being assigned or changed.
 */
export function expireSurplus(db: Db, { createdBefore, keep, keepIds, limit }: Surplus): Promise<ChangedOrder[]> {
  const { sql } = db;
  const before = sql`
    surplus as materialized (
      select id from orders
      where status = 'pending_dispatch' and created_at < ${createdBefore}
        and (dispatch_from is null or dispatch_from < ${createdBefore})
        and not id = any(${[...keepIds]}::uuid[]) and id not in (
        select id from orders where status = 'pending_dispatch' order by created_at desc, id desc limit ${keep})
      order by created_at limit ${limit} for update skip locked
    )`;
  // Their status was checked under the lock. Checked again, it could lead the planner to compare all waiting
  // orders with all of the surplus.
  const update = expiring(sql, sql`id in (select id from surplus)`);
  return changeAlike(db, update, { ...EXPIRED, data: { by: 'sandbox' } }, { before, ...endOfWait(sql) });
}

export type AssignOutcome =
  | { readonly kind: 'assigned'; readonly outbox: readonly OutboxRow[] }
  | { readonly kind: 'driver_lost' }
  /** Its store is held: it goes on waiting, whichever driver is free. */
  | { readonly kind: 'held'; readonly reason: HoldReason }
  | { readonly kind: 'order_gone' }
  /** Another process plans by now. */
  | { readonly kind: 'lease_lost' };

/**
 * Assigns a waiting order to a driver: one conditional update, with the event, the job of the charge (at the
 * first assignment) and the notice. The unique index refuses a slot of the driver that has an order.
 *
 * The order is locked before its status is checked: a plain read would show it as waiting while another
 * process assigns it. One that waits for its time is not given before it, but by the planner, which knows the
 * way. The row of an unproven store is locked after it, and its credit is counted under that lock; an order
 * that was charged before costs no credit.
 *
 * @param lease the right of the planner whose decision this is; null for any other decision
 */
export async function assignWaiting(
  { sql, processId }: Db,
  orderId: string,
  driver: ChosenDriver,
  unpaidAllowed: number = DEFAULT_UNPAID_ORDERS_ALLOWED,
  lease: Lease | null = null,
): Promise<AssignOutcome> {
  const isAllowed = lease === null ? sql`true` : holdsLease(sql, lease);
  const isTime = lease === null ? isDue(sql, sql`orders`) : sql`true`;
  const rejected = rejectedCandidatesText(driver);
  const slot = driver.slot ?? 0;
  const owed = sql`
    select 'charge' as queue, now() as run_at where changed.payment_status = 'processing'
      and not exists (select from outbox p where p.order_id = changed.id and p.queue = 'charge')`;
  const rows = await sql`
    with waiting as materialized (
      select id, retailer_id, payment_status from orders
      where id = ${orderId} and ${isWaiting(sql, sql`orders`)} and expires_at > now() and ${isTime}
      for update
    ), leave as materialized (
      select ${isAllowed} as is_given
    ), driver as (
      select id from drivers d where id = ${driver.driverId} and ${mayTake(sql, sql`${slot}::int`)}
    ), store as materialized (
      select r.payment_failed_at is not null as is_unproven,
        case when r.status <> 'active' then 'store_suspended'
          when r.payment_failed_at is null or w.payment_status in ('processing', 'paid') then null
          when lock_unpaid_credit(r.id, ${unpaidAllowed}::int) <= 0 then 'payment_required' end as hold
      from waiting w left join retailers r on r.id = w.retailer_id
    ), changed as (
      update orders o set status = 'driver_assigned', driver_id = driver.id, driver_slot = ${slot}, assigned_at = now(),
        sequence = sequence + 1,
        payment_status = case when o.payment_status = 'not_charged' then 'processing' else o.payment_status end
      from driver, waiting, store, leave
      where o.id = waiting.id and store.hold is null and leave.is_given
        and not driver.id = any(o.excluded_driver_ids)
        and not exists (select from orders a where a.driver_id = driver.id and a.driver_slot = ${slot}
                        and a.status in ${active(sql)})
      returning o.id, o.sequence, o.status, o.driver_id, o.retailer_id, o.payment_status, clock_timestamp() as at
    ), event as (
      insert into order_events (order_id, sequence, type, at, data, considered)
      select id, sequence, 'driver_assigned', at, jsonb_strip_nulls(jsonb_build_object('driver_id', driver_id,
        'distance_meters', ${Math.round(driver.shownMeters)}::int,
        'cost', ${driver.cost?.toFixed(1) ?? null}::numeric)), ${rejected}::text
      from changed
    ), unproven as (
      insert into unproven_orders (retailer_id, order_id) select retailer_id, id from changed
      where payment_status = 'processing' and (select is_unproven from store) on conflict do nothing
    ), waited as (
      update outbox set done_at = now()
      where order_id = ${orderId} and queue = 'redispatch' and ${isOwed(sql, sql`outbox`)}
        and exists (select from changed)
    ), ${insertJobs(sql, owed)}, notice as (
      select pg_notify('sameday', ${processId} || ':order:' || id) from changed
    )
    select exists (select from waiting) as waiting, (select is_given from leave) as is_given, (select hold from store) as hold,
      (select count(*) from notice)::int as assigned,
      ${jobsAsJson(sql)} as outbox`.catch(driverTaken);
  const row = rows?.[0];
  if (!row) return { kind: 'driver_lost' };
  if (row.assigned === 1) return { kind: 'assigned', outbox: parseOutboxRows(row.outbox) };
  if (!row.waiting) return { kind: 'order_gone' };
  if (!row.is_given) return { kind: 'lease_lost' };
  return row.hold === null ? { kind: 'driver_lost' } : { kind: 'held', reason: row.hold };
}

/** The unique index is violated if two processes assign the same driver at the same moment. */
function driverTaken(error: unknown): undefined {
  if ((error as { code?: string }).code === '23505') return undefined;
  throw error;
}

/** What became of a text, and since when. */
export type TextOnWire = {
  readonly kind: TextKind;
  readonly status: TextStatus;
  readonly failure_code: string | null;
  readonly at: string;
};

/** An order as its store may see it, under the names of the columns. */
export type StoreOrder = {
  readonly id: string;
  readonly retailer_id: string;
  readonly status: OrderStatus;
  readonly customer: {
    readonly name: string;
    readonly email: string;
    readonly phone: string;
    readonly sms_opt_in: boolean;
  };
  readonly dropoff: DropoffAddress;
  readonly events: readonly {
    readonly sequence: number;
    readonly type: string;
    readonly at: string;
    readonly data: unknown;
    /** The rejected candidates of an assignment; null for any other event. A store gets no ids of them. */
    readonly considered: readonly RejectedCandidateOnWire[] | null;
  }[];
  /** The optional texts, oldest first. */
  readonly texts: readonly TextOnWire[];
  readonly dropoff_point: {
    readonly lat: number | null;
    readonly lng: number | null;
    readonly accuracy_meters: number | null;
    readonly source: string | null;
  };
  readonly pickup_lat: number;
  readonly pickup_lng: number;
  readonly driver_id: string | null;
  readonly assigned_at: Date | null;
  readonly on_route: RouteJson | null;
  readonly plan: ShownPlan | null;
  readonly ready_at: Date | null;
  readonly deliver_after: Date | null;
  readonly dispatch_from: Date | null;
  /** `deliver_by`, also of an order of the build before, which stored none. */
  readonly promised_by: Date;
  readonly [column: string]: unknown;
};

/**
 * An order of one of these stores with its events; null for an unknown id and for another store's order. What
 * an assignment cost is the operator's: it counts the waits of other stores' orders, too.
 */
export async function findStoreOrder(
  { sql }: Db,
  orderId: string,
  retailerIds: string | readonly string[],
): Promise<StoreOrder | null> {
  const [row] = await sql`
    select o.*, ${promisedBy(sql, sql`o`)} as promised_by, to_json(c) as customer, to_json(a) as dropoff,
      d.name as driver_name,
      split_part(d.name, ' ', 1) as driver_first_name, d.vehicle as driver_vehicle,
      -- Only the matcher is to believe that the pickup of an order without a driver is where none is.
      coalesce(r.lat, o.pickup_lat) as pickup_lat, coalesce(r.lng, o.pickup_lng) as pickup_lng,
      json_build_object('lat', a.lat, 'lng', a.lng, 'accuracy_meters', a.accuracy_meters, 'source', a.point_source)
        as dropoff_point, ${onRoute(sql)} as on_route, ${shownPlan(sql)} as plan,
      coalesce((select stripe_refund_id from refunds f where f.order_id = o.id and f.status = 'refunded'
        order by f.attempt desc limit 1), o.refund_id) as stripe_refund_id,
      (select coalesce(json_agg(json_build_object('sequence', e.sequence, 'type', e.type, 'at', e.at,
              'data', case e.type when 'driver_assigned' then e.data - 'cost' else e.data end,
              'considered', considered_as_json(e.considered)) order by e.sequence), '[]')
       from order_events e where e.order_id = o.id) as events,
      (select coalesce(json_agg(json_build_object('kind', t.kind, 'failure_code', t.failure_code, 'at', t.updated_at,
              'status', case t.status when 'sending' then 'queued' else t.status end)
            order by t.created_at), '[]')
       from texts t where t.order_id = o.id) as texts
    from orders o
    join customers c on c.id = o.customer_id
    join dropoff_addresses a on a.id = o.dropoff_address_id
    left join drivers d on d.id = o.driver_id
    left join retailers r on r.id = o.retailer_id and o.scenario ->> 'driver' = 'none'
    where o.id = ${orderId} and o.retailer_id = any(${[retailerIds].flat()}::uuid[]) and o.status <> 'void'`;
  return (row as StoreOrder | undefined) ?? null;
}

/** Status and driver of an order of any store; null for an unknown id. */
export async function findOrderState(
  { sql }: Db,
  orderId: string,
): Promise<{ status: OrderStatus; driverId: string | null } | null> {
  const [row] = await sql`select status, driver_id from orders where id = ${orderId} and status <> 'void'`;
  return row ? { status: row.status, driverId: row.driver_id } : null;
}
