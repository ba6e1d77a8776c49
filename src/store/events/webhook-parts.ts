import type { Fragment, Sql } from 'postgres';
import type { WebhookOwner } from '../../domain/webhook.ts';
import { MAX_WEBHOOKS_PER_ENDPOINT } from '../../limits.ts';
import { isOwed } from '../fragments.ts';
import type { QueueName } from '../outbox-rows.ts';
import { firstParked } from './parked-parts.ts';

/** Oldest open deliveries that a new or enabled webhook looks at: a tenth of a second. The rest keeps its time. */
const WEBHOOKS_DUE_ROWS = 5_000;

/** The queues of webhook deliveries. */
export const WEBHOOK_QUEUES = ['webhook', 'event'] as const satisfies readonly QueueName[];

/**
 * The webhook of the delivery `d`. One that names none is of the webhook whose id is the store's: the version
 * before knows no other.
 */
export const webhookOf = (sql: Sql): Fragment => sql`coalesce(d.webhook_id, d.retailer_id)`;

/** Whether the webhook `w` is this owner's. */
export const isOwnedBy = (sql: Sql, { kind, id }: WebhookOwner): Fragment =>
  kind === 'store' ? sql`w.retailer_id = ${id}` : sql`w.organization_id = ${id}`;

/**
 * Whether the owner of the webhook `w` sees the store of the delivery `d`: an organization its own active ones
 * alone, at this moment.
 */
export const seesStore = (sql: Sql): Fragment => sql`(w.retailer_id is not null or exists (
  select from retailers r
  where r.id = d.retailer_id and r.organization_id = w.organization_id and r.status = 'active'))`;

/**
 * CTEs that make the deliveries of the webhook in `changed` that wait for a later try due now, with the first
 * of those that are parked behind it, and send the notice: they may wait for hours, and what failed before
 * says nothing of the webhook from now on. Behind a disabled one they go on waiting.
 *
 * @param webhookId the webhook that `changed` holds, if it was changed
 */
export const dueAgain = (sql: Sql, webhookId: string, processId: string): Fragment => sql`
  due as (
    update outbox set run_at = now(), lease_until = now(), parked_for = null, parked_at = null
    where id = any(array(
      select b.id from outbox b
      where b.id = any(array(
          select d.outbox_id from webhook_deliveries d
          -- The last condition is that of the index.
          where ${webhookOf(sql)} = ${webhookId} and d.status = 'pending' and d.status <> 'delivered'
          order by d.created_at, d.id limit ${WEBHOOKS_DUE_ROWS}))
        and ${isOwed(sql, sql`b`)} and b.parked_for is null and b.run_at > now()
      for update skip locked)
      || array(${firstParked(sql, webhookId, MAX_WEBHOOKS_PER_ENDPOINT)}))
      and exists (select from changed where disabled_at is null)
    returning id
  ), jobs as (
    select pg_notify('sameday', ${processId} || ':jobs:' || count(*)) from due having count(*) > 0
  )`;

/**
 * The queue of the jobs of the delivery `d`. The version before would send every job of `webhook` to the one
 * webhook that it knows, so those of other webhooks are in a queue that it does not take from.
 */
export const queueOf = (sql: Sql): Fragment =>
  sql`case when ${webhookOf(sql)} = d.retailer_id then 'webhook' else 'event' end`;
