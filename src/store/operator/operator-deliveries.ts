import type { Fragment, Sql } from 'postgres';
import { FIRST_ID } from '../../domain/ids.ts';
import type { DeliveryStatus } from '../../domain/webhook.ts';
import type { Db } from '../db.ts';
import { nextTry } from '../events/parked-parts.ts';
import { WEBHOOK_QUEUES, webhookOf } from '../events/webhook-parts.ts';
import {
  type From,
  inOrder,
  LIST_FIRST_PART,
  LIST_PART,
  type ListSearch,
  microsOf,
  type Page,
  type PageRequest,
  type Place,
  printable,
  readPage,
  rowAt,
  type Step,
} from '../pages.ts';

/** What the operator looks for among webhook deliveries. The text is a part of the event or of the result. */
export type DeliverySearch = ListSearch<DeliveryStatus> & {
  readonly retailerIds: readonly string[] | null;
  readonly orderId: string | null;
};

/** The ranks of the list, what needs attention first. */
const FAILED = 0;
const OTHERS = 1;

/**
 * Webhook deliveries of all stores: first those that were given up within OUTBOX_KEPT_DAYS, then all others,
 * each newest first. The others are searched in parts of the index over the time of their making.
 */
export function listDeliveries(db: Db, search: DeliverySearch, page: PageRequest): Promise<Page> {
  const others = othersStep();
  const step = (from: From, most: number): Promise<Step> =>
    from.rank === FAILED ? failedStep(db.sql, search, from, most) : others(db.sql, search, from, most);
  return readPage(page, step, (places) => readDeliveries(db, places));
}

const micros = (sql: Sql) => sql`${microsOf(sql, sql`d.created_at`)} as micros`;
const behindPlace = (sql: Sql, behind: Place | null): Fragment =>
  behind ? sql`(d.created_at, d.id) < ${rowAt(sql, behind)}` : sql`true`;

/** By the index over jobs that were given up. */
async function failedStep(sql: Sql, search: DeliverySearch, { behind }: From, most: number): Promise<Step> {
  const isPossible = search.status === null || search.status === 'failed';
  const rows = await sql`
    select d.id, ${micros(sql)} from outbox b join webhook_deliveries d on d.outbox_id = b.id
    where b.queue = any(${[...WEBHOOK_QUEUES]}::text[]) and b.failure_code is not null and b.settled_at is null
      and d.status = 'failed' and ${isPossible}
      and ${matches(sql, search)} and ${behindPlace(sql, behind)}
    order by d.created_at desc, d.id desc limit ${most}`;
  const found = rows.map((row): Place => ({ rank: FAILED, micros: row.micros, id: row.id }));
  const isWhole = found.length < most;
  return { found, from: isWhole ? { rank: OTHERS, behind: null } : { rank: FAILED, behind: found.at(-1) as Place } };
}

/** One part of all other deliveries at each call, a small one first, as most searches find enough there. */
function othersStep() {
  let size = LIST_FIRST_PART;
  return async (sql: Sql, search: DeliverySearch, { behind }: From, most: number): Promise<Step> => {
    const range = sql`${within(sql, search)} and ${behindPlace(sql, behind)}`;
    const rows = await sql`
      with part as materialized (
        select d.created_at, d.id, ${micros(sql)} from webhook_deliveries d where ${range}
        order by d.created_at desc, d.id desc offset ${size - 1} limit 1
      ), found as (
        select d.id, ${micros(sql)} from webhook_deliveries d
        where ${range} and d.created_at >= coalesce((select created_at from part), '-infinity')
          and (d.created_at, d.id) >=
            (coalesce((select created_at from part), '-infinity'), coalesce((select id from part), ${FIRST_ID}::uuid))
          and ${matches(sql, search)}
          and not (d.status = 'failed' and exists (
            select from outbox b where b.id = d.outbox_id and b.failure_code is not null and b.settled_at is null))
        order by d.created_at desc, d.id desc limit ${most}
      )
      select id, micros, false as is_end from found
      union all select id, micros, true from part`;
    size = LIST_PART;
    const places = rows.map((row) => ({ isEnd: row.is_end, place: { rank: OTHERS, micros: row.micros, id: row.id } }));
    const found = places.filter(({ isEnd }) => !isEnd).map(({ place }) => place);
    const end = places.find(({ isEnd }) => isEnd)?.place;
    const last = found.length === most ? found.at(-1) : end;
    return { found, from: last ? { rank: OTHERS, behind: last } : null };
  };
}

/** What an index serves: the time, and one store or one order. */
function within(sql: Sql, { since, until, retailerIds, orderId }: DeliverySearch): Fragment {
  return sql`true
    ${since ? sql`and d.created_at >= ${since}` : sql``}
    ${until ? sql`and d.created_at < ${until}` : sql``}
    ${orderId ? sql`and d.order_id = ${orderId}` : sql``}
    ${retailerIds?.length === 1 ? sql`and d.retailer_id = ${retailerIds[0] ?? null}` : sql``}`;
}

/** Whether the delivery `d` is wanted. */
function matches(sql: Sql, search: DeliverySearch): Fragment {
  const { status, retailerIds, text } = search;
  return sql`${within(sql, search)}
    ${status === null ? sql`` : sql`and d.status = ${status}`}
    ${retailerIds ? sql`and d.retailer_id = any(${[...retailerIds]}::uuid[])` : sql``}
    ${text === null ? sql`` : sql`and strpos(lower(concat_ws(' ', d.type, d.result)), lower(${text})) > 0`}`;
}

async function readDeliveries({ sql }: Db, places: readonly Place[]) {
  const rows = await sql`
    select d.id as delivery_id, ${webhookOf(sql)} as webhook_id, d.retailer_id, d.order_id, d.type, d.sequence, d.status, d.attempts, d.result,
      d.created_at, d.tried_at, case when d.status = 'pending' then ${nextTry(sql)} end as next_try_at
    from webhook_deliveries d left join outbox b on b.id = d.outbox_id
    where d.id = any(${places.map(({ id }) => id)}::uuid[])`;
  return inOrder(places, printable(rows), 'delivery_id');
}
