import type { Fragment } from 'postgres';
import { MAX_WEBHOOKS_SET } from '../../limits.ts';
import type { Db } from '../db.ts';
import { changeAndTell } from '../fragments.ts';
import { dueAgain, queueOf, seesStore, webhookOf } from './webhook-parts.ts';

/*
 * The webhook of a store that the operator sets. Its id is the store's, so that the version before finds it
 * (migration 0021).
 */

/**
 * Sets the webhook of a store with a new secret, and clears its failures; false where the store has MAX_WEBHOOKS_SET
 * others, null for an unknown store.
 *
 * @param eventTypes the types of events that it is told of, null for all; without it a new webhook is told of
 *   what the version before told, and one that is there of what it was told
 */
export async function setWebhook(
  db: Db,
  retailerId: string,
  url: string,
  secret: string,
  eventTypes?: readonly string[] | null,
): Promise<boolean | null> {
  const { sql } = db;
  const isFiltered = eventTypes !== undefined;
  const types = sql`${eventTypes ? [...eventTypes] : null}::text[]`;
  // A trigger completes a row without an owner: the version before writes it so.
  const columns = isFiltered ? sql`(id, url, secret, retailer_id, event_types)` : sql`(id, url, secret)`;
  const change = sql`
    insert into webhooks ${columns}
    select id, ${url}, ${secret} ${isFiltered ? sql`, id, ${types}` : sql``} from retailers where id = ${retailerId}
      and (exists (select from webhooks where id = ${retailerId})
        or has_room_for_webhook(${retailerId}::uuid, null, ${MAX_WEBHOOKS_SET}))
    on conflict (id) do update set url = excluded.url, secret = excluded.secret, set_at = now(),
      old_secret = null, old_secret_until = null,
      failing_since = null, retry_at = null, disabled_at = null, disabled_because = null
      ${isFiltered ? sql`, event_types = excluded.event_types` : sql``}`;
  if (await changeWebhook(db, retailerId, change)) return true;
  const [store] = await sql`select from retailers where id = ${retailerId}`;
  return store ? false : null;
}

/** Sets what a store's webhook is told of, null for all; false if there is none. */
export async function setWebhookTypes({ sql }: Db, id: string, eventTypes: readonly string[] | null): Promise<boolean> {
  const rows = await sql`
    update webhooks set event_types = ${eventTypes ? [...eventTypes] : null}::text[] where id = ${id} returning id`;
  return rows.length === 1;
}

/** Enables a disabled webhook with its old URL and secret; false if there is none. */
export function enableWebhook(db: Db, retailerId: string): Promise<boolean> {
  const change = db.sql`
    update webhooks set failing_since = null, retry_at = null, disabled_at = null, disabled_because = null
    where id = ${retailerId}`;
  return changeWebhook(db, retailerId, change);
}

/** Disables a store's webhook, which keeps its URL and secret; false if there is none. */
export async function disableWebhook(db: Db, retailerId: string): Promise<boolean> {
  const change = db.sql`
    update webhooks set failing_since = null, retry_at = null, disabled_at = now(), disabled_because = 'off'
    where id = ${retailerId}`;
  return (await changeAndTell(db, 'retailer', change)) === 1;
}

/**
 * Changes a store's webhook, makes the deliveries that wait for a later try due now, and sends the notices of
 * both.
 *
 * @param change an `insert` or `update` of the webhook without `returning`
 */
async function changeWebhook({ sql, processId }: Db, retailerId: string, change: Fragment): Promise<boolean> {
  const rows = await sql`
    with changed as (${change} returning id, disabled_at
    ), ${dueAgain(sql, retailerId, processId)}, notice as (
      select pg_notify('sameday', ${processId} || ':retailer:' || id) from changed
    )
    select (select count(*) from changed) as changed, (select count(*) from notice) as notices,
      (select count(*) from jobs) as jobs`;
  return rows[0]?.changed === 1;
}

/** `still_tried`: its attempts are not over. */
export type ReplayOutcome = 'replayed' | 'unknown' | 'still_tried' | 'no_endpoint';

/**
 * Makes a finished delivery due again with its id and body. A sweeper hears of its job.
 *
 * @param webhookId of this webhook alone, where it is given, and unknown where its owner does not see the store
 */
export async function replayDelivery(
  { sql, processId }: Db,
  deliveryId: string,
  webhookId?: string,
): Promise<ReplayOutcome> {
  const [row] = await sql`
    with known as (
      select d.id, d.order_id, d.retailer_id, d.status, d.outbox_id, ${queueOf(sql)} as queue,
        w.id is not null and w.disabled_at is null and ${seesStore(sql)} as has_endpoint
      from webhook_deliveries d left join webhooks w on w.id = ${webhookOf(sql)}
      where d.id = ${deliveryId} ${webhookId ? sql`and w.id = ${webhookId} and ${seesStore(sql)}` : sql``}
      for update of d
    ), job as (
      insert into outbox (queue, order_id, retailer_id, lease_until)
      select queue, order_id, retailer_id, now() from known where status <> 'pending' and has_endpoint
      returning id
    ), settled as (
      update outbox b set settled_at = now() from known, job where b.id = known.outbox_id and b.failure_code is not null
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
