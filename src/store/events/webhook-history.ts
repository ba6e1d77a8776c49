import type { Fragment, Row, Sql } from 'postgres';
import type { DeliveryStatus, WebhookOwner } from '../../domain/webhook.ts';
import type { Db } from '../db.ts';
import { LIST_SCAN_ROWS } from '../orders/orders-list.ts';
import { type Cursor, microsOf, rowAt } from '../pages.ts';
import { nextTry } from './parked-parts.ts';
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

export type DeliveryFilter = {
  readonly status: DeliveryStatus | null;
  readonly limit: number;
  /** By the time of the making. */
  readonly cursor: Cursor | null;
};

/**
 * The deliveries of a webhook, newest first, on the connections for lists; an organization's of those stores
 * that it sees. A page ends early, and may be empty, where LIST_SCAN_ROWS deliveries were looked at and `next`
 * goes on from there.
 *
 * @returns null for an unknown webhook, and for another owner's
 */
export async function listDeliveriesOf(
  { lists: sql }: Db,
  owner: WebhookOwner,
  webhookId: string,
  { status, limit, cursor }: DeliveryFilter,
): Promise<{ readonly deliveries: ListedDelivery[]; readonly next: Cursor | null } | null> {
  const [known] = await sql`select from webhooks w where w.id = ${webhookId} and ${isOwnedBy(sql, owner)}`;
  if (!known) return null;
  const isWanted = sql`(${status === null ? sql`true` : sql`l.status = ${status}`} and ${isSeenBy(sql, owner)})`;
  const rows = await sql`
    with page as materialized (
      select l.*, ${isWanted} as wanted from ${lookedAt(sql, webhookId, status, cursor)} l
      where ${isWanted} or l.scanned = ${LIST_SCAN_ROWS}
      order by l.created_at desc, l.id desc limit ${limit + 1}
    )
    select d.id, d.order_id as "orderId", d.type, d.sequence, d.status, d.attempts, d.result,
      d.created_at as "createdAt", d.tried_at as "triedAt", d.scanned, d.wanted,
      case when d.status = 'pending' then ${nextTry(sql)} end as "nextTryAt",
      ${microsOf(sql, sql`d.created_at`)} as micros
    from page d left join outbox b on b.id = d.outbox_id order by d.created_at desc, d.id desc`;
  const page = rows.slice(0, limit);
  // The last delivery that was looked at comes also where it is not asked for.
  const endsEarly = rows.length <= limit && rows.at(-1)?.scanned === LIST_SCAN_ROWS;
  const last = rows.length > limit || endsEarly ? page.at(-1) : undefined;
  return {
    deliveries: page.filter(({ wanted }) => wanted).map(toDelivery),
    next: last ? { micros: last.micros, id: last.id } : null,
  };
}

/** Whether the owner sees the store of the delivery `l`: an organization its own active ones alone. */
const isSeenBy = (sql: Sql, { kind, id }: WebhookOwner): Fragment =>
  kind === 'store'
    ? sql`true`
    : sql`l.retailer_id in (select r.id from retailers r where r.organization_id = ${id} and r.status = 'active')`;

/**
 * LIST_SCAN_ROWS deliveries of a webhook at most, newest first, with `scanned`: how many were looked at up to
 * each. Those that were given up or are still tried have an index of their own (`webhook_deliveries_open`), for
 * which the status stands in the statement as it is there.
 */
function lookedAt(sql: Sql, webhookId: string, status: DeliveryStatus | null, cursor: Cursor | null): Fragment {
  const open = { pending: sql`and d.status = 'pending'`, failed: sql`and d.status = 'failed'`, delivered: sql`` };
  return sql`(
    select d.id, d.outbox_id, d.retailer_id, d.order_id, d.type, d.sequence, d.status, d.attempts, d.result,
      d.created_at, d.tried_at, row_number() over (order by d.created_at desc, d.id desc)::int as scanned
    from webhook_deliveries d
    where ${webhookOf(sql)} = ${webhookId} ${status === null ? sql`` : open[status]}
      ${cursor ? sql`and (d.created_at, d.id) < ${rowAt(sql, cursor)}` : sql``}
    order by d.created_at desc, d.id desc limit ${LIST_SCAN_ROWS})`;
}

const toDelivery = ({ micros: _micros, scanned: _scanned, wanted: _wanted, ...delivery }: Row) =>
  delivery as ListedDelivery;
