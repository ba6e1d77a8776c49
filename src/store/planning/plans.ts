import type { Fragment, Sql } from 'postgres';
import type { Lease, PlannedOrder } from '../../domain/plan.ts';
import type { Db } from '../db.ts';
import { isWaiting, NOTICE_IDS, rowsOf } from '../fragments.ts';
import { isPlannedTier, plannedRange } from './plan-readings.ts';

/** Change of a planned handover of which its store and open pages are told. */
export const ESTIMATE_MOVED_MS = 5 * 60_000;
/** Shortest time between two such events of an order, so that a plan that goes to and fro floods nobody. */
export const ESTIMATE_TOLD_EVERY_MS = 5 * 60_000;
/** Most such events of one statement; the next one, about a second later, has the others. */
const MAX_ESTIMATES_TOLD = 500;

/** Whether a process still has the right to plan, by the clock of the database. */
export const holdsLease = (sql: Sql, { region, epoch }: Lease): Fragment => sql`
  exists (select from planner_leases l where l.region = ${region} and l.epoch = ${epoch} and l.expires_at > now())`;

/**
 * Takes the right to plan a region, or renews it. A row instead of a lock of the session, which a pooler drops
 * and a cut network keeps. The epoch stays only where the holder still plans by it: one who gave up meanwhile
 * begins anew, and has to forget what they noted down before.
 *
 * @param ttlMs for how long it holds
 * @param heldEpoch the epoch by which the process plans; null for one that does not
 * @returns null while another process has it
 */
export async function takeLease(
  { sql, processId }: Db,
  region: string,
  ttlMs: number,
  heldEpoch: number | null = null,
): Promise<Lease | null> {
  // Where the row was deleted the epochs go on behind those of the plans that are left.
  const [row] = await sql`
    insert into planner_leases as l (region, holder, epoch, expires_at)
    values (${region}, ${processId}, case when exists (select from planner_leases k where k.region = ${region}) then 1
        else 1 + coalesce((select max(epoch) from plans), 0) end, now() + make_interval(secs => ${ttlMs / 1000}))
    on conflict (region) do update set holder = excluded.holder, expires_at = excluded.expires_at,
      epoch = l.epoch + case
        when l.holder = excluded.holder and l.expires_at > now() and l.epoch = ${heldEpoch}::int then 0 else 1 end
      where l.holder = excluded.holder or l.expires_at <= now()
        -- By a clock that was set back since, as by a failover to another server. No row ends that late otherwise.
        or l.expires_at > clock_timestamp() + make_interval(secs => ${ttlMs / 1000})
    returning epoch`;
  return row ? { region, epoch: row.epoch } : null;
}

/** Gives the right back, so that another process has it at once. */
export async function leaveLease({ sql }: Db, { region, epoch }: Lease): Promise<void> {
  await sql`update planner_leases set expires_at = now() where region = ${region} and epoch = ${epoch}`;
}

const planRows = rowsOf<PlannedOrder>([
  ['order_id', 'uuid', ({ orderId }) => orderId],
  ['driver_id', 'uuid', ({ driverId }) => driverId],
  ['pickup_at', 'timestamptz', ({ pickupMs }) => new Date(pickupMs)],
  ['door_at', 'timestamptz', ({ doorMs }) => new Date(doorMs)],
]);

/**
 * Writes what is planned, for readers of any process, and forgets what is planned no more. Tells the stores
 * of orders that arrive ESTIMATE_MOVED_MS earlier or later than was said last: an event of the order, at most
 * one in ESTIMATE_TOLD_EVERY_MS, and at most MAX_ESTIMATES_TOLD at a time. Open pages read these orders again,
 * and those that are planned now and were not, or the other way round.
 *
 * An order that is just being changed is told of by the next call: this statement waits for no order, so it
 * can't deadlock with one that changes several. Of its tables it locks `orders` first, as `removeAllOrders`
 * does. Its notice names no process, as the planner's has pages, too.
 *
 * @param isWhole whether all that is planned was written by now: then what another process planned is forgotten
 * @returns false, without effect, where another process has the lease
 */
