import type { Fragment, Row, Sql } from 'postgres';
import { carries, SIZES, VEHICLES } from '../domain/driver.ts';
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

/** Why the order `o` of the store `r` waits: it is held, planned, or not due yet, or nobody can take it. */
export const whyWaiting = (sql: Sql, unpaidAllowed: number): Fragment => sql`
  coalesce(${holdReason(sql, unpaidAllowed)}, case when ${isPlanned(sql)} then 'planned'
    when ${isNotYet(sql, sql`o`)} then 'not_yet'
    when o.status = 'pending_dispatch' then ${whyNobody(sql)} end)`;

/** The vehicles and sizes that go together, in one text each. */
const CARRIED = VEHICLES.flatMap((vehicle) =>
  SIZES.filter((size) => carries(vehicle, size)).map((size) => `${vehicle} ${size}`),
);

/** The reason of `waitReason` for the waiting order `o`, by the tables. */
const whyNobody = (sql: Sql): Fragment => sql`
  (select case
      when count(*) = 0 then 'no_driver_on_duty'
      when not bool_or(serves) then 'none_qualified'
      when not bool_or(fits) then 'no_vehicle'
      when bool_and(gave_back) filter (where fits) then 'given_back'
      when not bool_or(fits and is_free and not gave_back) then 'all_drivers_busy'
      when bool_or(fits and is_free and gave_back) then 'given_back'
      else 'none_in_radius' end
    from (select o.delivery_tier = any(d.tiers) as serves,
        o.delivery_tier = any(d.tiers) and d.vehicle || ' ' || o.size = any(${CARRIED}::text[]) as fits,
        d.id = any(o.excluded_driver_ids) as gave_back,
        d.id not in (select busy.driver_id from orders busy
          where busy.status in ${active(sql)} and busy.driver_id is not null) as is_free
      from drivers d where d.active and d.on_duty) as drivers_on_duty)`;

/** The columns that {@link toScheduled} reads. */
export const scheduleColumns = (sql: Sql, order: Fragment): Fragment => sql`
  ${order}.ready_at, ${order}.deliver_after, ${promisedBy(sql, order)} as promised_by, ${order}.dispatch_from`;

export const toScheduled = (row: Row): ScheduledOrder => ({
  readyAt: row.ready_at,
  deliverAfter: row.deliver_after,
  deliverBy: row.promised_by,
  dispatchFrom: row.dispatch_from,
});
