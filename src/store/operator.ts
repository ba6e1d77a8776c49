import type { Fragment, Sql } from 'postgres';
import { DEFAULT_UNPAID_ORDERS_ALLOWED, REFUND_MISSING_SECONDS } from '../limits.ts';
import type { Db } from './db.ts';
import { isDue, isNotYet, whyWaiting } from './order-times.ts';
import type { Printable } from './pages.ts';
import { meantDriver } from './plan-readings.ts';

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
      r.unpaid_orders, r.payment_failed_at,
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
  const [row] = await sql`
    select to_jsonb(o) - 'request_fingerprint' - 'extras_fingerprint' || jsonb_build_object('payout_status', coalesce(po.status, 'none'),
        'payout_at', po.paid_at) as "order",
      ${whyWaiting(sql, unpaidAllowed)} as waiting_because, ${meantDriver(sql)} as planned, to_jsonb(c) as customer, to_jsonb(a) as dropoff_address,
      (select jsonb_agg(to_jsonb(e) - 'order_id' - 'considered' - 'receipt'
              || case when e.considered is null then '{}'
                 else jsonb_build_object('considered', considered_as_json(e.considered)) end
              || case when e.receipt is null then '{}' else jsonb_build_object('receipt', e.receipt) end
              order by e.sequence)
       from order_events e where e.order_id = o.id) as events,
      (select jsonb_agg(to_jsonb(p) - 'order_id' order by p.attempt) from payments p where p.order_id = o.id)
        as payments,
      (select jsonb_agg(to_jsonb(f) - 'order_id' order by f.attempt) from refunds f where f.order_id = o.id)
        as refunds,
      (select jsonb_agg(to_jsonb(f) - 'order_id' order by f.noted_at) from stripe_refunds f where f.order_id = o.id)
        as stripe_refunds,
      (select jsonb_agg(to_jsonb(d) - 'order_id' order by d.noted_at) from disputes d where d.order_id = o.id)
        as disputes,
      to_jsonb(po) - 'order_id' as payout,
      (select to_jsonb(m) - 'order_id' from messages m where m.order_id = o.id) as text,
      (select jsonb_agg(to_jsonb(t) - 'order_id' order by t.created_at) from texts t where t.order_id = o.id)
        as optional_texts,
      (select jsonb_agg(to_jsonb(b) - 'order_id' - 'retailer_id' order by b.id) from outbox b where b.order_id = o.id)
        as jobs
    from orders o join customers c on c.id = o.customer_id join dropoff_addresses a on a.id = o.dropoff_address_id
    left join payouts po on po.order_id = o.id
    left join retailers r on r.id = o.retailer_id
    where o.id = ${id} and o.status <> 'void'`;
  if (!row) return null;
  const { waiting_because: why, planned, ...shown } = row;
  if (why === null) return shown;
  return { waiting_because: why, ...(why === 'planned' ? { planned } : {}), ...shown };
}

/** Sends a notice at which the running processes try a waiting order again; false if it does not wait. */
export async function nudgeOrder({ sql, processId }: Db, id: string): Promise<boolean> {
  const rows = await sql`
    select pg_notify('sameday', ${processId} || ':order:' || id) from orders
    where id = ${id} and status = 'pending_dispatch' and not ${isNotYet(sql, sql`orders`)}`;
  return rows.length === 1;
}

/** Whether the charge of the order `o` failed and can be tried again. */
const chargeFailed = (sql: Sql): Fragment =>
  sql`o.payment_status = 'failed' and o.status not in ('cancelled', 'expired', 'void')`;

/** Why the waiting orders of the store `r` are held; null where they are not. */
const holdOfStore = (sql: Sql, unpaidAllowed: number): Fragment => sql`
  case when r.status <> 'active' then 'store_suspended'
    when unpaid_credit(r.id, ${unpaidAllowed}::int) <= 0 then 'payment_required' end`;

/**
 * Figures for the operator: orders by status; payments, texts and webhook deliveries of the last day; drivers
 * and webhooks; payouts by status. `failed_charges` counts the orders whose charge failed and is still owed,
 * `held_stores` the stores whose waiting orders get no driver. `refunds_missing` counts the orders that are
 * still paid REFUND_MISSING_SECONDS after they ended undelivered: Stripe refused the refund, or its job is
 * stuck.
 */
export async function readStats(
  { sql }: Db,
  unpaidAllowed: number = DEFAULT_UNPAID_ORDERS_ALLOWED,
): Promise<Printable> {
  const [row] = await sql`
    select
      (select coalesce(jsonb_object_agg(status, n), '{}') from
        (select status, count(*) n from orders where status <> 'void' group by status) s) as orders,
      (select coalesce(jsonb_object_agg(payment_status, n), '{}') from
        (select payment_status, count(*) n from orders
         where status <> 'void' and created_at > now() - interval '1 day' group by 1) s) as payments_last_day,
      (select coalesce(jsonb_object_agg(sms_status, n), '{}') from
        (select sms_status, count(*) n from orders
         where status <> 'void' and created_at > now() - interval '1 day' group by 1) s) as texts_last_day,
      (select count(*)::int from orders
       where status in ('cancelled', 'expired') and payment_status = 'paid'
         and ended_at < now() - make_interval(secs => ${REFUND_MISSING_SECONDS})) as refunds_missing,
      (select coalesce(jsonb_object_agg(status, jsonb_build_object('count', n, 'cents', cents)), '{}') from
        (select status, count(*) n, sum(amount_cents) cents from payouts group by status) s) as payouts,
      (select coalesce(jsonb_object_agg(status, n), '{}') from
        (select status, count(*) n from disputes group by status) s) as disputes,
      (select count(*)::int from orders o where ${chargeFailed(sql)}) as failed_charges,
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
      (select count(*)::int from orders o where ${isNotYet(sql, sql`o`)}) as orders_not_yet,
      (select coalesce(extract(epoch from now() - min(coalesce(dispatch_from, created_at))), 0)::int from orders o
       where status = 'pending_dispatch' and ${isDue(sql, sql`o`)}) as oldest_waiting_seconds`;
  return { ...row };
}
