import type { IdleWait } from '../../domain/idle-wait.ts';
import type { Lease } from '../../domain/plan.ts';
import type { Point } from '../../geo/point.ts';
import { IDLE_WAIT_PAUSE_MS } from '../../limits.ts';
import type { Db } from '../db.ts';
import { NOTICE_IDS, rowsOf } from '../fragments.ts';
import { holdsLease } from './plans.ts';

const waitRows = rowsOf<IdleWait>([
  ['driver_id', 'uuid', ({ driverId }) => driverId],
  ['lat', 'float8', ({ place }) => place.lat],
  ['lng', 'float8', ({ place }) => place.lng],
  ['name', 'text', ({ place }) => place.name],
]);

/**
 * Asks drivers to wait somewhere, at most once in IDLE_WAIT_PAUSE_MS each, and ends what others were asked.
 * One who is off duty is not asked. Its notice names no process, so the one whose statement has no answer hears it,
 * too.
 *
 * @returns the drivers for whom something changed, or null, without effect, where another process has the lease
 */
export async function writeWaits(
  { sql }: Db,
  lease: Lease,
  waits: readonly IdleWait[],
  goneIds: readonly string[],
): Promise<string[] | null> {
  const [row] = await sql`
    with held as materialized (
      select 1 where ${holdsLease(sql, lease)}
    ), gone as (
      update driver_waits w set ended_at = now() from held
      where w.driver_id = any(${[...goneIds]}::uuid[]) and w.ended_at is null
        and not w.driver_id = any(${waits.map(({ driverId }) => driverId)}::uuid[])
      returning w.driver_id as id
    ), asked as (
      insert into driver_waits as w (driver_id, lat, lng, name, epoch)
      select t.driver_id, t.lat, t.lng, t.name, ${lease.epoch}
      from (${waitRows(sql, waits)}) t join drivers d on d.id = t.driver_id and d.active and d.on_duty, held
      on conflict (driver_id) do update set lat = excluded.lat, lng = excluded.lng, name = excluded.name,
        asked_at = excluded.asked_at, ended_at = null, epoch = excluded.epoch
        where w.asked_at <= now() - make_interval(secs => ${IDLE_WAIT_PAUSE_MS / 1_000})
      returning w.driver_id as id
    ), changed as (
      select id from gone union all select id from asked
    ), notice as (
      select pg_notify('sameday', ':driver:' || string_agg(id::text, ','))
      from (select id, row_number() over () / ${NOTICE_IDS} as part from changed) c group by part
    )
    select (select count(*)::int from held) as held, (select count(*) from notice) as notices,
      (select coalesce(json_agg(id), '[]') from changed) as ids`;
  return row?.held === 1 ? row.ids : null;
}

/** What a driver was asked, and until when it counts. Times are milliseconds since 1970. */
export type AskedWait = {
  readonly driverId: string;
  readonly place: Point;
  readonly askedMs: number;
  readonly isOver: boolean;
};

/** What drivers were asked within IDLE_WAIT_PAUSE_MS, for a process that begins to ask. */
export async function loadWaits({ sql }: Db): Promise<AskedWait[]> {
  const rows = await sql`
    select driver_id, lat, lng, asked_at, ended_at from driver_waits
    where asked_at > now() - make_interval(secs => ${IDLE_WAIT_PAUSE_MS / 1_000})`;
  return rows.map(({ driver_id, lat, lng, asked_at, ended_at }) => ({
    driverId: driver_id,
    place: { lat, lng },
    askedMs: asked_at.getTime(),
    isOver: ended_at !== null,
  }));
}
