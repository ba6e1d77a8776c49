import type { Row, Sql } from 'postgres';
import type { TextKind } from '../../domain/customer-text.ts';
import type { UndeliverableReason } from '../../domain/order.ts';
import type { Db } from '../db.ts';
import { isOwedTo, rowsOf } from '../fragments.ts';
import { changeOrders, lockOrders } from '../orders/changes.ts';
import {
  countTexts,
  hasOptedOut,
  isNews,
  optOutsAtTwilio,
  sentTo,
  type TextBounds,
  textEventData,
} from './text-rows.ts';

/** The queue of the jobs of tracking texts, and that of all others. */
export type TextQueue = 'sms' | 'text';

/** A text that an order's customer is to get. */
export type OwedText = {
  readonly kind: TextKind;
  readonly orderId: string;
  readonly retailerId: string;
  readonly to: string;
  readonly storeName: string;
  readonly trackingToken: string;
  /** Earlier sends with an unknown outcome; 0 before the first one. */
  readonly earlierSends: number;
  /** Whether the send that comes now is counted already. */
  readonly isCounted: boolean;
  /** When that came about which it tells. */
  readonly happenedAt: Date;
  readonly firstSentAt: Date;
  /**
   * Since the last counted send; since the text was opened, if there is none. Negative: until the text may be sent
   * again, whose sender was refused.
   */
  readonly secondsSinceSend: number;
  /** Whether the order is cancelled or has expired; then its text is not sent any more. */
  readonly orderEnded: boolean;
  /** Whether what it tells is no longer so, such as that the driver is on the way. */
  readonly isPast: boolean;
  /** Why the order was not delivered; null for any other. */
  readonly reason: UndeliverableReason | null;
  /** Whether the phone asked for no texts. */
  readonly optedOut: boolean;
  /** The bound of the day that this text is beyond. */
  readonly overBound: 'phone_limit' | 'store_limit' | null;
};

/**
 * Opens the one text of each order before it is sent, so that a second send knows of the first. By order; an
 * order that owes no text, for lack of consent or because its result is recorded, is missing. A text counts
 * for its day when it is opened for the first time; then its first send is counted, too, unless the order has
 * ended or the phone opted out.
 *
 * @param sender the number that is to send them
 */
export async function openTexts(
  { sql }: Db,
  orderIds: readonly string[],
  bounds: TextBounds,
  sender: string,
): Promise<Map<string, OwedText>> {
  const rows = await sql`
    with owed as (
      select o.id, o.retailer_id, o.tracking_token, o.created_at, c.phone, r.name,
        ${sentTo(sql)} as send_to,
        o.status in ('cancelled', 'expired') as ended, ${hasOptedOut(sql, sql`c.phone`, sender)} as opted_out
      from orders o join customers c on c.id = o.customer_id join retailers r on r.id = o.retailer_id
      where o.id = any(${[...orderIds]}::uuid[]) and o.sms_status = 'queued' and c.sms_opt_in
    ), opened as (
      insert into messages (order_id, status, sends, counted_at)
      select id, 'sending', (not ended and not opted_out)::int, case when not ended and not opted_out then now() end
      from owed order by id
      on conflict (order_id) do update set status = messages.status
      -- A row that this statement wrote has no deleting transaction.
      returning order_id, sends, sent_at, status, counted_at, xmax = 0 as is_new
    ), fresh as (
      select owed.id, owed.phone, owed.retailer_id
      from owed join opened on opened.order_id = owed.id and opened.is_new and not owed.ended and not owed.opted_out
    )${countTexts(sql, bounds)}
    select owed.*, opened.sends, opened.is_new, opened.sent_at, over.bound as over_bound,
      extract(epoch from now() - coalesce(opened.counted_at, opened.sent_at))::float8 as seconds_since_send
    from owed join opened on opened.order_id = owed.id left join over on over.id = owed.id
    where opened.status = 'sending'`;
  return new Map(
    rows.map((row) => [
      row.id,
      {
        ...ofAnyKind(row),
        kind: 'tracking',
        orderId: row.id,
        earlierSends: row.is_new ? 0 : row.sends,
        isCounted: row.is_new && row.sends > 0,
        firstSentAt: row.sent_at,
        orderEnded: row.ended,
        isPast: false,
        reason: null,
      },
    ]),
  );
}

/** What the statements that open texts return alike. */
export const ofAnyKind = (row: Row) => ({
  retailerId: row.retailer_id as string,
  to: row.send_to as string,
  storeName: row.name as string,
  trackingToken: row.tracking_token as string,
  happenedAt: row.created_at as Date,
  secondsSinceSend: row.seconds_since_send as number,
  optedOut: row.opted_out as boolean,
  overBound: row.over_bound as OwedText['overBound'],
});

/** Deletes the counts of texts of days that are past by `days` days or more; returns their number. */
export async function pruneTextCounts({ sql }: Db, days: number, limit: number): Promise<number> {
  // By ctid as in pruneDriverActions: the counts of a past day are not updated any more.
  const result = await sql`
    delete from text_counts where ctid = any(array(
      select ctid from text_counts
      where day <= (now() at time zone 'UTC')::date - ${days}::int order by day limit ${limit}))`;
  return result.count;
}

