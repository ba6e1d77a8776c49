import type { Fragment, Row, Sql } from 'postgres';
import { firstIdAt } from '../../domain/ids.ts';
import { DEFAULT_UNPAID_ORDERS_ALLOWED } from '../../limits.ts';
import type { Db } from '../db.ts';
import { isWaiting } from '../fragments.ts';
import { DUE_TOLERANCE_MS, fleetOnDuty, isNotYet, whyWaiting } from '../orders/order-times.ts';
import type { Printable } from '../pages.ts';
import { LIST_CLOCK_DAYS } from '../pages.ts';
import { meantDriver } from '../planning/plan-readings.ts';
import { STATS_MS } from './delivery-stats.ts';

/** Time after an order's end from which the operator's figures count a charge as not refunded. */
export const REFUND_MISSING_SECONDS = 60;

/** A store with its webhook and its keys' ids, or an application; null for neither. */
export async function showRetailer(
  { sql }: Db,
  id: string,
  unpaidAllowed: number = DEFAULT_UNPAID_ORDERS_ALLOWED,
): Promise<Printable | null> {
  const [retailer] = await sql`
    select r.id as retailer_id, r.name, r.status, r.address, r.lat, r.lng, r.stripe_customer_id,
      r.stripe_payment_method_id, r.orders_per_second, r.text_kinds, r.organization_id, r.external_id, r.created_at,
      ${holdOfStore(sql, unpaidAllowed)} as held_because,
      unpaid_orders_of(r.id) as unpaid_orders, r.payment_failed_at,
      (select count(*)::int from orders o where o.retailer_id = r.id and ${chargeFailed(sql)}) as failed_charges,
      (select count(*)::int from orders o
       where o.retailer_id = r.id and o.status = 'pending_dispatch') as waiting_orders,
      (select json_agg(json_build_object('key_id', k.id, 'created_at', k.created_at, 'revoked_at', k.revoked_at,
              'valid_until', k.valid_until)
              order by k.created_at) from api_keys k where k.retailer_id = r.id) as keys,
      (select json_build_object('url', w.url, 'set_at', w.set_at, 'failing_since', w.failing_since,
              'webhook_disabled_at', w.disabled_at, 'webhook_disabled_because', w.disabled_because)
       from webhooks w where w.id = r.id) as webhook
    from retailers r where r.id = ${id}`;
  if (retailer) return { ...retailer };
  const [application] = await sql`
    select id as application_id, name, address, contact_email, status, applied_at, decided_at, decision_note,
      retailer_id
    from retailer_applications where id = ${id}`;
  return application ? { ...application } : null;
}

/**
 * Everything on record about one order, with the driver who is meant for one that waits. An assignment has its
 * `cost` beside that of the next best drivers, where the planner made it.
 */
export async function showOrder(
  { sql }: Db,
  id: string,
  unpaidAllowed: number = DEFAULT_UNPAID_ORDERS_ALLOWED,
): Promise<Printable | null> {
  // As json and not jsonb, which would sort the fields by the lengths of their names.
  const listOf = (table: string, by: string): Fragment => sql`
    (select json_agg(to_json(t) order by t.${sql(by)}) from ${sql(table)} t where t.order_id = o.id)`;
  const [row] = await sql`
    with ${fleetOnDuty(sql)}
    select to_json(o) as "order", coalesce(po.status, 'none') as payout_status, po.paid_at as payout_at,
      ${whyWaiting(sql, unpaidAllowed)} as waiting_because, ${meantDriver(sql)} as planned,
      (select string_agg(distinct v.vendor, ', ') from refused_credentials v join outbox b
       on (v.vendor = 'stripe') = (b.queue in ('charge', 'refund')) and b.queue in ('charge', 'refund', 'sms', 'text')
       where b.order_id = o.id and b.done_at is null) as refused_by,
      to_json(c) as customer, to_json(a) as dropoff_address,
      (select json_agg(json_build_object('event', to_json(e), 'considered', considered_as_json(e.considered))
         order by e.sequence) from order_events e where e.order_id = o.id) as events,
      ${listOf('payments', 'attempt')} as payments, ${listOf('refunds', 'attempt')} as refunds,
      ${listOf('stripe_refunds', 'noted_at')} as stripe_refunds, ${listOf('disputes', 'noted_at')} as disputes,
      to_json(po) as payout, (select to_json(m) from messages m where m.order_id = o.id) as text,
      ${listOf('texts', 'created_at')} as optional_texts, ${listOf('outbox', 'id')} as jobs
    from orders o join customers c on c.id = o.customer_id join dropoff_addresses a on a.id = o.dropoff_address_id
    left join payouts po on po.order_id = o.id
    left join retailers r on r.id = o.retailer_id
    where o.id = ${id} and o.status <> 'void'`;
  return row ? toShown(row) : null;
}

