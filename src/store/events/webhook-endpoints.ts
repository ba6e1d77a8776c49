import { MAX_WEBHOOKS_SET } from '../../limits.ts';
import type { Db } from '../db.ts';
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
  { sql, processId }: Db,
  retailerId: string,
  url: string,
  secret: string,
  eventTypes?: readonly string[] | null,
): Promise<boolean | null> {
  const isFiltered = eventTypes !== undefined;
  const types = sql`${eventTypes ? [...eventTypes] : null}::text[]`;
  // A trigger completes a row without an owner: the version before writes it so.
  const columns = isFiltered ? sql`(id, url, secret, retailer_id, event_types)` : sql`(id, url, secret)`;
  const set = await sql`
    with changed as (
      insert into webhooks ${columns}
      select id, ${url}, ${secret} ${isFiltered ? sql`, id, ${types}` : sql``} from retailers where id = ${retailerId}
        and (exists (select from webhooks where id = ${retailerId})
          or has_room_for_webhook(${retailerId}::uuid, null, ${MAX_WEBHOOKS_SET}))
      on conflict (id) do update set url = excluded.url, secret = excluded.secret, set_at = now(),
        old_secret = null, old_secret_until = null,
        failing_since = null, retry_at = null, disabled_at = null, disabled_because = null
        ${isFiltered ? sql`, event_types = excluded.event_types` : sql``}
      returning disabled_at
    ), ${dueAgain(sql, retailerId, processId)}
    select from changed where (select count(*) from jobs) >= 0`;
  if (set.length === 1) return true;
  const [store] = await sql`select from retailers where id = ${retailerId}`;
  return store ? false : null;
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
