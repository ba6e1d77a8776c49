import type { Fragment, Sql } from 'postgres';
import {
  ARRIVAL_DETOUR,
  ARRIVAL_FAST_METERS_PER_SECOND,
  ARRIVAL_HANDOVER_MS,
  ARRIVAL_SLOW_METERS_PER_SECOND,
  below,
  ROUTE_EARLIEST_SHARE,
  ROUTE_LATEST_SHARE,
} from '../../limits.ts';

/** Time after its handover at which a plan no longer counts: nobody plans any more. Above PLAN_STEP_MS. */
export const PLAN_PAST_MS = 10 * 60_000;
/** Steps of the clock by which the range around a planned handover narrows: two readings say the same. */
export const PLAN_STEP_MS = 5 * 60_000;

below({ PLAN_STEP_MS }, { PLAN_PAST_MS });

/** A time as stores read it: ISO 8601 in UTC with milliseconds. */
export const asText = (sql: Sql, time: Fragment): Fragment =>
  sql`to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const interval = (sql: Sql, ms: number): Fragment => sql`make_interval(secs => ${ms / 1_000})`;

/** Whether the planner decides about the tier of the order `o`. */
export const isPlannedTier = (sql: Sql): Fragment => sql`
  exists (select from tiers t where t.id = o.delivery_tier and t.dispatch_mode = 'planned')`;

/** The row `plan` of the waiting order `o`, by its primary key: `from …`. None for a plan that is long past. */
const planRow = (sql: Sql): Fragment => sql`
  from plans plan where plan.order_id = o.id and o.status = 'pending_dispatch'
    and plan.door_at > now() - ${interval(sql, PLAN_PAST_MS)} and ${isPlannedTier(sql)}`;

/** Whether somebody is meant for the waiting order `o`. */
export const isPlanned = (sql: Sql): Fragment => sql`exists (select ${planRow(sql)})`;

/** The plan of the waiting order `o`, held or not, as `ShownPlan`; null for any other order. */
export const shownPlan = (sql: Sql): Fragment => sql`
  (select json_build_object('range', ${plannedRange(sql, sql`plan.door_at`)}) ${planRow(sql)})`;

/** Who is meant for the waiting order `o`, and when: for the operator alone. */
export const meantDriver = (sql: Sql): Fragment => sql`
  (select json_build_object('driver_id', plan.driver_id,
    'driver_name', (select d.name from drivers d where d.id = plan.driver_id),
    'pickup_at', ${asText(sql, sql`plan.pickup_at`)}, 'door_at', ${asText(sql, sql`plan.door_at`)}) ${planRow(sql)})`;

/**
 * When the order `o` arrives whose handover is planned for a time, as JSON; null where its door is not known. As
 * of a door behind others, a later one is known less well, and the range is as wide as the door's place is
 * unknown. It counts from the last step of the clock, so that two readings in a row say the same.
 */
export function plannedRange(sql: Sql, doorAt: Fragment): Fragment {
  const step = interval(sql, PLAN_STEP_MS);
  const soonest = sql`clock.at + clock.ahead * ${ROUTE_EARLIEST_SHARE}::float8
    - ${offBy(sql, ARRIVAL_FAST_METERS_PER_SECOND)}`;
  const opens = sql`greatest(o.ready_at, o.deliver_after, ${soonest})`;
  const latest = sql`clock.at + greatest(clock.ahead, ${step}) * ${ROUTE_LATEST_SHARE}::float8
    + ${interval(sql, ARRIVAL_HANDOVER_MS)} + ${offBy(sql, ARRIVAL_SLOW_METERS_PER_SECOND)}`;
  const onMinute = (time: Fragment) => asText(sql, sql`date_trunc('minute', ${time})`);
  return sql`
    (select json_build_object(
       'from', ${onMinute(sql`greatest(clock.at, least(${doorAt}, ${opens}))`)},
       'to', ${onMinute(sql`${latest} + interval '1 minute'`)})
     from dropoff_addresses a, lateral (
       select step.at, greatest(${doorAt} - step.at, interval '0') as ahead
       from (select date_bin(${step}, now(), timestamptz '2000-01-01') as at) step) clock
     where a.id = o.dropoff_address_id and a.lat is not null)`;
}

/** How long the way is by which the door may be off. */
const offBy = (sql: Sql, metersPerSecond: number): Fragment =>
  sql`make_interval(secs => a.accuracy_meters * ${ARRIVAL_DETOUR / metersPerSecond}::float8)`;
