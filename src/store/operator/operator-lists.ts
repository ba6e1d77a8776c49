import type { Fragment, Row, Sql } from 'postgres';
import { DRIVER_SILENT_MS, MAX_NAMED } from '../../limits.ts';
import type { Db } from '../db.ts';
import { active, keyIsGood } from '../fragments.ts';
import {
  type ApplicationStatus,
  DRIVER_LIST_STATUSES,
  type DriverListStatus,
  inOrder,
  type ListSearch,
  microsOf,
  type Page,
  type PageRequest,
  type Place,
  type Printable,
  printable,
  type RetailerStatus,
  readPage,
  rowAt,
} from '../pages.ts';

/** Whether a webhook of the store `r` was disabled by its failures, and not by a person. */
const wasDisabled = (sql: Sql): Fragment => sql`
  exists (select from webhooks w where w.retailer_id = r.id
          and w.disabled_at is not null and w.disabled_because is distinct from 'off')`;

/**
 * Stores: first those with a disabled webhook, then those without a card, then the suspended ones, then all
 * others, each newest first. `attention` says which.
 */
export async function listRetailers(db: Db, search: ListSearch<RetailerStatus>, page: PageRequest): Promise<Page> {
  const { sql } = db;
  const list = sql`
    select r.id, r.created_at as at, case when ${wasDisabled(sql)} then 0
      when r.stripe_payment_method_id is null then 1 when r.status <> 'active' then 2 else 3 end as rank
    from retailers r
    where ${isWanted(sql, search, sql`r.status`, sql`r.created_at`)}
      and ${holdsText(sql, search.text, sql`r.id`, sql`r.name, r.address`)}`;
  const read = (ids: string[]) => sql`
    select r.id as retailer_id, r.name, r.status, r.address, r.stripe_payment_method_id is not null as has_card,
      nullif(concat_ws(', ',
        case when ${wasDisabled(sql)} then 'webhook disabled' end,
        case when r.stripe_payment_method_id is null then 'no card' end,
        case when r.status <> 'active' then r.status end), '') as attention,
      r.created_at
    from retailers r where r.id = any(${ids}::uuid[])`;
  return readRanked(db, list, page, false, read);
}

/** Organizations with how many stores and good keys they have, the newest first. */
export async function listOrganizations(db: Db, search: ListSearch<never>, page: PageRequest): Promise<Page> {
  const { sql } = db;
  const list = sql`
    select id, created_at as at, 0 as rank from organizations
    where ${isWanted(sql, search, sql`true`, sql`created_at`)} and ${holdsText(sql, search.text, sql`id`, sql`name`)}`;
  const read = (ids: string[]) => sql`
    select o.id as organization_id, o.name,
      (select count(*)::int from retailers r where r.organization_id = o.id) as stores,
      (select count(*)::int from organization_keys k where k.organization_id = o.id and ${keyIsGood(sql)}) as keys,
      o.created_at
    from organizations o where o.id = any(${ids}::uuid[])`;
  return readRanked(db, list, page, false, read);
}

/** Applications, oldest first; the undecided ones come first. */
export async function listApplications(
  db: Db,
  search: ListSearch<ApplicationStatus>,
  page: PageRequest,
): Promise<Page> {
  const { sql } = db;
  const list = sql`
    select id, applied_at as at, case when status = 'applied' then 0 else 1 end as rank from retailer_applications
    where ${isWanted(sql, search, sql`status`, sql`applied_at`)}
      and ${holdsText(sql, search.text, sql`id`, sql`name, address, contact_email`)}`;
  const read = (ids: string[]) => sql`
    select id as application_id, name, address, contact_email, status, applied_at
    from retailer_applications where id = any(${ids}::uuid[])`;
  return readRanked(db, list, page, true, read);
}

/** Joins the order `o` that a driver was given first of those they carry, with their number. */
const joinFirstOrder = (sql: Sql) => sql`
  left join lateral (
    select o.id, o.driver_id, o.status, count(*) over ()::int as carrying from orders o
    where o.driver_id = d.id and o.status in ${active(sql)} order by o.assigned_at, o.id limit 1
  ) o on true`;

const driverColumns = (sql: Sql) => sql`
  d.id as driver_id, d.name, d.phone, d.tiers, d.vehicle, d.capacity, d.active, d.on_duty, d.on_duty_until,
  o.id as order_id, o.status as order_status, coalesce(o.carrying, 0) as carrying, p.lat, p.lng,
  p.captured_at as position_at, d.created_at
  from drivers d
  left join driver_positions p on p.driver_id = d.id
  ${joinFirstOrder(sql)}`;

