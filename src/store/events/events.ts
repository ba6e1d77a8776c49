import type { Sql } from 'postgres';
import type { StoreEvent } from '../../domain/store-event.ts';
import { scanShare } from '../accounts/orders-of-stores.ts';
import type { Db } from '../db.ts';
import { jobsAsJson, NOTICE_IDS } from '../fragments.ts';
import { type OutboxRow, parseOutboxRows } from '../outbox-rows.ts';
import { eventMembers } from './webhook-events.ts';
import { fanOut } from './webhook-fan-out.ts';

/** Most events that one statement gives numbers, with their webhooks; about 30 ms. */
export const EVENTS_PER_STATEMENT = 1_000;
/** Most events without a number that a scrape of the metrics counts; about 10 ms. */
const EVENTS_COUNTED = 100_000;

/** What one turn of the writer did. */
export type NumberedEvents = {
  readonly events: number;
  /** Whether more may be left. */
  readonly isMore: boolean;
  /** Whether a webhook is enabled, so that the next turn has to look for those of each event. */
  readonly hasWebhooks: boolean;
  /** The jobs of webhooks that this process has to relay. */
  readonly outbox: readonly OutboxRow[];
};

/**
 * Gives the oldest events their numbers, with the webhook deliveries and their jobs, and the notice to
 * readers, in one statement.
 *
 * The row of the last number is locked first, so writers take turns and numbers are committed in their order.
 * A writer that dies leaves no lock: the statement ends by itself, whole or not at all.
 *
 * Events are taken by their ids. An event of an order is written after the commit of the one before it, under
 * a greater id; so a statement that sees it sees that one too, and takes it first.
 *
 * The main query names the row of the last number, so that its table is locked before all others, as
 * `removeAllOrders` does.
 *
 * Looking for the webhooks of events costs more than their numbers. A writer that knows of no webhook leaves it
 * out; where there is one after all, such a statement does nothing.
 *
 * @param hasWebhooks what the writer's turn before said of webhooks
 */
export async function numberEvents(
  { sql, processId }: Db,
  hasWebhooks = true,
  limit = EVENTS_PER_STATEMENT,
): Promise<NumberedEvents> {
  const isEnabled = sql`exists (select from webhooks where disabled_at is null)`;
  const [row] = await sql`
    with head as materialized (
      select number from event_head where exists (select from unnumbered_events)
        ${hasWebhooks ? sql`` : sql`and not ${isEnabled}`} for update
    ), looked_at as materialized (
      select id from unnumbered_events where exists (select from head) order by id limit ${limit}
    ), taken as (
      delete from unnumbered_events where id = any(array(select id from looked_at)) returning *
    ), numbered as (
      insert into store_events (number, order_id, sequence, retailer_id, type, at, status, payment_status, driver_id,
        details)
      select head.number + row_number() over (order by t.id), t.order_id, t.sequence, t.retailer_id, t.type, t.at,
        t.status, t.payment_status, t.driver_id, t.details
      from taken t cross join head
      returning *
    ), moved as (
      update event_head set number = event_head.number + n.events
      from (select count(*) as events from numbered) n where n.events > 0
    ), ${hasWebhooks ? sql`${fanOut(sql)}, ` : sql``}notice as (
      select pg_notify('sameday', ${processId} || ':events:' || string_agg(retailer_id::text, ','))
      from (select retailer_id, row_number() over () / ${NOTICE_IDS} as part
            from (select distinct retailer_id from numbered) stores) c group by part
    )
    select (select count(*) from looked_at)::int as looked_at, (select count(*) from numbered)::int as events,
      (select count(*) from notice) as notices, ${isEnabled} as has_webhooks,
      ${hasWebhooks ? jobsAsJson(sql) : sql`'[]'::json`} as outbox
    from event_head`;
  const isLeftOut = !hasWebhooks && row?.has_webhooks;
  return {
    events: row?.events ?? 0,
    isMore: isLeftOut || row?.looked_at === limit,
    hasWebhooks: row?.has_webhooks ?? true,
    outbox: parseOutboxRows(row?.outbox ?? []),
  };
}

/** The number behind which a page begins. */
export type EventsAfter = {
  readonly number: string;
  /** Whether it was given as a plain number, which is taken up to the last one that was shown as such. */
  readonly isPlain: boolean;
};

/** A page of events, and where the next one begins. */
export type EventPage = {
  readonly events: readonly StoreEvent[];
  readonly nextCursor: string;
  /** Whether `after` is a number that no event has had; of plain ones, that nobody was shown. */
  readonly isUnknown: boolean;
  /** Events behind `after` and up to this time may be deleted; null where none is. */
  readonly lostBefore: Date | null;
};

/**
 * The events of a store behind a number, oldest first. Of a page that is not full the next cursor is the last
 * number of all stores, so that the cursor of a store without events does not grow old.
 *
 * @param after null begins with the oldest event that is kept
 */
