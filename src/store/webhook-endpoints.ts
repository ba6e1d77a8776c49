import type { Db } from './db.ts';
import type { DeliveryStatus } from './webhook-events.ts';

/** Sets a store's webhook with a new secret, and clears its failures; false for an unknown store. */
export async function setWebhook({ sql }: Db, retailerId: string, url: string, secret: string): Promise<boolean> {
  const rows = await sql`
    insert into webhook_endpoints (retailer_id, url, secret)
    select id, ${url}, ${secret} from retailers where id = ${retailerId}
    on conflict (retailer_id) do update set url = excluded.url, secret = excluded.secret, set_at = now(),
      failing_since = null, retry_at = null, disabled_at = null, disabled_because = null
    returning retailer_id`;
  return rows.length === 1;
}

/** Enables a disabled webhook with its old URL and secret; false if there is none. */
export async function enableWebhook({ sql }: Db, retailerId: string): Promise<boolean> {
  const rows = await sql`
    update webhook_endpoints
    set failing_since = null, retry_at = null, disabled_at = null, disabled_because = null
    where retailer_id = ${retailerId} returning retailer_id`;
  return rows.length === 1;
}

/** Removes a store's webhook; false if there is none. */
export async function removeWebhook({ sql }: Db, retailerId: string): Promise<boolean> {
  const rows = await sql`delete from webhook_endpoints where retailer_id = ${retailerId} returning retailer_id`;
  return rows.length === 1;
}

/** Deliveries for the operator's command line, newest first, of one store and status or of all. */
export async function listDeliveries(
  { sql }: Db,
  filter: { readonly retailerId: string | null; readonly status: DeliveryStatus | null },
  limit: number,
): Promise<Record<string, unknown>[]> {
  const rows = await sql`
    select d.id as delivery_id, d.retailer_id, d.order_id, d.type, d.sequence, d.status, d.attempts, d.result,
      d.created_at, d.tried_at, case when d.status = 'pending' then b.run_at end as next_try_at
    from webhook_deliveries d left join outbox b on b.id = d.outbox_id
    where (${filter.retailerId}::uuid is null or d.retailer_id = ${filter.retailerId})
      and (${filter.status}::text is null or d.status = ${filter.status})
    order by d.created_at desc limit ${limit}`;
  return rows.map((row) => ({ ...row }));
}

/** `still_tried`: its attempts are not over. */
export type ReplayOutcome = 'replayed' | 'unknown' | 'still_tried' | 'no_endpoint';

/** Makes a finished delivery due again with its id and body. The sweeper relays its job within seconds. */
export async function replayDelivery({ sql }: Db, deliveryId: string): Promise<ReplayOutcome> {
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
    )
    select status, has_endpoint from known`;
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
