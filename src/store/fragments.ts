import type { Fragment, Sql } from 'postgres';
import { OUTBOX_FIRST_LEASE_SECONDS } from '../limits.ts';
import { ARRAY_OF } from '../postgres/types.ts';

/**
 * The statuses of an order that has its driver on the road, as SQL: the predicate of the unique index over drivers, which
 * the planner uses only where a statement says the same. `ACTIVE_STATUSES` of the domain lists them for the code.
 */
export const active = (sql: Sql): Fragment => sql`('driver_assigned', 'picked_up', 'undeliverable')`;

/** How long a new job is left to the process that committed it. */
export const firstLease = (sql: Sql): Fragment => sql`make_interval(secs => ${OUTBOX_FIRST_LEASE_SECONDS})`;

/** The rows of `jobs` as `parseOutboxRows` reads them; an empty list for none. */
export const jobsAsJson = (sql: Sql): Fragment => sql`(select ${jobListAsJson(sql)} from jobs)`;

/** The same as an aggregate, for a query of its own over outbox rows. */
export const jobListAsJson = (sql: Sql): Fragment => sql`
  coalesce(json_agg(json_build_object('id', id, 'queue', queue, 'order_id', order_id, 'retailer_id', retailer_id,
    'run_at', run_at, 'relays', relays)), '[]')`;

type ColumnType = keyof typeof ARRAY_OF;
type Column<Row> = readonly [name: string, type: ColumnType, pick: (row: Row) => unknown];

/** The client takes an array of these for its first element unless the array says its type. */
const MARKED: ReadonlySet<ColumnType> = new Set(['bool', 'timestamptz']);

/**
 * A query of rows that are sent as one array a column, which costs Postgres far less than a row of parameters each. The
 * text is made once; every call fills in the arrays.
 *
 * @param columns name and type as SQL has them, and what a row holds there
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
      return MARKED.has(type) ? sql.array(values as never[], ARRAY_OF[type]) : values;
    });
    return sql(template, ...(arrays as never[]));
  };
}
