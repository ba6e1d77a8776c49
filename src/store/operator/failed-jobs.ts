import type { Fragment, Sql } from 'postgres';
import type { TextKind } from '../../domain/customer-text.ts';
import { FIRST_ID, isId } from '../../domain/ids.ts';
import { ON_THE_WAY_USEFUL_SECONDS, TEXT_USEFUL_SECONDS } from '../../limits.ts';
import type { Db } from '../db.ts';
import { type ChangedOrder, changeOrder, refundJob } from '../orders/changes.ts';
import type { QueueName } from '../outbox-rows.ts';
import { type From, type ListSearch, type Page, type PageRequest, printable, readPage } from '../pages.ts';
import { leftToRefund } from '../payments/refunds.ts';

/** What the operator looks for among failed jobs. The text is an order's id, or a part of the code or the words. */
export type FailedJobSearch = ListSearch<QueueName> & { readonly retailerIds: readonly string[] | null };

/** The jobs that `failed_jobs` of the schema finds, the newest first. Places hold the job's id in `micros`. */
export function listFailedJobs({ sql }: Db, search: FailedJobSearch, page: PageRequest): Promise<Page> {
  const step = async ({ behind }: From, most: number) => {
    const rows = await sql`
      with failed as materialized (select * from failed_jobs())
      select f.id::text from failed f
      where ${matches(sql, search)} and f.id < ${behind?.micros ?? null}::int8 is not false
      order by f.id desc limit ${most}`;
    const found = rows.map(({ id }) => ({ rank: 0, micros: id, id: FIRST_ID }));
    return { found, from: found.length < most ? null : { rank: 0, behind: found.at(-1) ?? null } };
  };
  return readPage(page, step, async (places) => {
    const rows = await sql`
      select b.id as job_id, b.queue, b.failure_code, b.failure_says as vendor_says, b.order_id, r.name as store,
        b.done_at as failed_at
      from outbox b left join retailers r on r.id = b.retailer_id
      where b.id = any(${places.map(({ micros }) => micros)}::int8[]) order by b.id desc`;
    return printable(rows);
  });
}

/** Whether the failed job `f` is wanted. */
function matches(sql: Sql, { status, since, until, text, retailerIds }: FailedJobSearch): Fragment {
  return sql`true
    ${status === null ? sql`` : sql`and f.queue = ${status}`}
    ${since ? sql`and f.done_at >= ${since}` : sql``}
    ${until ? sql`and f.done_at < ${until}` : sql``}
    ${retailerIds ? sql`and f.retailer_id = any(${[...retailerIds]}::uuid[])` : sql``}
    ${text === null ? sql`` : sql`and ${holdsText(sql, text)}`}`;
}

const holdsText = (sql: Sql, text: string): Fragment =>
  isId(text)
    ? sql`f.order_id = ${text}`
    : sql`strpos(lower(concat_ws(' ', f.failure_code, f.failure_says)), lower(${text})) > 0`;

export type FailedJob = {
  readonly id: number;
  readonly queue: QueueName;
  readonly orderId: string;
  readonly failureCode: string;
  /** Of a webhook. */
  readonly deliveryId: string | null;
  /** Of a text. */
  readonly textKind: TextKind | null;
};

/** A job that was given up and needs a person; null for any other. */
export async function findFailedJob({ sql }: Db, id: number): Promise<FailedJob | null> {
  const [job] = await sql<FailedJob[]>`
    select f.id, f.queue, f.order_id as "orderId", f.failure_code as "failureCode",
      (select d.id from webhook_deliveries d where d.outbox_id = f.id) as "deliveryId",
      case f.queue when 'sms' then 'tracking'
        else (select t.kind from texts t where t.outbox_id = f.id) end as "textKind"
    from failed_jobs() f where f.id = ${id}`;
  return job ?? null;
}

/** Marks a failed job as seen to. What its order owes, or is owed, stays. False where it was before. */
export async function dropFailedJob({ sql }: Db, id: number): Promise<boolean> {
  const result = await sql`
    update outbox set settled_at = now() where id = ${id} and failure_code is not null and settled_at is null`;
  return result.count === 1;
}