function toShown(row: Row): Printable {
  const { waiting_because: why, planned, refused_by: vendors, order, payout_status, payout_at, events, ...parts } = row;
  return {
    ...(why === null ? {} : { waiting_because: why, ...(why === 'planned' ? { planned } : {}) }),
    ...(vendors === null ? {} : { credentials_refused_by: vendors }),
    order: { ...without(order, 'request_fingerprint', 'extras_fingerprint'), payout_status, payout_at },
    customer: parts.customer,
    dropoff_address: parts.dropoff_address,
    events: events?.map(toShownEvent) ?? null,
    ...Object.fromEntries(
      ['payments', 'refunds', 'stripe_refunds', 'disputes', 'payout', 'text', 'optional_texts'].map((name) => [
        name,
        ofOrder(parts[name]),
      ]),
    ),
    jobs: (parts.jobs as Fields[] | null)?.map((job) => without(job, 'order_id', 'retailer_id')) ?? null,
  };
}

type Fields = Readonly<Record<string, unknown>>;

function toShownEvent({ event, considered }: { event: Fields; considered: unknown }): Fields {
  const { receipt, ...rest } = without(event, 'order_id', 'considered');
  return { ...rest, ...(considered === null ? {} : { considered }), ...(receipt === null ? {} : { receipt }) };
}

/** Rows beside the order, which need not name it. */
function ofOrder(rows: Fields | readonly Fields[] | null): unknown {
  if (rows === null) return null;
  return Array.isArray(rows) ? rows.map((row) => without(row, 'order_id')) : without(rows as Fields, 'order_id');
}

const without = (fields: Fields, ...names: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));

/** Sends a notice at which the running processes try a waiting order again; false if it does not wait. */
export async function nudgeOrder({ sql, processId }: Db, id: string): Promise<boolean> {
  const rows = await sql`
    select pg_notify('sameday', ${processId} || ':order:' || id) from orders
    where id = ${id} and ${isWaiting(sql, sql`orders`)} and not ${isNotYet(sql, sql`orders`)}`;
  return rows.length === 1;
}

/** Whether the charge of the order `o` failed and can be tried again. */
const chargeFailed = (sql: Sql): Fragment =>
  sql`o.payment_status = 'failed' and o.status not in ('cancelled', 'expired', 'void')`;

/** Why the waiting orders of the store `r` are held; null where they are not. */
const holdOfStore = (sql: Sql, unpaidAllowed: number): Fragment => sql`
  case when r.status <> 'active' then 'store_suspended'
    when unpaid_credit(r.id, ${unpaidAllowed}::int) <= 0 then 'payment_required' end`;

/** What the operator watches: each of them needs a person. */
export type Watched = {
  /**
   * Orders that are still paid REFUND_MISSING_SECONDS after they ended undelivered: Stripe refused the refund,
   * or its job is stuck.
   */
  readonly refundsMissing: number;
  /** Orders whose charge failed and is still owed. */
  readonly failedCharges: number;
  /** Webhooks that were disabled, but for those whose owner did it. */
  readonly webhooksDisabled: number;
};