/**
 * Drivers: first those who carry an order and have been silent for DRIVER_SILENT_MS or are deactivated, then
 * the others who carry one, those on duty, those off duty, and the deactivated ones, each newest first.
 */
export async function listDrivers(db: Db, search: ListSearch<DriverListStatus>, page: PageRequest): Promise<Page> {
  const { sql } = db;
  const silent = sql`not d.active or not exists (select from driver_positions p where p.driver_id = d.id
    and p.received_at > now() - make_interval(secs => ${DRIVER_SILENT_MS / 1000}))`;
  const rank = sql`
    case when o.driver_id is null then case when not d.active then 4 when d.on_duty then 2 else 3 end
      when ${silent} then 0 else 1 end`;
  const wanted = search.status === null ? sql`true` : sql`${rank} = ${DRIVER_LIST_STATUSES.indexOf(search.status)}`;
  const list = sql`
    select d.id, d.created_at as at, ${rank} as rank
    from drivers d ${joinFirstOrder(sql)}
    where ${isWanted(sql, { ...search, status: null }, sql`true`, sql`d.created_at`)} and ${wanted}
      and ${holdsText(sql, search.text, sql`d.id`, sql`d.name, d.phone`)}`;
  const read = (ids: string[]) => sql`select ${driverColumns(sql)} where d.id = any(${ids}::uuid[])`;
  return readRanked(db, list, page, false, read);
}

/** A driver with their duty, order and last written position; null for an unknown one. */
export async function showDriver({ sql }: Db, id: string): Promise<Printable | null> {
  const [row] = await sql`select ${driverColumns(sql)} where d.id = ${id}`;
  return row ? { ...row } : null;
}

/** A shorter beginning of an id is taken for a part of a name alone. */
const NAMED_ID_LENGTH = 8;

/**
 * The ids of the stores, or drivers, that a filter means: by the id, its beginning, or a part of the name.
 *
 * @returns one more than MAX_NAMED if it means that many
 */
export async function findNamed({ sql }: Db, table: 'retailers' | 'drivers', text: string): Promise<string[]> {
  const rows = await sql`
    select id from ${sql(table)}
    where strpos(lower(name), lower(${text})) > 0
      or length(${text}) >= ${NAMED_ID_LENGTH} and starts_with(id::text, lower(${text}))
    limit ${MAX_NAMED + 1}`;
  return rows.map(({ id }) => id);
}

/**
 * A page of a list that one statement reads, whose table has a row for each store or driver.
 *
 * @param list a query of `id`, `at` and `rank`
 * @param isOldestFirst whether the rows of a rank are in the order of time
 * @param read the rows with these ids, whose first column is the id
 */
function readRanked(
  { sql }: Db,
  list: Fragment,
  page: PageRequest,
  isOldestFirst: boolean,
  read: (ids: string[]) => Promise<readonly Row[]>,
): Promise<Page> {
  const step = async (from: { readonly behind: Place | null }, most: number) => {
    const { behind } = from;
    const order = isOldestFirst ? sql`>` : sql`<`;
    const follows = behind
      ? sql`rank > ${behind.rank} or (rank = ${behind.rank} and (at, id) ${order} ${rowAt(sql, behind)})`
      : sql`true`;
    const rows = await sql`
      select id, rank, ${microsOf(sql, sql`at`)} as micros from (${list}) l where ${follows}
      order by rank, ${isOldestFirst ? sql`at, id` : sql`at desc, id desc`} limit ${most}`;
    const found = rows.map(({ id, rank, micros }): Place => ({ id, rank, micros }));
    const last = found.at(-1);
    return { found, from: found.length === most && last ? { rank: last.rank, behind: last } : null };
  };
  return readPage(page, step, async (places) => {
    const rows = printable(await read(places.map(({ id }) => id)));
    return inOrder(places, rows, Object.keys(rows[0] ?? {})[0] ?? '');
  });
}

function isWanted(
  sql: Sql,
  { status, since, until }: ListSearch<string>,
  statusColumn: Fragment,
  timeColumn: Fragment,
): Fragment {
  return sql`true
    ${status === null ? sql`` : sql`and ${statusColumn} = ${status}`}
    ${since ? sql`and ${timeColumn} >= ${since}` : sql``}
    ${until ? sql`and ${timeColumn} < ${until}` : sql``}`;
}

const holdsText = (sql: Sql, text: string | null, id: Fragment, columns: Fragment): Fragment =>
  text === null
    ? sql`true`
    : sql`(${id}::text = lower(${text}) or strpos(lower(concat_ws(' ', ${columns})), lower(${text})) > 0)`;
