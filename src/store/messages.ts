import type { Fragment, Sql } from 'postgres';
import { changeOrders, lockOrders } from './changes.ts';
import type { Db } from './db.ts';
import { rowsOf } from './fragments.ts';

/** A text that an order's customer is to get. */
export type OwedText = {
  readonly orderId: string;
  readonly retailerId: string;
  readonly to: string;
  readonly storeName: string;
  readonly trackingToken: string;
  /** Earlier sends with an unknown outcome; 0 before the first one. */
  readonly earlierSends: number;
  readonly orderedAt: Date;
  readonly firstSentAt: Date;
  /** Since the last counted send; since the text was opened, if there is none. */
  readonly secondsSinceSend: number;
  /** Whether the order is cancelled or has expired; then its text is not sent any more. */
  readonly orderEnded: boolean;
  /** The bound of the day that this text is beyond. */
  readonly overBound: 'phone_limit' | 'store_limit' | null;
};

/** Most texts a day (UTC) to one phone and for one store; 0 for no bound. */
export type TextBounds = { readonly perPhone: number; readonly perStore: number };

/**
 * Opens the one text of each order before it is sent, so that a second send knows of the first. By order; an
 * order that owes no text, for lack of consent or because its result is recorded, is missing. A text counts
 * for its day when it is opened for the first time.
 */
export async function openTexts(
  { sql }: Db,
  orderIds: readonly string[],
  bounds: TextBounds,
): Promise<Map<string, OwedText>> {
  const rows = await sql`
    with owed as (
      select o.id, o.retailer_id, o.tracking_token, o.created_at, c.phone, r.name,
        o.status in ('cancelled', 'expired') as ended
      from orders o join customers c on c.id = o.customer_id join retailers r on r.id = o.retailer_id
      where o.id = any(${[...orderIds]}::uuid[]) and o.sms_status = 'queued' and c.sms_opt_in
    ), opened as (
      insert into messages (order_id, status, sends) select id, 'sending', 0 from owed order by id
      on conflict (order_id) do update set status = messages.status
      -- A row that this statement wrote has no deleting transaction.
      returning order_id, sends, sent_at, status, counted_at, xmax = 0 as is_new
    )${countTexts(sql, bounds)}
    select owed.*, opened.sends, opened.sent_at, over.bound as over_bound,
      extract(epoch from now() - coalesce(opened.counted_at, opened.sent_at))::float8 as seconds_since_send
    from owed join opened on opened.order_id = owed.id left join over on over.id = owed.id
    where opened.status = 'sending'`;
  return new Map(
    rows.map((row) => [
      row.id,
      {
        orderId: row.id,
        retailerId: row.retailer_id,
        to: row.phone,
        storeName: row.name,
        trackingToken: row.tracking_token,
        earlierSends: row.sends,
        orderedAt: row.created_at,
        firstSentAt: row.sent_at,
        secondsSinceSend: row.seconds_since_send,
        orderEnded: row.ended,
        overBound: row.over_bound,
      },
    ]),
  );
}

/**
 * The CTEs that count the texts of `opened` for their phone and their store on this day, and `over`: those
 * that are beyond a bound. The row of a count is locked until the commit, so that two workers cannot both
 * take the last place. A phone is kept as a hash. Without bounds nothing is counted.
 */
function countTexts(sql: Sql, { perPhone, perStore }: TextBounds): Fragment {
  if (perPhone === 0 && perStore === 0) return sql`, over as (select null::uuid as id, null as bound where false)`;
  return sql`, claims as materialized (
      select owed.id, v.about, v.bound, v.most, count(*) over (partition by v.about) as size,
        row_number() over (partition by v.about order by owed.id) as place
      from owed join opened on opened.order_id = owed.id and opened.is_new and not owed.ended
      cross join lateral (values
        ('phone:' || encode(sha256(convert_to(owed.phone, 'UTF8')), 'hex'), 'phone_limit', ${perPhone}::int),
        ('store:' || owed.retailer_id, 'store_limit', ${perStore}::int)
      ) v(about, bound, most)
      where v.most > 0
    ), counted as (
      insert into text_counts (about, day, texts)
      select about, (now() at time zone 'UTC')::date, max(size) from claims group by about order by about
      on conflict (about, day) do update set texts = text_counts.texts + excluded.texts
      returning about, texts
    ), over as (
      select c.id, min(c.bound) as bound from claims c join counted t on t.about = c.about
      where t.texts - c.size + c.place > c.most group by c.id
    )`;
}

