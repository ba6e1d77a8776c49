import type { Row } from 'postgres';
import type { DeliveryStatus, WebhookOwner } from '../domain/webhook.ts';
import type { Db } from './db.ts';
import { isOwnedBy, webhookOf } from './webhook-parts.ts';

/** A delivery of a webhook. */
export type ListedDelivery = {
  readonly id: string;
  readonly orderId: string;
  readonly type: string;
  readonly sequence: number;
  readonly status: DeliveryStatus;
  readonly attempts: number;
  /** Of the last attempt: the HTTP status, or a word for why there was none. */
  readonly result: string | null;
  readonly createdAt: Date;
  readonly triedAt: Date | null;
  readonly nextTryAt: Date | null;
};

/** Where a page of deliveries ended. */
export type DeliveryCursor = { readonly createdMicros: string; readonly id: string };

export type DeliveryFilter = {
  readonly status: DeliveryStatus | null;
  readonly limit: number;
  readonly cursor: DeliveryCursor | null;
};

/**
 * The deliveries of a webhook, newest first, on the connections for lists.
 *
 * @returns null for an unknown webhook, and for another owner's
 */
export async function listDeliveriesOf(
  { lists: sql }: Db,
  owner: WebhookOwner,
  webhookId: string,
  { status, limit, cursor }: DeliveryFilter,
): Promise<{ readonly deliveries: ListedDelivery[]; readonly next: DeliveryCursor | null } | null> {
  const [known] = await sql`select from webhooks w where w.id = ${webhookId} and ${isOwnedBy(sql, owner)}`;
  if (!known) return null;
  const at = sql`to_timestamp(0) + ${cursor?.createdMicros ?? '0'}::int8 * interval '1 microsecond'`;
  const rows = await sql`
    select d.id, d.order_id, d.type, d.sequence, d.status, d.attempts, d.result, d.created_at, d.tried_at,
      case when d.status = 'pending' then b.run_at end as next_try_at,
      (extract(epoch from d.created_at) * 1000000)::int8::text as micros
    from webhook_deliveries d left join outbox b on b.id = d.outbox_id
    where ${webhookOf(sql)} = ${webhookId} ${status === null ? sql`` : sql`and d.status = ${status}`}
      ${cursor ? sql`and (d.created_at, d.id) < (${at}, ${cursor.id}::uuid)` : sql``}
    order by d.created_at desc, d.id desc limit ${limit + 1}`;
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? shown.at(-1) : undefined;
  return { deliveries: shown.map(toDelivery), next: last ? { createdMicros: last.micros, id: last.id } : null };
}

const toDelivery = (row: Row): ListedDelivery => ({
  id: row.id,
  orderId: row.order_id,
  type: row.type,
  sequence: row.sequence,
  status: row.status,
  attempts: row.attempts,
  result: row.result,
  createdAt: row.created_at,
  triedAt: row.tried_at,
  nextTryAt: row.next_try_at,
});
