import type { Fragment, Row, Sql } from 'postgres';
import type { ScheduledOrder } from '../domain/schedule.ts';
import { DEFAULT_PROMISE_MINUTES, DUE_TOLERANCE_MS } from '../limits.ts';
import { holdReason } from './fragments.ts';
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
export const whyWaiting = (sql: Sql, unpaidAllowed: number): Fragment => sql`
  coalesce(${holdReason(sql, unpaidAllowed)}, case when ${isPlanned(sql)} then 'planned'
    when ${isNotYet(sql, sql`o`)} then 'not_yet' end)`;

/** The columns that {@link toScheduled} reads. */
export const scheduleColumns = (sql: Sql, order: Fragment): Fragment => sql`
  ${order}.ready_at, ${order}.deliver_after, ${promisedBy(sql, order)} as promised_by, ${order}.dispatch_from`;

export const toScheduled = (row: Row): ScheduledOrder => ({
  readyAt: row.ready_at,
  deliverAfter: row.deliver_after,
  deliverBy: row.promised_by,
  dispatchFrom: row.dispatch_from,
});
