import type { Fragment, Row, Sql } from 'postgres';
import { FIRST_ID, firstIdAt, isId } from '../../domain/ids.ts';
import { ACTIVE_STATUSES, type OrderStatus } from '../../domain/order.ts';
import { DEFAULT_UNPAID_ORDERS_ALLOWED } from '../../limits.ts';
import type { Db } from '../db.ts';
import { active } from '../fragments.ts';
import { fleetOnDuty, isNotYet, promisedBy, whyWaiting } from '../orders/order-times.ts';
import {
  type From,
  inOrder,
  LIST_CLOCK_DAYS,
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

/**
 * What the operator looks for among all orders. The text is a part of the customer's name, phone, e-mail or
 * address, or the whole id or tracking token.
 */
export type OrderSearch = ListSearch<OrderStatus> & {
  readonly retailerIds: readonly string[] | null;
  readonly driverIds: readonly string[] | null;
};

/** The ranks of the list, what needs attention first. */
const WAITING = 0;
const UNDELIVERABLE = 1;
const UNPAID = 2;
const NOT_YET = 3;
const OTHERS = 4;

/**
 * Orders of all stores. First those that wait for a driver and those that could not be handed over, each the
 * longest first; then those whose charge was refused within OUTBOX_KEPT_DAYS; then those that wait for their
 * time, the next one first; then all others, newest first.
 *
 * No index over all orders would serve the filters, and each would be written with every order. So the others
 * are searched in parts of the primary key, whose ids grow with time.
 */
export function listOrders(
  db: Db,
  search: OrderSearch,
  page: PageRequest,
  unpaidAllowed: number = DEFAULT_UNPAID_ORDERS_ALLOWED,
): Promise<Page> {
  const { sql } = db;
  const steps = [waitingStep(WAITING), undeliverableStep, unpaidStep, waitingStep(NOT_YET), othersStep()];
  const step = async (from: From, most: number): Promise<Step> => {
    const made = mayHold(from.rank, search.status) ? await steps[from.rank]?.(sql, search, from, most) : undefined;
    return made ?? endOf(from.rank, []);
  };
  return readPage(page, step, (places) => readOrders(db, places, unpaidAllowed));
}

/** Whether a rank has orders of a status. */
function mayHold(rank: number, status: OrderStatus | null): boolean {
  if (status === 'pending_dispatch') return rank === WAITING || rank === NOT_YET;
  if (status === 'undeliverable') return rank === UNDELIVERABLE;
  return status === null || rank === UNPAID || rank === OTHERS;
}

const endOf = (rank: number, found: readonly Place[]): Step => ({
  found,
  from: rank < OTHERS ? { rank: rank + 1, behind: null } : null,
});

/** A step that finds all that is left of a rank in one statement, as far as it is wanted. */
function whole(rank: number, rows: readonly Row[], most: number): Step {
  const found = rows.map((row) => toPlace(rank, row));
  if (found.length < most) return endOf(rank, found);
  return { found, from: { rank, behind: found.at(-1) as Place } };
}

/** Since when, or from when on, `o` waits for a driver, as `oldest_since` of the schema. */
const waitsSince = (sql: Sql): Fragment => sql`coalesce(o.dispatch_from, o.created_at)`;
const createdAt = (sql: Sql): Fragment => sql`o.created_at`;
/** Ranks in the order of their ids need no time. */
const toPlace = (rank: number, row: Row): Place => ({ rank, micros: row.micros ?? '0', id: row.id });

/**
 * By the index over waiting orders: those that wait for a driver, or for their time. It reads all of them, as the
 * figures do, since no index has when they fall due: MAX_WAITING_ORDERS and MAX_LATER_ORDERS at most.
 */
function waitingStep(rank: typeof WAITING | typeof NOT_YET) {
  return async (sql: Sql, search: OrderSearch, { behind }: From, most: number): Promise<Step> => {
    const rows = await sql`
      select o.id, ${microsOf(sql, waitsSince(sql))} as micros from orders o ${searched(sql, search)}
      where o.status = 'pending_dispatch' and ${isNotYet(sql, sql`o`)} = ${rank === NOT_YET}
        and ${matches(sql, search)} and ${behindTime(sql, waitsSince(sql), behind)}
      order by ${waitsSince(sql)}, o.id limit ${most}`;
    return whole(rank, rows, most);
  };
}

/** By the index over drivers with an order, which has as many rows as there are drivers on the way. */
async function undeliverableStep(sql: Sql, search: OrderSearch, { behind }: From, most: number): Promise<Step> {
  const rows = await sql`
    with active as materialized (select * from orders where status in ${active(sql)})
    select o.id, ${microsOf(sql, createdAt(sql))} as micros from active o ${searched(sql, search)}
    where o.status = 'undeliverable' and ${matches(sql, search)} and ${behindTime(sql, createdAt(sql), behind)}
    order by o.created_at, o.id limit ${most}`;
  return whole(UNDELIVERABLE, rows, most);
}

const behindTime = (sql: Sql, time: Fragment, behind: Place | null): Fragment =>
  behind ? sql`(${time}, o.id) > ${rowAt(sql, behind)}` : sql`true`;

/** By the index over jobs that were given up, which are kept for OUTBOX_KEPT_DAYS. */
async function unpaidStep(sql: Sql, search: OrderSearch, { behind }: From, most: number): Promise<Step> {
  const rows = await sql`
    select o.id from orders o ${searched(sql, search)}
    where o.id in (
        select order_id from outbox where queue = 'charge' and failure_code is not null and settled_at is null)
      and o.payment_status = 'failed' and o.status not in ('pending_dispatch', 'undeliverable', 'void')
      and ${matches(sql, search)} and ${behind ? sql`o.id < ${behind.id}` : sql`true`}
    order by o.id desc limit ${most}`;
  return whole(UNPAID, rows, most);
}

/** Whether the charge of `o` was refused so lately that the rank before has shown it. */
const shownAsUnpaid = (sql: Sql): Fragment => sql`
  o.payment_status = 'failed' and exists (
    select from outbox b where b.order_id = o.id and b.queue = 'charge' and b.failure_code is not null
      and b.settled_at is null)`;

/** One part of all other orders at each call, a small one first, as most searches find enough there. */
function othersStep() {
  let size = LIST_FIRST_PART;
  return async (sql: Sql, search: OrderSearch, { behind }: From, most: number): Promise<Step> => {
    // Those that a driver carries have an index of their own.
    const isActive = ACTIVE_STATUSES.some((status) => status === search.status);
    const range = sql`${idsWithin(sql, search)} and ${behind ? sql`o.id < ${behind.id}` : sql`true`}`;
    const [row] = await sql`
      with part as materialized (
        select o.id from orders o where ${range} and ${!isActive} order by o.id desc offset ${size - 1} limit 1
      ), found as (
        select o.id from orders o ${searched(sql, search)}
        where ${range} and o.id >= coalesce((select id from part), ${FIRST_ID}::uuid)
          and ${isActive ? sql`o.status in ${active(sql)}` : sql`true`}
          and o.status not in ('pending_dispatch', 'undeliverable', 'void') and ${matches(sql, search)}
          and not (${shownAsUnpaid(sql)})
        order by o.id desc limit ${most}
      )
      select (select string_agg(id::text, ',' order by id desc) from found) as ids, (select id from part) as last`;
    size = LIST_PART;
    const ids = row?.ids ? (row.ids as string).split(',') : [];
    const found = ids.map((id) => ({ id }));
    if (found.length === most || row?.last == null) return whole(OTHERS, found, most);
    const last = toPlace(OTHERS, { id: row.last });
    return { found: found.map((each) => toPlace(OTHERS, each)), from: { rank: OTHERS, behind: last } };
  };
}

const DAY_MS = 86_400_000;

/** The ids that wanted orders can have: the one that is looked for, or those of the wanted time. */
function idsWithin(sql: Sql, { since, until, text }: OrderSearch): Fragment {
  if (text !== null && isId(text)) return sql`o.id = ${text}`;
  const first = since ? sql`o.id >= ${firstIdAt(since.getTime() - LIST_CLOCK_DAYS * DAY_MS)}::uuid` : sql`true`;
  const last = until ? sql`o.id < ${firstIdAt(until.getTime() + LIST_CLOCK_DAYS * DAY_MS)}::uuid` : sql`true`;
  return sql`${first} and ${last}`;
}

/** Whether the order `o` is wanted. */
function matches(sql: Sql, { status, retailerIds, driverIds, since, until, text }: OrderSearch): Fragment {
  return sql`true
    ${status === null ? sql`` : sql`and o.status = ${status}`}
    ${retailerIds ? sql`and o.retailer_id = any(${[...retailerIds]}::uuid[])` : sql``}
    ${driverIds ? sql`and o.driver_id = any(${[...driverIds]}::uuid[])` : sql``}
    ${since ? sql`and o.created_at >= ${since}` : sql``}
    ${until ? sql`and o.created_at < ${until}` : sql``}
    ${text === null ? sql`` : sql`and ${holdsText(sql, text)}`}`;
}

/** The joins that a text is looked for in. */
const searched = (sql: Sql, { text }: OrderSearch): Fragment =>
  text === null
    ? sql``
    : sql`join customers c on c.id = o.customer_id join dropoff_addresses a on a.id = o.dropoff_address_id`;

const holdsText = (sql: Sql, text: string): Fragment =>
  isId(text)
    ? sql`o.id = ${text}`
    : sql`(
  o.tracking_token = ${text}
  or strpos(lower(concat_ws(' ', c.name, c.email, c.phone)), lower(${text})) > 0
  or strpos(lower(concat_ws(', ', a.line1, a.line2, a.city, a.state || ' ' || a.zip)), lower(${text})) > 0)`;

async function readOrders({ sql }: Db, places: readonly Place[], unpaidAllowed: number) {
  const rows = await sql`
    with ${fleetOnDuty(sql)}
    select o.id as order_id, o.status, ${whyWaiting(sql, unpaidAllowed)} as waiting_because,
      o.delivery_tier, o.payment_status, o.sms_status, r.name as store,
      o.driver_id, o.created_at, case when ${isNotYet(sql, sql`o`)} then o.dispatch_from end as dispatch_from,
      ${promisedBy(sql, sql`o`)} as deliver_by
    from orders o join retailers r on r.id = o.retailer_id
    where o.id = any(${places.map(({ id }) => id)}::uuid[])`;
  return inOrder(places, printable(rows), 'order_id');
}