export async function writePlans(
  { sql }: Db,
  lease: Lease,
  planned: readonly PlannedOrder[],
  goneIds: readonly string[],
  isWhole = false,
): Promise<boolean> {
  const gone = sql`any(${[...goneIds]}::uuid[])`;
  const [row] = await sql`
    with held as materialized (
      select 1 where ${holdsLease(sql, lease)}
    ), planned as materialized (
      select t.* from (${planRows(sql, planned)}) t, held
    ), moved as materialized (
      select o.id, t.door_at from orders o join (
        select p.order_id, coalesce(t.door_at, p.door_at) as door_at, p.said_at
        from plans p left join planned t on t.order_id = p.order_id
        where not p.order_id = ${gone} and (t.order_id is not null or p.epoch = ${lease.epoch})
      ) t on t.order_id = o.id, held
      where abs(extract(epoch from t.door_at - t.said_at)) > ${ESTIMATE_MOVED_MS / 1_000}::float8
        and ${mayTell(sql)}
      limit ${MAX_ESTIMATES_TOLD} for no key update of o skip locked
    ), changed as (
      update orders o set sequence = o.sequence + 1 from moved
      where o.id = moved.id and ${isWaiting(sql, sql`o`)}
      returning o.id, o.sequence, moved.door_at, ${plannedRange(sql, sql`moved.door_at`)} as range
    ), event as (
      insert into order_events (order_id, sequence, type, data)
      select id, sequence, 'estimate_changed', jsonb_build_object('estimated_delivery', range) from changed
    ), forgotten as (
      delete from plans p using held
      where p.order_id = ${gone}
        or (${isWhole} and p.epoch <> ${lease.epoch} and not p.order_id in (select order_id from planned))
      returning p.order_id
    ), written as (
      insert into plans as p (order_id, driver_id, pickup_at, door_at, said_at, epoch)
      select t.order_id, t.driver_id, t.pickup_at, t.door_at,
        case when c.id is null then coalesce(k.said_at, t.door_at) else t.door_at end, ${lease.epoch}
      from planned t left join plans k on k.order_id = t.order_id left join changed c on c.id = t.order_id
      where not t.order_id = ${gone}
      on conflict (order_id) do update set driver_id = excluded.driver_id, pickup_at = excluded.pickup_at,
        door_at = excluded.door_at, said_at = excluded.said_at, epoch = excluded.epoch
    ), told as (
      update plans p set said_at = c.door_at from changed c
      where p.order_id = c.id and p.epoch = ${lease.epoch} and not p.order_id in (select order_id from planned)
    ), notice as (
      select pg_notify('sameday', ':details:' || string_agg(id::text, ','))
      from (select id, row_number() over () / ${NOTICE_IDS} as part from (${shownAnew(sql)}) n) n group by part
    )
    select (select count(*) from held)::int as held, (select count(*) from notice) as notices`;
  return row?.held === 1;
}

/** Whether the store of the waiting order `o` may be told of its plan now. */
const mayTell = (sql: Sql): Fragment => sql`
  o.status = 'pending_dispatch' and ${isPlannedTier(sql)}
  and exists (select from dropoff_addresses a where a.id = o.dropoff_address_id and a.lat is not null)
  and not exists (select from order_events e where e.order_id = o.id and e.type = 'estimate_changed'
                  and e.at > now() - make_interval(secs => ${ESTIMATE_TOLD_EVERY_MS / 1_000}))`;

/** The ids of the orders whose pages show something else now. */
const shownAnew = (sql: Sql): Fragment => sql`
  select id from changed
  union
  select t.order_id from planned t where not exists (select from plans p where p.order_id = t.order_id)
  union
  select f.order_id from forgotten f join orders o on o.id = f.order_id where o.status = 'pending_dispatch'`;