/** Deletes the counts of texts of days that are past by `days` days or more; returns their number. */
export async function pruneTextCounts({ sql }: Db, days: number, limit: number): Promise<number> {
  const result = await sql`
    delete from text_counts where (about, day) in (
      select about, day from text_counts where day <= (now() at time zone 'UTC')::date - ${days}::int limit ${limit})`;
  return result.count;
}

export type SendToCount = { readonly orderId: string; readonly earlierSends: number };

const SENDS = rowsOf<SendToCount>([
  ['order_id', 'uuid', ({ orderId }) => orderId],
  ['earlier', 'int4', ({ earlierSends }) => earlierSends],
]);

/** Counts sends before they are made. A send that another worker counted first is missing from the result. */
export async function countSends({ sql }: Db, sends: readonly SendToCount[]): Promise<Map<string, true>> {
  const rows = await sql`
    update messages m set sends = m.sends + 1, counted_at = now()
    from (${SENDS(sql, sends)}) t
    where m.order_id = t.order_id and m.status = 'sending' and m.sends = t.earlier
    returning m.order_id`;
  return new Map(rows.map((row) => [row.order_id, true]));
}

/**
 * Takes back the count of a send that was certainly not made. Changes nothing if another worker has counted a
 * send since.
 */
export async function uncountSend({ sql }: Db, { orderId, earlierSends }: SendToCount): Promise<void> {
  await sql`
    update messages set sends = sends - 1, counted_at = null
    where order_id = ${orderId} and status = 'sending' and sends = ${earlierSends + 1}`;
}

export type TextResult =
  | { readonly status: 'sent'; readonly sid: string }
  | { readonly status: 'failed'; readonly failureCode: string };

export type RecordedText = { readonly orderId: string; readonly result: TextResult; readonly outboxId: number };

const RECORDED_TEXTS = rowsOf<RecordedText>([
  ['order_id', 'uuid', ({ orderId }) => orderId],
  ['status', 'text', ({ result }) => result.status],
  ['sid', 'text', ({ result }) => (result.status === 'sent' ? result.sid : null)],
  ['failure_code', 'text', ({ result }) => (result.status === 'failed' ? result.failureCode : null)],
  ['outbox_id', 'int8', ({ outboxId }) => outboxId],
]);

/**
 * Records the results of texts: each text, its order, the event, the outbox row and the notice, in one
 * statement.
 *
 * @param texts at most one an order
 * @returns the ids of the written orders; for a missing one a result was recorded before, and nothing was
 *   written
 */
export function recordTexts(db: Db, texts: readonly RecordedText[]): Promise<Map<string, true>> {
  const { sql } = db;
  const orderIds = texts.map(({ orderId }) => orderId);
  const recorded = sql`
    input as (${RECORDED_TEXTS(sql, texts)}
    ), ${lockOrders(sql, orderIds)}, recorded as (
      update messages m set status = i.status, sid = i.sid, failure_code = i.failure_code
      from input i join locked on locked.id = i.order_id
      where m.order_id = i.order_id and m.status = 'sending'
      returning i.*
    ), job as (
      update outbox b set done_at = now(), failure_code = i.failure_code
      from input i where b.id = i.outbox_id and b.done_at is null
    )`;
  const update = sql`
    update orders o set sms_status = s.status, sms_failure_code = s.failure_code, sequence = o.sequence + 1
    from recorded s where o.id = s.order_id and o.sms_status = 'queued'`;
  const events = sql`
    select id, sequence, 'sms_' || s.status, case when s.failure_code is not null
      then jsonb_build_object('code', s.failure_code) end
    from changed join recorded s on s.order_id = id`;
  return changeOrders(db, recorded, update, events);
}
