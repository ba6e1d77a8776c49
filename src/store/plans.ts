import type { Fragment, Sql } from 'postgres';
import type { Lease, PlannedOrder } from '../domain/plan.ts';
import type { Db } from './db.ts';
import { rowsOf } from './fragments.ts';

/** Whether a process still has the right to plan, by the clock of the database. */
export const holdsLease = (sql: Sql, { region, epoch }: Lease): Fragment => sql`
  exists (select from planner_leases l where l.region = ${region} and l.epoch = ${epoch} and l.expires_at > now())`;

/**
 * Takes the right to plan a region, or renews it. A row instead of a lock of the session, which a pooler drops
 * and a cut network keeps.
 *
 * @param ttlMs for how long it holds
 * @returns null while another process has it
 */
export async function takeLease({ sql, processId }: Db, region: string, ttlMs: number): Promise<Lease | null> {
  const [row] = await sql`
    insert into planner_leases as l (region, holder, epoch, expires_at)
    values (${region}, ${processId}, 1, now() + make_interval(secs => ${ttlMs / 1000}))
    on conflict (region) do update set holder = excluded.holder, expires_at = excluded.expires_at,
      epoch = case when l.holder = excluded.holder and l.expires_at > now() then l.epoch else l.epoch + 1 end
      where l.holder = excluded.holder or l.expires_at <= now()
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
 * Writes what is planned, for readers of any process, and forgets the plans of other orders.
 *
 * @returns false, without effect, where another process has the lease
 */
export async function writePlans(
  { sql }: Db,
  lease: Lease,
  planned: readonly PlannedOrder[],
  goneIds: readonly string[],
): Promise<boolean> {
  const [row] = await sql`
    with held as materialized (
      select 1 where ${holdsLease(sql, lease)}
    ), gone as (
      delete from plans p using held
      where p.order_id = any(${[...goneIds]}::uuid[]) or p.epoch < ${lease.epoch}
        and not p.order_id = any(${planned.map(({ orderId }) => orderId)}::uuid[])
    ), written as (
      insert into plans as p (order_id, driver_id, pickup_at, door_at, said_at, epoch)
      select t.order_id, t.driver_id, t.pickup_at, t.door_at, t.door_at, ${lease.epoch}
      from (${planRows(sql, planned)}) t, held
      on conflict (order_id) do update set driver_id = excluded.driver_id, pickup_at = excluded.pickup_at,
        door_at = excluded.door_at, epoch = excluded.epoch
    )
    select count(*)::int as held from held`;
  return row?.held === 1;
}