/** Reads what is open alone, so its cost does not grow with the orders that have ended. */
export async function readWatched({ sql }: Db): Promise<Watched> {
  const [watched] = await sql<[Watched]>`
    select refunds_missing as "refundsMissing", failed_charges as "failedCharges",
      webhooks_disabled as "webhooksDisabled"
    from count_watched(${REFUND_MISSING_SECONDS}::int)`;
  return watched;
}

/**
 * Figures for the operator. What is open is counted whole: orders under way by status, payouts that are held or
 * owed, held stores, and what {@link readWatched} has. Of what has ended only the orders made within a day are
 * counted, with their payments, texts and payouts, and the webhook deliveries of a day, so that the
 * cost does not grow with all that was ever delivered.
 */
export async function readStats(
  { sql }: Db,
  unpaidAllowed: number = DEFAULT_UNPAID_ORDERS_ALLOWED,
): Promise<Printable> {
  const [row] = await sql`
    with open_orders as materialized (
      select * from count_open_orders(${DUE_TOLERANCE_MS / 1_000}::float8)
    ), last_day as materialized (
      select o.id, o.status, o.payment_status, o.sms_status from orders o
      where o.id >= ${firstIdAt(Date.now() - STATS_MS - LIST_CLOCK_DAYS * 86_400_000)} and o.status <> 'void'
        and o.created_at > now() - make_interval(secs => ${STATS_MS / 1_000})
    )
    select
      (select coalesce(jsonb_object_agg(status, orders), '{}') from open_orders) as orders_under_way,
      ${countBy(sql, sql`status`)} as orders_last_day,
      ${countBy(sql, sql`payment_status`)} as payments_last_day,
      ${countBy(sql, sql`sms_status`)} as texts_last_day,
      w.refunds_missing,
      ${sumPayouts(sql, sql`payouts p where p.status in ('held', 'owed')`)} as payouts,
      ${sumPayouts(sql, sql`last_day join payouts p on p.order_id = last_day.id`)} as payouts_last_day,
      (select coalesce(jsonb_object_agg(status, n), '{}') from
        (select status, count(*) n from disputes group by status) s) as disputes,
      w.failed_charges,
      (select coalesce(jsonb_object_agg(why, n), '{}') from
        (select ${holdOfStore(sql, unpaidAllowed)} as why, count(*) n from retailers r
         where r.status <> 'active' or r.payment_failed_at is not null group by 1) h
       where why is not null) as held_stores,
      (select jsonb_build_object('active', count(*), 'on_duty', count(*) filter (where on_duty)) from drivers
       where active) as drivers,
      (select jsonb_build_object('set', count(*), 'failing', count(*) filter (where failing_since is not null),
         'disabled', coalesce(
           jsonb_agg(jsonb_build_object('retailer_id', retailer_id, 'organization_id', organization_id,
             'webhook_id', id, 'webhook_disabled_at', disabled_at))
             filter (where disabled_at is not null), '[]'))
       from webhooks where disabled_because is distinct from 'off') as webhooks,
      (select coalesce(jsonb_object_agg(status, n), '{}') from
        (select status, count(*) n from webhook_deliveries
         where created_at > now() - interval '1 day' group by 1) s) as webhook_deliveries_last_day,
      (select coalesce(sum(not_yet), 0)::int from open_orders) as orders_not_yet,
      (select coalesce(extract(epoch from now() - min(oldest_since)), 0)::int from open_orders)
        as oldest_waiting_seconds
    from count_watched(${REFUND_MISSING_SECONDS}::int) w`;
  return { ...row };
}

/** How many orders of the last day have each value of a column. */
const countBy = (sql: Sql, column: Fragment): Fragment => sql`
  (select coalesce(jsonb_object_agg(value, n), '{}')
   from (select ${column} as value, count(*) as n from last_day group by 1) counted)`;

/** The payouts `p` by status, with their sums. */
const sumPayouts = (sql: Sql, from: Fragment): Fragment => sql`
  (select coalesce(jsonb_object_agg(status, jsonb_build_object('count', n, 'cents', cents)), '{}')
   from (select p.status, count(*) as n, sum(p.amount_cents) as cents from ${from} group by 1) summed)`;