/** The CTE that marks a job of the order in `locked` as tried again; of two statements one finds it. */
const settle = (sql: Sql, id: number): Fragment => sql`
  settled as (
    update outbox b set settled_at = now() from locked
    where b.id = ${id} and b.order_id = locked.id and b.failure_code is not null and b.settled_at is null
    returning b.order_id
  )`;

/** Makes a refused refund owed again, as another attempt. Null where the order is not paid, or another one did. */
export function retryRefund(db: Db, { id, orderId }: FailedJob): Promise<ChangedOrder | null> {
  const { sql } = db;
  const before = sql`
    locked as materialized (
      select id from orders
      where id = ${orderId} and payment_status = 'paid' and status in ('cancelled', 'expired') for no key update
    ), ${settle(sql, id)}`;
  const update = sql`update orders set sequence = sequence + 1 where id in (select order_id from settled)`;
  const after = sql`, attempt as (
      insert into refunds (order_id, attempt, payment_intent_id, amount_cents, reason, status)
      select o.id, 1 + coalesce((select max(attempt) from refunds f where f.order_id = o.id), 0), o.charge_id,
        ${leftToRefund(sql)}, o.status, 'sending'
      from changed join orders o on o.id = changed.id
    )`;
  const jobs = refundJob(sql, sql`true`);
  return changeOrder(db, update, { type: 'refund_retried' }, { before, jobs, after, notice: 'details' });
}

/**
 * Makes a text that was not sent owed again, while it is useful. It keeps the sends that were made, so the job looks
 * for the message at the vendor before it sends it. One of which none was made is opened anew, so that the bounds of
 * the day judge it and count it. Null where it may not be sent any more, or another one
 * did. Never for a text whose outcome is unknown.
 */
export function retryText(db: Db, { id, orderId, queue, textKind }: FailedJob): Promise<ChangedOrder | null> {
  const { sql } = db;
  const isTracking = queue === 'sms';
  const before = sql`
    locked as materialized (
      select o.id from orders o left join texts t on t.outbox_id = ${id}
      where o.id = ${orderId} and ${isTracking ? trackingIsUseful(sql) : optionalIsUseful(sql)}
      for no key update of o
    ), ${settle(sql, id)}`;
  const update = sql`
    update orders set sequence = sequence + 1
      ${isTracking ? sql`, sms_status = 'queued', sms_failure_code = null` : sql``}
    where id in (select order_id from settled)`;
  const after = isTracking
    ? sql`, anew as (
        delete from messages m using changed where m.order_id = changed.id and ${wasNeverSent(sql)}
      ), again as (
        update messages m set status = 'sending', failure_code = null
        from changed where m.order_id = changed.id and not ${wasNeverSent(sql)}
      )`
    : sql`, again as (
        update texts t set status = case when t.sends = 0 then 'queued' else 'sending' end, failure_code = null,
          outbox_id = owed.outbox_id, updated_at = now()
        from owed where t.outbox_id = ${id}
      )`;
  const jobs = sql`select ${queue}::text as queue, now() as run_at`;
  const event = { type: 'sms_retried', data: { kind: textKind } };
  return changeOrder(db, update, event, { before, jobs, after, notice: 'details' });
}

/**
 * The first send is counted when the text is opened, which finds that it is beyond a bound. A message that was refused
 * at the carrier is known by its id, which must not be forgotten.
 */
const wasNeverSent = (sql: Sql): Fragment => sql`
  (m.refused_sids = '{}' and (m.sends = 0 or m.sends = 1 and m.failure_code in ('phone_limit', 'store_limit')))`;

const trackingIsUseful = (sql: Sql): Fragment => sql`
  o.sms_status = 'failed' and o.status not in ('cancelled', 'expired')
  and o.created_at > now() - make_interval(secs => ${TEXT_USEFUL_SECONDS})`;

const optionalIsUseful = (sql: Sql): Fragment => sql`
  t.status = 'failed' and case t.kind
    when 'on_the_way' then o.status = 'picked_up'
      and t.created_at > now() - make_interval(secs => ${ON_THE_WAY_USEFUL_SECONDS})
    else t.created_at > now() - make_interval(secs => ${TEXT_USEFUL_SECONDS}) end`;
