import type { Fragment } from 'postgres';
import { WEBHOOKS_DUE_ROWS } from '../limits.ts';
import type { Db } from './db.ts';

/** Sets a store's webhook with a new secret, and clears its failures; false for an unknown store. */
export function setWebhook(db: Db, retailerId: string, url: string, secret: string): Promise<boolean> {
  const { sql } = db;
  return changeWebhook(
    db,
    retailerId,
    sql`
      insert into webhook_endpoints (retailer_id, url, secret)
      select id, ${url}, ${secret} from retailers where id = ${retailerId}
      on conflict (retailer_id) do update set url = excluded.url, secret = excluded.secret, set_at = now(),
        failing_since = null, retry_at = null, disabled_at = null, disabled_because = null`,
  );
}

/** Enables a disabled webhook with its old URL and secret; false if there is none. */
export function enableWebhook(db: Db, retailerId: string): Promise<boolean> {
  const { sql } = db;
  return changeWebhook(
    db,
    retailerId,
    sql`
      update webhook_endpoints
      set failing_since = null, retry_at = null, disabled_at = null, disabled_because = null
      where retailer_id = ${retailerId}`,
  );
}

/** Disables a store's webhook, which keeps its URL and secret; false if there is none. */
export async function disableWebhook({ sql, processId }: Db, retailerId: string): Promise<boolean> {
  const rows = await sql`
    with changed as (
      update webhook_endpoints
      set failing_since = null, retry_at = null, disabled_at = now(), disabled_because = 'off'
      where retailer_id = ${retailerId} returning retailer_id
    )
    select pg_notify('sameday', ${processId} || ':retailer:' || retailer_id) from changed`;
  return rows.length === 1;
}

/**
 * Changes a store's webhook, and makes the deliveries that wait for a later try due now: they may wait for
 * hours, and what failed before says nothing of the webhook from now on. Sends the notices of both.
 *
 * @param change an `insert` or `update` of the endpoint without `returning`
 */
async function changeWebhook({ sql, processId }: Db, retailerId: string, change: Fragment): Promise<boolean> {
  const rows = await sql`
    with changed as (${change} returning retailer_id
    ), due as (
      update outbox set run_at = now(), lease_until = now()
      where id = any(array(
        select b.id from outbox b
        where b.done_at is null and b.queue = 'webhook' and b.retailer_id = ${retailerId} and b.run_at > now()
        order by b.run_at limit ${WEBHOOKS_DUE_ROWS} for update skip locked))
        and exists (select from changed)
      returning id
    ), notice as (
      select pg_notify('sameday', ${processId} || ':retailer:' || retailer_id) from changed
    ), jobs as (
      select pg_notify('sameday', ${processId} || ':jobs:' || count(*)) from due having count(*) > 0
    )
    select (select count(*) from changed) as changed, (select count(*) from notice) as notices,
      (select count(*) from jobs) as jobs`;
  return rows[0]?.changed === 1;
}

/** `still_tried`: its attempts are not over. */
export type ReplayOutcome = 'replayed' | 'unknown' | 'still_tried' | 'no_endpoint';

/** Makes a finished delivery due again with its id and body. A sweeper hears of its job. */
export async function replayDelivery({ sql, processId }: Db, deliveryId: string): Promise<ReplayOutcome> {
  const [row] = await sql`
    with known as (
      select d.id, d.order_id, d.retailer_id, d.status, w.retailer_id is not null as has_endpoint
      from webhook_deliveries d
      left join webhook_endpoints w on w.retailer_id = d.retailer_id and w.disabled_at is null
      where d.id = ${deliveryId} for update of d
    ), job as (
      insert into outbox (queue, order_id, retailer_id, lease_until)
      select 'webhook', order_id, retailer_id, now() from known where status <> 'pending' and has_endpoint
      returning id
    ), again as (
      update webhook_deliveries set status = 'pending', attempts = 0, started_at = now(), outbox_id = job.id
      from job where webhook_deliveries.id = ${deliveryId}
    ), notice as (
      select pg_notify('sameday', ${processId} || ':jobs:1') from job
    )
    select status, has_endpoint, (select count(*) from notice) as notices from known`;
  if (!row) return 'unknown';
  if (row.status === 'pending') return 'still_tried';
  return row.has_endpoint ? 'replayed' : 'no_endpoint';
}

/** Deletes at most `limit` finished deliveries created more than `days` days ago; returns their number. */
export async function pruneDeliveries({ sql }: Db, days: number, limit: number): Promise<number> {
  const result = await sql`
    delete from webhook_deliveries where id = any(array(
      select id from webhook_deliveries
      where created_at < now() - make_interval(days => ${days}) and status <> 'pending'
      order by created_at limit ${limit}))`;
  return result.count;
}
