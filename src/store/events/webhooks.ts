import type { Sql } from 'postgres';
import type { WebhookOwner } from '../../domain/webhook.ts';
import { MAX_WEBHOOKS_SET } from '../../limits.ts';
import type { Db } from '../db.ts';
import { dueAgain, isOwnedBy } from './webhook-parts.ts';

/** Time for which a webhook is signed by the secret before its last one too. */
export const WEBHOOK_OLD_SECRET_SECONDS = 86_400;

/** A webhook, without its secret. */
export type Webhook = {
  readonly id: string;
  readonly url: string;
  /** Null for all. */
  readonly eventTypes: readonly string[] | null;
  readonly setBy: 'operator' | 'key';
  readonly createdAt: Date;
  /** Its first failure since it last worked. */
  readonly failingSince: Date | null;
  readonly disabledAt: Date | null;
  readonly disabledBecause: 'off' | 'failing' | 'gone' | null;
  /** Until then it is signed by the secret of before, too. */
  readonly oldSecretUntil: Date | null;
};

/** The columns of a {@link Webhook}. */
const columns = (sql: Sql) => sql`
  w.id, w.url, w.event_types as "eventTypes", case when w.id = w.retailer_id then 'operator' else 'key' end as "setBy",
  w.created_at as "createdAt", w.failing_since as "failingSince", w.disabled_at as "disabledAt",
  w.disabled_because as "disabledBecause",
  case when w.old_secret_until > now() then w.old_secret_until end as "oldSecretUntil"`;

/** The webhooks of an owner, oldest first; the one that the operator set is among them. */
export async function listWebhooks({ sql }: Db, owner: WebhookOwner): Promise<Webhook[]> {
  return await sql<Webhook[]>`
    select ${columns(sql)} from webhooks w where ${isOwnedBy(sql, owner)} order by w.created_at, w.id`;
}

/** Null for an unknown webhook, and for another owner's. */
export async function findWebhook({ sql }: Db, owner: WebhookOwner, id: string): Promise<Webhook | null> {
  const [webhook] = await sql<Webhook[]>`
    select ${columns(sql)} from webhooks w where w.id = ${id} and ${isOwnedBy(sql, owner)}`;
  return webhook ?? null;
}

export type WebhookAddress = { readonly url: string; readonly secret: string; readonly oldSecret: string | null };

/** What is needed to send to a webhook; null for an unknown one, and for another owner's. */
export async function findWebhookAddress({ sql }: Db, owner: WebhookOwner, id: string): Promise<WebhookAddress | null> {
  const [row] = await sql`
    select w.url, w.secret, case when w.old_secret_until > now() then w.old_secret end as old_secret
    from webhooks w where w.id = ${id} and ${isOwnedBy(sql, owner)}`;
  return row ? { url: row.url, secret: row.secret, oldSecret: row.old_secret } : null;
}

export type NewWebhook = Pick<Webhook, 'id' | 'url' | 'eventTypes'> & { readonly secret: string };

/** Adds a webhook; null where its owner has MAX_WEBHOOKS_SET already. */
export async function addWebhook({ sql }: Db, owner: WebhookOwner, webhook: NewWebhook): Promise<Webhook | null> {
  const [storeId, organizationId] = owner.kind === 'store' ? [owner.id, null] : [null, owner.id];
  const [added] = await sql<Webhook[]>`
    with w as (
      insert into webhooks (id, retailer_id, organization_id, url, secret, event_types)
      select ${webhook.id}::uuid, ${storeId}::uuid, ${organizationId}::uuid, ${webhook.url}, ${webhook.secret},
        ${asArray(webhook.eventTypes)}::text[]
      where has_room_for_webhook(${storeId}::uuid, ${organizationId}::uuid, ${MAX_WEBHOOKS_SET})
      returning *
    )
    select ${columns(sql)} from w`;
  return added ?? null;
}

const asArray = (types: readonly string[] | null): string[] | null => (types ? [...types] : null);

/** What is given is changed. */
export type WebhookChange = {
  readonly url?: string;
  /** Null for all. */
  readonly eventTypes?: readonly string[] | null;
  readonly enabled?: boolean;
};

/**
 * Changes a webhook. A new URL, and enabling it, clear its failures and make the deliveries that wait for a
 * later try due now.
 *
 * @returns null for an unknown webhook, and for another owner's
 */
export async function changeWebhookOf(
  { sql, processId }: Db,
  owner: WebhookOwner,
  id: string,
  { url, eventTypes, enabled }: WebhookChange,
): Promise<Webhook | null> {
  const isNew = url !== undefined || enabled === true;
  const [changed] = await sql<Webhook[]>`
    with changed as (
      update webhooks w set url = ${url ?? sql`w.url`}, set_at = ${url === undefined ? sql`w.set_at` : sql`now()`}
        ${eventTypes === undefined ? sql`` : sql`, event_types = ${asArray(eventTypes)}::text[]`}
        ${isNew || enabled === false ? sql`, failing_since = null, retry_at = null` : sql``}
        ${enabled === true ? sql`, disabled_at = null, disabled_because = null` : sql``}
        ${enabled === false ? sql`, disabled_at = now(), disabled_because = 'off'` : sql``}
      where w.id = ${id} and ${isOwnedBy(sql, owner)}
      returning *
    )${isNew ? sql`, ${dueAgain(sql, id, processId)}` : sql``}
    select ${columns(sql)} from changed w ${isNew ? sql`where (select count(*) from jobs) >= 0` : sql``}`;
  return changed ?? null;
}

/**
 * Gives a webhook a new secret. By the secret of before it is signed too for WEBHOOK_OLD_SECRET_SECONDS; by
 * one that was replaced earlier it is signed no more.
 *
 * @returns null for an unknown webhook, and for another owner's
 */
export async function rotateWebhookSecret(
  { sql }: Db,
  owner: WebhookOwner,
  id: string,
  secret: string,
): Promise<Webhook | null> {
  const [changed] = await sql<Webhook[]>`
    update webhooks w set secret = ${secret}, old_secret = w.secret,
      old_secret_until = now() + make_interval(secs => ${WEBHOOK_OLD_SECRET_SECONDS})
    where w.id = ${id} and ${isOwnedBy(sql, owner)} returning ${columns(sql)}`;
  return changed ?? null;
}

/** Removes a webhook; its deliveries that wait end without one. False for an unknown one, and for another's. */
export async function removeWebhook({ sql }: Db, owner: WebhookOwner, id: string): Promise<boolean> {
  const result = await sql`delete from webhooks w where w.id = ${id} and ${isOwnedBy(sql, owner)}`;
  return result.count === 1;
}

/** Forgets the secrets by which nothing is signed any more; returns their number. */
export async function forgetOldSecrets({ sql }: Db): Promise<number> {
  const result = await sql`
    update webhooks set old_secret = null, old_secret_until = null where old_secret_until < now()`;
  return result.count;
}
