import type { Fragment, Row, Sql } from 'postgres';
import type { ScheduledOrder } from '../domain/schedule.ts';
import { DEFAULT_PROMISE_MINUTES, DUE_TOLERANCE_MS } from '../limits.ts';
import { active, holdReason } from './fragments.ts';
import { isPlanned } from './plan-readings.ts';

/** Until when the order `o` is promised; one of the build before this has its tier's promise. */
export const promisedBy = (sql: Sql, order: Fragment): Fragment => sql`
  coalesce(${order}.deliver_by, ${order}.created_at + make_interval(mins => coalesce(
    (select promise_minutes from tiers where tiers.id = ${order}.delivery_tier), ${DEFAULT_PROMISE_MINUTES}::int)))`;

/** Whether the order `o` may be given to a driver by now, as far as its time goes. */
export const isDue = (sql: Sql, order: Fragment): Fragment => sql`
  (${order}.dispatch_from is null
    or ${order}.dispatch_from <= now() + make_interval(secs => ${DUE_TOLERANCE_MS / 1000}))`;

/** Whether the order `o` waits for its time. */
export const isNotYet = (sql: Sql, order: Fragment): Fragment =>
  sql`(${order}.status = 'pending_dispatch' and ${order}.dispatch_from is not null and ${order}.dispatch_from > now())`;

/** Why the order `o` of the store `r` waits as far as the tables tell: it is held, planned, or not due yet. */
const whyWaiting = (sql: Sql, unpaidAllowed: number): Fragment => sql`
  coalesce(${holdReason(sql, unpaidAllowed)}, case when ${isPlanned(sql)} then 'planned'
    when ${isNotYet(sql, sql`o`)} then 'not_yet' end)`;

/**
 * The same, and else why no driver has it, as the tables tell it: `waitReason` of the matcher, with the drivers' rows
 * (`fleetOnDuty`) in place of its memory.
 */
export const whyInFleet = (sql: Sql, unpaidAllowed: number): Fragment => sql`
  coalesce(${whyWaiting(sql, unpaidAllowed)}, case when o.status = 'pending_dispatch' then (
    select case
      when f.drivers is null then 'no_driver_on_duty'
      when f.qualified is null then 'none_qualified'
      when f.qualified = g.drivers then 'given_back'
      when f.free = g.free and g.free = 0 or f.free is null then 'all_drivers_busy'
      when g.free > 0 then 'given_back'
      else 'none_in_radius' end
    from (
      select sum(drivers) as drivers, sum(drivers) filter (where o.delivery_tier = any(tiers)) as qualified,
        sum(drivers) filter (where o.delivery_tier = any(tiers) and is_free) as free from fleet
    ) f, (
      select count(*) as drivers, count(*) filter (where ${isFree(sql)}) as free from drivers d
      where d.id = any(o.excluded_driver_ids) and d.active and d.on_duty and o.delivery_tier = any(d.tiers)
    ) g) end)`;

/** The CTE that {@link whyInFleet} reads, once for all rows: how many drivers are on duty, by tiers and whether free. */
export const fleetOnDuty = (sql: Sql): Fragment => sql`
  fleet as materialized (
    select tiers, is_free, count(*) as drivers
    from (select d.tiers, ${isFree(sql)} as is_free from drivers d where d.active and d.on_duty) f
    group by tiers, is_free
  )`;

const isFree = (sql: Sql): Fragment =>
  sql`(not exists (select from orders c where c.driver_id = d.id and c.status in ${active(sql)}))`;

/** The columns that {@link toScheduled} reads. */
export const scheduleColumns = (sql: Sql, order: Fragment): Fragment => sql`
  ${order}.ready_at, ${order}.deliver_after, ${promisedBy(sql, order)} as promised_by, ${order}.dispatch_from`;

export const toScheduled = (row: Row): ScheduledOrder => ({
  readyAt: row.ready_at,
  deliverAfter: row.deliver_after,
  deliverBy: row.promised_by,
  dispatchFrom: row.dispatch_from,
});