/** The rows of the texts of a queue's jobs, `m`, and which of them is the text `i`: an order has one of `sms`. */
const rowsOfJobs = (sql: Sql, queue: TextQueue) =>
  queue === 'sms'
    ? { rows: sql`messages m`, isThat: sql`m.order_id = i.order_id`, touched: sql`` }
    : {
        rows: sql`texts m`,
        isThat: sql`m.order_id = i.order_id and m.kind = i.kind`,
        touched: sql`, updated_at = now()`,
      };

export type SendToCount = Pick<OwedText, 'orderId' | 'kind' | 'earlierSends'>;

const SENDS = rowsOf<SendToCount>([
  ['order_id', 'uuid', ({ orderId }) => orderId],
  ['kind', 'text', ({ kind }) => kind],
  ['earlier', 'int4', ({ earlierSends }) => earlierSends],
]);

/**
 * Counts sends before they are made, at most one an order. By order; a send that another worker counted first is
 * missing.
 */
export async function countSends(
  { sql }: Db,
  queue: TextQueue,
  sends: readonly SendToCount[],
): Promise<Map<string, true>> {
  const { rows, isThat, touched } = rowsOfJobs(sql, queue);
  const counted = await sql`
    update ${rows} set sends = m.sends + 1, counted_at = now()${touched}
    from (${SENDS(sql, sends)}) i where ${isThat} and m.status = 'sending' and m.sends = i.earlier
    returning m.order_id`;
  return new Map(counted.map((row) => [row.order_id, true]));
}

/**
 * Takes back the count of a send that was certainly not made. Changes nothing if another worker has counted a
 * send since.
 */
export async function uncountSend({ sql }: Db, queue: TextQueue, send: SendToCount): Promise<void> {
  const { rows, isThat } = rowsOfJobs(sql, queue);
  await sql`
    update ${rows} set sends = m.sends - 1, counted_at = null
    from (${SENDS(sql, [send])}) i where ${isThat} and m.status = 'sending' and m.sends = i.earlier + 1`;
}

export type TextResult =
  | { readonly status: 'sent'; readonly sid: string }
  /** `says`: the vendor's words. */
  | { readonly status: 'failed'; readonly failureCode: string; readonly says?: string | undefined };

export type RecordedText = Pick<OwedText, 'orderId' | 'kind'> & {
  readonly result: TextResult;
  readonly outboxId: number;
};

const RECORDED = rowsOf<RecordedText>([
  ['order_id', 'uuid', ({ orderId }) => orderId],
  ['kind', 'text', ({ kind }) => kind],
  ['status', 'text', ({ result }) => result.status],
  ['sid', 'text', ({ result }) => (result.status === 'sent' ? result.sid : null)],
  ['failure_code', 'text', ({ result }) => (result.status === 'failed' ? result.failureCode : null)],
  ['says', 'text', ({ result }) => (result.status === 'failed' ? (result.says ?? null) : null)],
  ['outbox_id', 'int8', ({ outboxId }) => outboxId],
]);

/**
 * Records the results of texts: each text, its order, the event, the outbox row and the notice, in one
 * statement.
 *
 * @param texts at most one an order
 * @param sender the number that sent them
 * @returns the ids of the written orders; for a missing one a result was recorded before, and nothing was
 *   written
 */
export function recordTexts(
  db: Db,
  queue: TextQueue,
  texts: readonly RecordedText[],
  sender: string,
): Promise<Map<string, true>> {
  const { sql } = db;
  const orderIds = texts.map(({ orderId }) => orderId);
  const { rows, isThat, touched } = rowsOfJobs(sql, queue);
  const recorded = sql`
    input as (${RECORDED(sql, texts)} order by outbox_id
    ), ${lockOrders(sql, orderIds)}, recorded as (
      update ${rows} set status = i.status, sid = i.sid, failure_code = i.failure_code${touched}
      from input i join locked on locked.id = i.order_id
      where ${isThat} and m.status = 'sending' and ${isNews(sql)}
      returning i.*
    ), job as (
      update outbox b set done_at = now(), failure_code = i.failure_code, failure_says = i.says
      from input i where b.id = i.outbox_id and ${isOwedTo(sql, sql`b`, sql`i.order_id`, queue)}
    )${optOutsAtTwilio(sql, sender)}`;
  // The columns of the tracking text are on the order.
  const [set, isOwed] =
    queue === 'sms'
      ? [sql`sms_status = s.status, sms_failure_code = s.failure_code, `, sql` and o.sms_status = 'queued'`]
      : [sql``, sql``];
  const update = sql`
    update orders o set ${set}sequence = o.sequence + 1 from recorded s where o.id = s.order_id${isOwed}`;
  const events = sql`
    select id, sequence, 'sms_' || s.status, ${textEventData(sql, sql`s.kind`, sql`s.failure_code`)}
    from changed join recorded s on s.order_id = id`;
  return changeOrders(db, recorded, update, events);
}
