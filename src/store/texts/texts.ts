import type { OptionalText } from '../../domain/customer-text.ts';
import type { Db } from '../db.ts';
import { isOwedTo, rowsOf } from '../fragments.ts';
import { changeOrders, lockOrders } from '../orders/changes.ts';
import { type OwedText, ofAnyKind, RESULT_COLUMNS, type RecordedText } from './messages.ts';
import {
  countTexts,
  hasOptedOut,
  isNews,
  optOutsAtTwilio,
  sentTo,
  type TextBounds,
  textEventData,
} from './text-rows.ts';

/**
 * Opens optional texts before they are sent, as `openTexts` opens the one with the tracking link. By the id of
 * their job; one whose result is recorded is missing.
 */
export async function openOptionalTexts(
  { sql }: Db,
  outboxIds: readonly number[],
  bounds: TextBounds,
  sender: string,
): Promise<Map<string, OwedText>> {
  const rows = await sql`
    with owed as materialized (
      -- The orders' table first, as in every statement that writes it.
      select t.*, t.outbox_id as id, o.retailer_id, o.tracking_token, o.reason_code, c.phone, r.name,
        ${sentTo(sql)} as send_to,
        t.kind = 'on_the_way' and o.status <> 'picked_up' as past,
        not c.sms_opt_in or ${hasOptedOut(sql, sql`c.phone`, sender)} as opted_out
      from orders o join customers c on c.id = o.customer_id join retailers r on r.id = o.retailer_id
      join texts t on t.order_id = o.id
      where t.outbox_id = any(${[...outboxIds]}::int8[]) and t.status in ('queued', 'sending')
      order by t.outbox_id for update of t
    ), opened as (
      update texts t set status = 'sending', opened_at = now(), updated_at = now()
      from owed where t.outbox_id = owed.outbox_id and owed.status = 'queued'
    ), fresh as (
      select id, phone, retailer_id from owed where status = 'queued' and not past and not opted_out
    )${countTexts(sql, bounds)}
    select owed.*, coalesce(owed.opened_at, now()) as first_opened_at, over.bound as over_bound,
      extract(epoch from now() - coalesce(owed.counted_at, owed.opened_at, now()))::float8 as seconds_since_send
    from owed left join over on over.id = owed.id`;
  return new Map(
    rows.map((row) => [
      String(row.outbox_id),
      {
        ...ofAnyKind(row),
        kind: row.kind,
        orderId: row.order_id,
        earlierSends: row.sends,
        isCounted: false,
        firstSentAt: row.first_opened_at,
        orderEnded: false,
        isPast: row.past,
        reason: row.kind === 'not_delivered' ? row.reason_code : null,
      },
    ]),
  );
}

type OptionalSend = Pick<OwedText, 'orderId' | 'kind' | 'earlierSends'>;

const SENDS = rowsOf<OptionalSend>([
  ['order_id', 'uuid', ({ orderId }) => orderId],
  ['kind', 'text', ({ kind }) => kind],
  ['earlier', 'int4', ({ earlierSends }) => earlierSends],
]);

/**
 * Counts sends of optional texts before they are made, at most one an order. By order; a send that another
 * worker counted first is missing.
 */
export async function countOptionalSends({ sql }: Db, sends: readonly OptionalSend[]): Promise<Map<string, true>> {
  const rows = await sql`
    update texts m set sends = m.sends + 1, counted_at = now(), updated_at = now()
    from (${SENDS(sql, sends)}) i
    where m.order_id = i.order_id and m.kind = i.kind and m.status = 'sending' and m.sends = i.earlier
    returning m.order_id`;
  return new Map(rows.map((row) => [row.order_id, true]));
}

/** Takes back the count of an optional text's send that was certainly not made, as `uncountSend` does. */
export async function uncountOptionalSend({ sql }: Db, { orderId, kind, earlierSends }: OptionalSend): Promise<void> {
  await sql`
    update texts set sends = sends - 1, counted_at = null
    where order_id = ${orderId} and kind = ${kind} and status = 'sending' and sends = ${earlierSends + 1}`;
}

export type RecordedOptionalText = RecordedText & Pick<OwedText, 'kind'>;

const RECORDED = rowsOf<RecordedOptionalText>([...RESULT_COLUMNS, ['kind', 'text', ({ kind }) => kind]]);

/**
 * Records the results of optional texts as `recordTexts` does: each text, its order's event, the outbox row
 * and the notice, in one statement.
 *
 * @param texts at most one an order
 * @returns the ids of their orders; for a missing one a result was recorded before, and nothing was written
 */
export function recordOptionalTexts(
  db: Db,
  texts: readonly RecordedOptionalText[],
  sender: string,
): Promise<Map<string, true>> {
  const { sql } = db;
  const orderIds = texts.map(({ orderId }) => orderId);
  const recorded = sql`
    input as (${RECORDED(sql, texts)} order by outbox_id
    ), ${lockOrders(sql, orderIds)}, recorded as (
      update texts m set status = i.status, sid = i.sid, failure_code = i.failure_code, updated_at = now()
      from input i join locked on locked.id = i.order_id
      where m.order_id = i.order_id and m.kind = i.kind and m.status = 'sending' and ${isNews(sql)}
      returning i.*
    ), job as (
      update outbox b set done_at = now(), failure_code = i.failure_code, failure_says = i.says
      from input i where b.id = i.outbox_id and ${isOwedTo(sql, sql`b`, sql`i.order_id`, 'text')}
    )${optOutsAtTwilio(sql, sender)}`;
  const update = sql`update orders o set sequence = o.sequence + 1 from recorded s where o.id = s.order_id`;
  const events = sql`
    select id, sequence, 'sms_' || s.status, ${textEventData(sql, sql`s.kind`, sql`s.failure_code`)}
    from changed join recorded s on s.order_id = id`;
  return changeOrders(db, recorded, update, events);
}

/** Sets the optional texts of a store's customers, for what happens from then on; false for an unknown store. */
export async function setTextKinds({ sql }: Db, retailerId: string, kinds: readonly OptionalText[]): Promise<boolean> {
  const rows = await sql`
    update retailers set text_kinds = ${[...kinds]}::text[], updated_at = now() where id = ${retailerId} returning id`;
  return rows.length === 1;
}
