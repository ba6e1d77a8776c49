import type { Fragment, Row, Sql } from 'postgres';
import { below } from '../limits.ts';

/** Rows behind a page that are counted; of more the list says "more than". */
export const LIST_COUNTED = 1_000;
/** Most statements that count them: one for each rank of a list, and a part more. */
const LIST_COUNT_STEPS = 5;
/** Orders, or webhook deliveries, that the first statement of a search looks at; most searches end there. */
export const LIST_FIRST_PART = 5_000;
/** Those that each later one looks at, in about 0.1 s. Above LIST_FIRST_PART. */
export const LIST_PART = 50_000;
/** Days by which an order's id, which holds the time of its making, may differ from the time on record. */
export const LIST_CLOCK_DAYS = 1;

below({ LIST_FIRST_PART }, { LIST_PART });

/** A row for the operator's command line; its column names are wire names. */
export type Printable = Record<string, unknown>;

export const printable = (rows: readonly Row[]): Printable[] => rows.map((row) => ({ ...row }));

export const RETAILER_STATUSES = ['active', 'suspended'] as const;
export type RetailerStatus = (typeof RETAILER_STATUSES)[number];
export const APPLICATION_STATUSES = ['applied', 'approved', 'rejected'] as const;
export type ApplicationStatus = (typeof APPLICATION_STATUSES)[number];
/** What drivers are at, in the order of the list. */
export const DRIVER_LIST_STATUSES = ['silent', 'carrying', 'on_duty', 'off_duty', 'inactive'] as const;
export type DriverListStatus = (typeof DRIVER_LIST_STATUSES)[number];

/** What the operator looks for in a list; null for what does not matter. */
export type ListSearch<Status extends string> = {
  readonly status: Status | null;
  /** From this moment on, by the time of creation. */
  readonly since: Date | null;
  /** Before this moment. */
  readonly until: Date | null;
  /** A part of what is shown as text, or the whole id. */
  readonly text: string | null;
};

/** Where a page ended: a time in microseconds since 1970, so that nothing between two pages is skipped, and an id. */
export type Cursor = { readonly micros: string; readonly id: string };

/** The place of a row in a list that has its rank, too, 0 for what needs attention most. */
export type Place = Cursor & { readonly rank: number };

/** A time as cursors have it. */
export const microsOf = (sql: Sql, time: Fragment): Fragment =>
  sql`(extract(epoch from ${time}) * 1000000)::int8::text`;

/** A cursor as a row of a time and an id, which others are compared with. */
export const rowAt = (sql: Sql, { micros, id }: Cursor): Fragment =>
  sql`(to_timestamp(0) + ${micros}::int8 * interval '1 microsecond', ${id}::uuid)`;

export type PageRequest = {
  readonly limit: number;
  /** The last row of the page before. */
  readonly after: Place | null;
};

/** A page of a list, and what is behind it. */
export type Page = {
  readonly rows: readonly Printable[];
  /** The last row, if more follow. */
  readonly next: Place | null;
  /** How many more there are, or at least how many. */
  readonly more: number;
  readonly isExact: boolean;
};

/** Where a search goes on: behind a row, or with the first row of a rank. */
export type From = { readonly rank: number; readonly behind: Place | null };

/** Rows that a step of a search found, in the order of the list, and where the next step goes on. */
export type Step = {
  readonly found: readonly Place[];
  /** Null at the end of the list. */
  readonly from: From | null;
};

/**
 * Reads a page of a list whose search takes several statements, each of a bounded cost.
 *
 * The page is filled however long that takes. Counting what is behind it stops after LIST_COUNTED rows or
 * LIST_COUNT_STEPS steps.
 *
 * @param step searches for up to `most` rows from a place on
 * @param read the rows of these places, in their order
 */
export async function readPage(
  { limit, after }: PageRequest,
  step: (from: From, most: number) => Promise<Step>,
  read: (places: readonly Place[]) => Promise<readonly Printable[]>,
): Promise<Page> {
  const most = limit + LIST_COUNTED + 1;
  const found: Place[] = [];
  let from: From | null = after ? { rank: after.rank, behind: after } : { rank: 0, behind: null };
  for (let left = LIST_COUNT_STEPS; from !== null && found.length < most && left > 0; ) {
    if (found.length > limit) left--;
    const next: Step = await step(from, most - found.length);
    found.push(...next.found);
    from = next.from;
  }
  const places = found.slice(0, limit);
  const more = Math.min(found.length - places.length, LIST_COUNTED);
  return {
    rows: await read(places),
    next: more > 0 ? (places.at(-1) as Place) : null,
    more,
    isExact: from === null && found.length < most,
  };
}

/** The rows of a list in the order of their places; one that is gone meanwhile is missing. */
export function inOrder(places: readonly Place[], rows: readonly Printable[], idColumn: string): Printable[] {
  const byId = new Map(rows.map((row) => [row[idColumn], row]));
  return places.map(({ id }) => byId.get(id)).filter((row) => row !== undefined);
}
