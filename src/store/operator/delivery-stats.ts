import type { Fragment, Sql } from 'postgres';
import { below } from '../../limits.ts';
import type { Db } from '../db.ts';
import { promisedBy } from '../orders/order-times.ts';
import type { Printable } from '../pages.ts';
import { isPlannedTier, PLAN_PAST_MS } from '../planning/plan-readings.ts';

/** Time for which deliveries are counted in `stats`: a day, so that no hour of it is missing. */
export const STATS_MS = 24 * 3_600_000;
/** Time by which numbers of events may be given late without a delivery missing there. Below STATS_MS. */
const STATS_LATE_MS = 3_600_000;

below({ STATS_LATE_MS }, { STATS_MS });

/**
 * How well deliveries go, for the operator: how many an hour, in the last hour and in the last day; of the last
 * day the parcels a trip and the share that came after its promise; and how many waiting orders have a plan,
 * with the mean minutes until their pickups. A trip of a driver is a chain of deliveries, each assigned before
 * all those before it were handed over. Figures of what there was none of are null.
 *
 * Deliveries are found by the numbers of their events, so those of the day alone are read. Each order is looked up by
 * itself: Postgres takes a third of all events to be of the day, and would read every order for them.
 */
export async function readDeliveryStats({ sql }: Db): Promise<Printable> {
  const [row] = await sql`
    with recursive ${searchOfFirst(sql, STATS_MS + STATS_LATE_MS)}, delivered as materialized (
      select o.driver_id, o.assigned_at, o.delivered_at, o.delivered_at > ${promisedBy(sql, sql`o`)} as is_late
      from store_events e cross join lateral (select * from orders where id = e.order_id limit 1) o
      where e.number >= (select low from halves order by step desc limit 1) and e.type = 'order.delivered'
        and o.delivered_at > now() - make_interval(secs => ${STATS_MS / 1_000})
    ), chained as (
      select (assigned_at >= max(delivered_at) over (partition by driver_id order by assigned_at, delivered_at
        rows between unbounded preceding and 1 preceding)) is not false as is_first
      from delivered
    ), trips as (
      select count(*) filter (where is_first) as n from chained
    )
    select (select jsonb_build_object(
        'last_hour', count(*) filter (where delivered_at > now() - interval '1 hour'),
        'last_day', round(count(*) / ${STATS_MS / 3_600_000}::numeric, 2)) from delivered) as deliveries_per_hour,
      (select round(count(*)::numeric / nullif((select n from trips), 0), 2)::float8 from delivered)
        as parcels_per_trip,
      (select round(avg(is_late::int), 4)::float8 from delivered) as late_share,
      (select jsonb_build_object('orders', count(*),
        'minutes_to_pickup', round(avg(extract(epoch from greatest(plan.pickup_at - now(), interval '0'))) / 60, 1))
       from plans plan join orders o on o.id = plan.order_id
       where o.status = 'pending_dispatch' and ${isPlannedTier(sql)}
         and plan.door_at > now() - make_interval(secs => ${PLAN_PAST_MS / 1_000})) as planned_ahead`;
  return { ...row };
}

/**
 * A CTE whose last row has in `low` the first number of an event of so many milliseconds, by halves, as numbers
 * grow with time and have no index by it. A number without an event is of one that was deleted by age.
 */
const searchOfFirst = (sql: Sql, ms: number): Fragment => sql`
  halves (low, high, step) as (
    select pruned_number + 1, number + 1, 0 from event_head
    union all
    select case when is_older then middle + 1 else low end, case when is_older then high else middle end, step + 1
    from halves cross join lateral (
      select (low + high) / 2 as middle, coalesce((
        select e.at from store_events e where e.number = (low + high) / 2), '-infinity')
          < now() - make_interval(secs => ${ms / 1_000}) as is_older
    ) looked
    where low < high
  )`;