export function readEvents(
  { sql }: Db,
  retailerId: string,
  after: EventsAfter | null,
  limit: number,
): Promise<EventPage> {
  return readPage(sql, [retailerId], after, limit);
}

/**
 * The same of several stores, on the connections for lists. A page ends early, though never without an event, where
 * the events of one store that were looked at end: others of it may come before what follows.
 *
 * @param retailerIds up to MAX_ORGANIZATION_STORES
 */
export function readEventsOfStores(
  { lists }: Db,
  retailerIds: readonly string[],
  after: EventsAfter | null,
  limit: number,
): Promise<EventPage> {
  return readPage(lists, retailerIds, after, limit);
}

async function readPage(
  sql: Sql,
  retailerIds: readonly string[],
  afterCursor: EventsAfter | null,
  limit: number,
): Promise<EventPage> {
  const after = afterCursor?.number ?? null;
  const lastKnown = afterCursor?.isPlain ? sql`head.plain_number` : sql`head.number`;
  const share = Math.min(limit, scanShare(retailerIds.length));
  // One snapshot: numbers are committed in their order, so it has every event up to its last number.
  const [row] = await sql`
    with looked as materialized (
      select own.* from unnest(${[...retailerIds]}::uuid[]) store(id) cross join lateral (
        select number, row_number() over (order by number) as nth from store_events
        where retailer_id = store.id and number > coalesce(${after}::bigint, 0) order by number limit ${share}) own
    ), horizon as (
      select min(number) as number from looked where nth = ${share}
    ), page as (
      select k.number from looked k cross join horizon h where h.number is null or k.number <= h.number
      order by k.number limit ${limit}
    )
    select head.number::text as head, ${after}::bigint > ${lastKnown} as is_unknown,
      case when head.pruned_number > ${after}::bigint then head.pruned_at end as lost_before,
      (select number is not null from horizon) as ends_early,
      (select coalesce(json_agg(json_build_object('cursor', e.number::text, ${eventMembers(sql, sql`e`)})
          order by e.number), '[]')
       from store_events e where e.number = any(array(select number from page))) as events
    from event_head head`;
  const events: readonly StoreEvent[] = row?.events ?? [];
  return {
    events,
    nextCursor: (events.length === limit || row?.ends_early ? events.at(-1)?.cursor : row?.head) ?? '0',
    isUnknown: row?.is_unknown ?? false,
    lostBefore: row?.lost_before ?? null,
  };
}

/** What cursors are encrypted with. It never changes. */
export async function readCursorKey({ sql }: Db): Promise<Buffer> {
  const [row] = await sql`select cursor_key from event_head`;
  if (!row) throw new Error('event_head has no row');
  return row.cursor_key;
}

/** The last number that an event was given, as text. */
export async function readLastEvent({ sql }: Db): Promise<string> {
  const [row] = await sql`select number::text from event_head`;
  return row?.number ?? '0';
}

/** How far the writer is behind. */
export type EventLag = {
  /** Events without a number, at most EVENTS_COUNTED. */
  readonly events: number;
  readonly oldestSeconds: number;
};

/** The events without a number, and the age of the oldest. */
export async function readEventLag({ sql }: Db): Promise<EventLag> {
  const [row] = await sql`
    select (select count(*) from (select from unnumbered_events limit ${EVENTS_COUNTED}) first)::int as events,
      (select extract(epoch from now() - at) from unnumbered_events order by id limit 1)::float8 as oldest`;
  return { events: row?.events ?? 0, oldestSeconds: Math.max(0, row?.oldest ?? 0) };
}

/**
 * Deletes at most `limit` events that are older than `days` days, the smallest numbers first, up to the first one
 * that is younger; returns how many. The last number stays. It begins behind what was deleted before, whose entries
 * stay in the index until a vacuum.
 */
export async function pruneEvents({ sql }: Db, days: number, limit: number): Promise<number> {
  const isOld = sql`at < now() - make_interval(days => ${days})`;
  const after = sql`number > (select pruned_number from event_head)`;
  // Mostly the first one is young, and the others need not be read.
  const [row] = await sql`
    with first as materialized (
      select number, at, ${isOld} as is_old from store_events
      where ${after} and (select ${isOld} from store_events where ${after} order by number limit 1)
      order by number limit ${limit}
    ), old as materialized (
      select number, at from first
      where number < coalesce((select min(number) from first where not is_old), 1 + (select max(number) from first))
    ), deleted as (
      delete from store_events where number = any(array(select number from old)) returning number
    ), moved as (
      update event_head set pruned_number = greatest(pruned_number, o.number),
        pruned_at = greatest(pruned_at, o.at)
      from (select max(number) as number, max(at) as at from old) o where o.number is not null
    )
    select (select count(*) from deleted)::int as events from event_head`;
  return row?.events ?? 0;
}
