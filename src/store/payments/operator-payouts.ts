import type { Fragment, Sql } from 'postgres';
import { FIRST_ID, isId } from '../../domain/ids.ts';
import type { PayoutStatus } from '../../domain/payout.ts';
import type { Db } from '../db.ts';
import {
  type From,
  inOrder,
  LIST_FIRST_PART,
  LIST_PART,
  type ListSearch,
  type Page,
  type PageRequest,
  type Place,
  printable,
  readPage,
  type Step,
} from '../pages.ts';

/** What the operator looks for among payouts. The text is an order's id, or a part of a reason or of the note. */
export type PayoutSearch = Omit<ListSearch<PayoutStatus>, 'status'> & {
  readonly status: PayoutStatus;
  readonly retailerIds: readonly string[] | null;
  readonly driverIds: readonly string[] | null;
};

/** Payouts of one status with their orders, oldest order first, searched in parts of the index over both. */
export function listPayouts(db: Db, search: PayoutSearch, page: PageRequest): Promise<Page> {
  let size = LIST_FIRST_PART;
  const step = async ({ behind }: From, most: number): Promise<Step> => {
    const found = await findPart(db.sql, search, behind, { size, most });
    size = LIST_PART;
    return found;
  };
  return readPage(page, step, (places) => readPayouts(db, places));
}

const toPlace = (id: string): Place => ({ rank: 0, micros: '0', id });

async function findPart(
  sql: Sql,
  search: PayoutSearch,
  behind: Place | null,
  { size, most }: { readonly size: number; readonly most: number },
): Promise<Step> {
  const range = sql`p.status = ${search.status} and p.order_id > ${behind?.id ?? FIRST_ID}`;
  const [row] = await sql`
    with part as materialized (
      select p.order_id from payouts p where ${range} order by p.order_id offset ${size - 1} limit 1
    ), found as (
      select p.order_id from payouts p join orders o on o.id = p.order_id
      where ${range} and (p.order_id <= (select order_id from part) or not exists (select from part))
        and ${matches(sql, search)}
      order by p.order_id limit ${most}
    )
    select (select string_agg(order_id::text, ',' order by order_id) from found) as ids,
      (select order_id from part) as last`;
  const ids: string[] = row?.ids ? row.ids.split(',') : [];
  const last = ids.length === most ? ids.at(-1) : row?.last;
  return { found: ids.map(toPlace), from: last ? { rank: 0, behind: toPlace(last) } : null };
}

/** Whether the payout `p` of the order `o` is wanted. */
function matches(sql: Sql, { retailerIds, driverIds, since, until, text }: PayoutSearch): Fragment {
  return sql`true
    ${retailerIds ? sql`and o.retailer_id = any(${[...retailerIds]}::uuid[])` : sql``}
    ${driverIds ? sql`and p.driver_id = any(${[...driverIds]}::uuid[])` : sql``}
    ${since ? sql`and p.created_at >= ${since}` : sql``}
    ${until ? sql`and p.created_at < ${until}` : sql``}
    ${text === null ? sql`` : sql`and ${holdsText(sql, text)}`}`;
}

const holdsText = (sql: Sql, text: string): Fragment =>
  isId(text)
    ? sql`p.order_id = ${text}`
    : sql`strpos(lower(concat_ws(' ', array_to_string(p.reasons, ' '), p.note)), lower(${text})) > 0`;

async function readPayouts({ sql }: Db, places: readonly Place[]) {
  const rows = await sql`
    select p.order_id, p.driver_id, d.name as driver, r.name as store, p.status, p.reasons, p.amount_cents,
      o.status as order_status, o.reason_code, o.payment_status, p.created_at, p.decided_at, p.paid_at, p.note
    from payouts p join orders o on o.id = p.order_id join retailers r on r.id = o.retailer_id
    left join drivers d on d.id = p.driver_id
    where p.order_id = any(${places.map(({ id }) => id)}::uuid[])`;
  return inOrder(places, printable(rows), 'order_id');
}
