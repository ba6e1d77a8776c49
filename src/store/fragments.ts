import type { Fragment, Sql } from 'postgres';
import type { HoldReason } from '../domain/hold.ts';
import { below } from '../limits.ts';
import { TYPES } from '../postgres/types.ts';
import type { Db } from './db.ts';
import type { QueueName } from './outbox-rows.ts';

/** Most ids in one notice, 37 bytes each. Below the 8,000 bytes that a notice of Postgres may have. */
export const NOTICE_IDS = 200;
/** Most new orders in one notice, with what it tells of each. Below the same bound. */
export const NOTICE_ORDERS = 24;
/** Time for which the sweeper leaves a newly written row to the process that wrote it. */
export const OUTBOX_FIRST_LEASE_SECONDS = 30;
/** Size below which Postgres accepts a notice, in bytes. */
const POSTGRES_NOTICE_BYTES = 8_000;
/** Process id, kind and colons that stand before the ids of a notice, at most. */
const NOTICE_HEADER_BYTES = 32;
/** A UUID and a comma. */
const NOTICE_ID_BYTES = 37;
/** What a notice tells of a new order: two UUIDs, four coordinates, four times and a slot, with what parts them. */
const NOTICE_GIVEN_BYTES = 2 * 40 + 4 * 26 + 4 * 18 + 12;

below(
  { 'NOTICE_IDS with their header in bytes': NOTICE_IDS * NOTICE_ID_BYTES + NOTICE_HEADER_BYTES },
  { POSTGRES_NOTICE_BYTES },
);
below(
  {
    'NOTICE_ORDERS with their header in bytes':
      NOTICE_ORDERS * (NOTICE_ID_BYTES + NOTICE_GIVEN_BYTES) + NOTICE_HEADER_BYTES,
  },
  { POSTGRES_NOTICE_BYTES },
);

/**
 * The statuses of an order that a driver carries, as `ACTIVE_STATUSES` of the domain lists them. They are the
 * predicate of the unique index over drivers; Postgres uses that index only for a statement with the same
 * predicate.
 */
export const active = (sql: Sql): Fragment => sql`('driver_assigned', 'picked_up', 'undeliverable')`;

/**
 * Whether a driver is one: active, or deactivated with a parcel in hand, until its order ends.
 *
 * @param driver the alias of the drivers' table
 */
export const isDriver = (sql: Sql, driver: Fragment): Fragment => sql`
  (${driver}.active or exists (select from orders h where h.driver_id = ${driver}.id
                               and h.status in ('picked_up', 'undeliverable')))`;

/**
 * Whether the driver `d` may get an order in a slot: on duty, the slot below the capacity, and nothing in a
 * slot above it, as there is after the capacity was lowered. Whether the slot is free the index decides.
 */
export const mayTake = (sql: Sql, slot: Fragment): Fragment => sql`
  (d.active and d.on_duty and (d.on_duty_until is null or d.on_duty_until > now()) and ${slot} < d.capacity
   and not exists (select from orders above where above.driver_id = d.id and above.driver_slot >= d.capacity
                   and above.status in ${active(sql)}))`;

/** Whether the key `k`, of a store or an organization, is neither revoked nor at its end. */
export const keyIsGood = (sql: Sql): Fragment =>
  sql`(k.revoked_at is null and (k.valid_until is null or k.valid_until > now()))`;

/*
 * What statements that know the id of their row ask of it besides. `is true` hides it from Postgres, which would else
 * look for the row in the index over all that are owed or wait: it takes that for empty where it was when Postgres last
 * looked, so that each job and each gift would cost as much as all the others that are open.
 */

/**
 * Whether a job is owed, for a statement that knows its id.
 *
 * @param job the alias of the outbox
 */
export const isOwed = (sql: Sql, job: Fragment): Fragment => sql`(${job}.done_at is null) is true`;

/**
 * Whether a job that a queue had is the one that is owed under its id. Postgres gives ids once more after a failover
 * to a replica that lacked the newest rows, and the queues still have the jobs of those.
 *
 * A statement for many jobs has them sorted by their ids. The row is looked for by its id alone, so that all statements
 * lock the same rows in the same order.
 *
 * @param job the alias of the outbox, whose `id` the statement compares
 * @param orderId the job's order
 * @param queues those whose handler ends it
 */
