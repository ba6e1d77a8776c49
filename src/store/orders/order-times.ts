import type { Fragment, Row, Sql } from 'postgres';
import type { ScheduledOrder } from '../../domain/schedule.ts';
import { carries, SIZES, VEHICLES } from '../../domain/vehicle.ts';
import { EARTH_RADIUS_METERS } from '../../geo/point.ts';
import {
  ARRIVAL_DETOUR,
  ARRIVAL_FAST_METERS_PER_SECOND,
  atMost,
  CLOCK_ROUND_TRIP_MS,
  MIN_PROMISE_MINUTES,
} from '../../limits.ts';
import { active, holdReason } from '../fragments.ts';
import { isPlanned } from '../planning/plan-readings.ts';

/** The promise where the tier's row is gone, in minutes: that of `standard`. At least MIN_PROMISE_MINUTES. */
const DEFAULT_PROMISE_MINUTES = 180;
/**
 * Time by which processes may give an order before it is due, since each measures the database's clock by
 * itself. At least CLOCK_ROUND_TRIP_MS, twice the error of that, and below DUE_SOON_MS.
 */
export const DUE_TOLERANCE_MS = 1_000;

atMost({ MIN_PROMISE_MINUTES }, { DEFAULT_PROMISE_MINUTES });
atMost({ CLOCK_ROUND_TRIP_MS }, { DUE_TOLERANCE_MS });

/** Until when the order `o` is promised; one of the build before this has its tier's promise. */
export const promisedBy = (sql: Sql, order: Fragment): Fragment => sql`
  coalesce(${order}.deliver_by, ${order}.created_at + make_interval(mins => coalesce(
    (select promise_minutes from tiers where tiers.id = ${order}.delivery_tier), ${DEFAULT_PROMISE_MINUTES}::int)))`;

/** When the window of the order `o` begins, which waits for its time; as `windowFrom` of the domain. */
export const windowStart = (sql: Sql): Fragment => sql`
  least(${promisedBy(sql, sql`o`)}, greatest(o.deliver_after, greatest(o.dispatch_from, o.ready_at)
    + coalesce((${leastDrive(sql)}), '0')))`;

/** The quickest way from the pickup of the order `o` to its door, by the great circle (haversine formula). */
const leastDrive = (sql: Sql): Fragment => sql`
  select make_interval(secs => ceil(
    greatest(0, ${2 * EARTH_RADIUS_METERS}::float8 * asin(least(1, sqrt(
      sind((a.lat - o.pickup_lat) / 2) ^ 2 + cosd(a.lat) * cosd(o.pickup_lat) * sind((a.lng - o.pickup_lng) / 2) ^ 2)))
      - a.accuracy_meters) * ${ARRIVAL_DETOUR / ARRIVAL_FAST_METERS_PER_SECOND}::float8))
  from dropoff_addresses a where a.id = o.dropoff_address_id and a.lat is not null`;

/** Whether the order `o` may be given to a driver by now, as far as its time goes. */
export const isDue = (sql: Sql, order: Fragment): Fragment => sql`
  (${order}.dispatch_from is null
    or ${order}.dispatch_from <= now() + make_interval(secs => ${DUE_TOLERANCE_MS / 1000}))`;

/** Whether the order `o` waits for its time. */
export const isNotYet = (sql: Sql, order: Fragment): Fragment =>
  sql`(${order}.status = 'pending_dispatch' and ${order}.dispatch_from is not null and ${order}.dispatch_from > now())`;

/** The vehicles and sizes that go together, in one text each. */
const CARRIED = VEHICLES.flatMap((vehicle) =>
  SIZES.filter((size) => carries(vehicle, size)).map((size) => `${vehicle} ${size}`),
);

/**
 * Why the order `o` of the store `r` waits: it is held, planned, or not due yet, or else why no driver has it, as
 * `waitReason` of the matcher, with the drivers' rows (`fleetOnDuty`) in place of its memory.
 */
export const whyWaiting = (sql: Sql, unpaidAllowed: number): Fragment => sql`
  coalesce(${holdReason(sql, unpaidAllowed)}, case when ${isPlanned(sql)} then 'planned'
    when ${isNotYet(sql, sql`o`)} then 'not_yet'
    when o.status = 'pending_dispatch' then ${whyNobody(sql)} end)`;

const whyNobody = (sql: Sql): Fragment => sql`(
  select case
    when f.drivers is null then 'no_driver_on_duty'
    when f.serving is null then 'none_qualified'
    when f.fitting is null then 'no_vehicle'
    when f.fitting = g.drivers then 'given_back'
    when coalesce(f.free, 0) = g.free then 'all_drivers_busy'
    when g.free > 0 then 'given_back'
    else 'none_in_radius' end
  from (
    select sum(n) as drivers, sum(n) filter (where serves) as serving, sum(n) filter (where serves and fits) as fitting,
      sum(n) filter (where serves and fits and is_free) as free
    from (select n, is_free, ${serves(sql, sql`k`)} as serves, ${fits(sql, sql`k`)} as fits from fleet k) k
  ) f, (
    select count(*) as drivers, count(*) filter (where ${isFree(sql)}) as free from drivers d
    where d.id = any(o.excluded_driver_ids) and d.active and d.on_duty
      and ${serves(sql, sql`d`)} and ${fits(sql, sql`d`)}
  ) g)`;

const serves = (sql: Sql, driver: Fragment): Fragment => sql`o.delivery_tier = any(${driver}.tiers)`;
const fits = (sql: Sql, driver: Fragment): Fragment =>
  sql`${driver}.vehicle || ' ' || o.size = any(${CARRIED}::text[])`;
const isFree = (sql: Sql): Fragment =>
  sql`(not exists (select from orders c where c.driver_id = d.id and c.status in ${active(sql)}))`;

/** The CTE that {@link whyWaiting} reads, once for all rows: how many drivers of a kind are on duty, and free. */
export const fleetOnDuty = (sql: Sql): Fragment => sql`
  fleet as materialized (
    select tiers, vehicle, is_free, count(*) as n
    from (select d.tiers, d.vehicle, ${isFree(sql)} as is_free from drivers d where d.active and d.on_duty) f
    group by tiers, vehicle, is_free
  )`;

/** The columns that {@link toScheduled} reads. */
export const scheduleColumns = (sql: Sql, order: Fragment): Fragment => sql`
  ${order}.ready_at, ${order}.deliver_after, ${promisedBy(sql, order)} as promised_by, ${order}.dispatch_from`;

export const toScheduled = (row: Row): ScheduledOrder => ({
  readyAt: row.ready_at,
  deliverAfter: row.deliver_after,
  deliverBy: row.promised_by,
  dispatchFrom: row.dispatch_from,
});