export const isOwedTo = (sql: Sql, job: Fragment, orderId: Fragment | string, ...queues: QueueName[]): Fragment => sql`
  (${job}.done_at is null and ${job}.order_id = ${orderId} and ${job}.queue = any(${queues}::text[])) is true`;

/**
 * Whether an order waits for a driver, or for its time, for a statement that knows its id.
 *
 * @param order the alias of the orders' table
 */
export const isWaiting = (sql: Sql, order: Fragment): Fragment => sql`(${order}.status = 'pending_dispatch') is true`;

/** Time for which a new job is left to the process that committed it. */
export const firstLease = (sql: Sql): Fragment => sql`make_interval(secs => ${OUTBOX_FIRST_LEASE_SECONDS})`;

/**
 * Why the waiting order `o` of the store `r` is held; null for one that is not, and for one that does not
 * wait. It reads the credit without a lock, for showing; `assignWaiting` decides.
 */
export const holdReason = (sql: Sql, unpaidAllowed: number): Fragment => sql`
  case when o.status <> 'pending_dispatch' then null
    when r.status <> 'active' then ${'store_suspended' satisfies HoldReason}::text
    when o.payment_status in ('processing', 'paid') then null
    when unpaid_credit(r.id, ${unpaidAllowed}::int) <= 0 then ${'payment_required' satisfies HoldReason}::text end`;

/**
 * Makes a change and sends a notice of each changed row, in one statement; returns their number.
 *
 * @param change an `insert` or `update` of rows with an `id`, without `returning`
 */
export async function changeAndTell(
  { sql, processId }: Db,
  kind: 'driver' | 'order' | 'organization' | 'retailer' | 'tier',
  change: Fragment,
): Promise<number> {
  const rows = await sql`
    with changed as (${change} returning id)
    select pg_notify('sameday', ${`${processId}:${kind}:`}::text || id) from changed`;
  return rows.length;
}

/** The rows of `jobs` in the form that `parseOutboxRows` reads; an empty list for none. */
export const jobsAsJson = (sql: Sql): Fragment => sql`(select ${jobListAsJson(sql)} from jobs)`;

/** The same as an aggregate, for a query over outbox rows. */
export const jobListAsJson = (sql: Sql): Fragment => sql`
  coalesce(json_agg(json_build_object('id', id, 'queue', queue, 'order_id', order_id, 'retailer_id', retailer_id,
    'run_at', run_at, 'relays', relays)), '[]')`;

type ColumnType = keyof typeof TYPES;
export type Column<Row> = readonly [name: string, type: ColumnType, pick: (row: Row) => unknown];

/** Types whose arrays must be marked: the client takes an unmarked one for a single value. */
const MARKED: ReadonlySet<ColumnType> = new Set(['bool', 'timestamptz']);

/**
 * Builds a query that returns the given rows, `select * from unnest($1::uuid[], …) as t(id, …)`. Each column
 * is one array parameter, which costs Postgres far less than one parameter for each value.
 *
 * The text of the query is built once; a call adds the arrays.
 *
 * @param columns for each column, at least one: its name, the type of its elements in SQL, and its value in a
 *   row, which may be null
 * @returns a fragment for `from (…) t`; for no rows, a query of no rows
 */
export function rowsOf<Row>(columns: readonly Column<Row>[]): (sql: Sql, rows: readonly Row[]) => Fragment {
  const names = columns.map(([name]) => name).join(', ');
  const types = columns.map(([, type]) => type);
  const texts = ['select * from unnest(', ...types.slice(0, -1).map((type) => `::${type}[], `)];
  const strings = [...texts, `::${types.at(-1)}[]) as t(${names})`];
  const template = Object.assign(strings, { raw: strings });
  return (sql, rows) => {
    const arrays = columns.map(([, type, pick]) => {
      const values = rows.map(pick);
      return MARKED.has(type) ? sql.array(values as never[], TYPES[type].array) : values;
    });
    return sql(template, ...(arrays as never[]));
  };
}
