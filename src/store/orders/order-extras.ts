import type { Fragment, Sql } from 'postgres';
import type { OrderExtras } from '../../domain/order.ts';
import { keptScenario } from '../../domain/scenario.ts';
import { DEFAULT_SIZE } from '../../domain/vehicle.ts';

/**
 * The optional fields of a new order as one JSON text, since most orders have none: a column for each would
 * cost every commit. Null for none.
 *
 * @param dispatchFromMs when an order for later is due, in milliseconds since 1970; only one with extras is
 */
export function extrasText(extras: OrderExtras | null, dispatchFromMs?: number): string | null {
  if (!extras) return null;
  const { externalId, metadata, items, pickupInstructions, dropoffInstructions, leaveAtDoor, scenario } = extras;
  const { readyAt, deliverAfter, deliverBy, size } = extras;
  return JSON.stringify({
    external_id: externalId ?? undefined,
    metadata: Object.keys(metadata).length > 0 ? metadata : undefined,
    items: items.length > 0 ? items : undefined,
    pickup_instructions: pickupInstructions ?? undefined,
    dropoff_instructions: dropoffInstructions ?? undefined,
    leave_at_door: leaveAtDoor || undefined,
    ready_at: readyAt ?? undefined,
    deliver_after: deliverAfter ?? undefined,
    deliver_by: deliverBy ?? undefined,
    dispatch_from: dispatchFromMs === undefined ? undefined : new Date(dispatchFromMs),
    size: size === DEFAULT_SIZE ? undefined : size,
    scenario: scenario ? keptScenario(scenario) : undefined,
  });
}

/** The columns that `extraValues` fills. */
export const extraColumns = (sql: Sql): Fragment => sql`
  external_id, metadata, items, pickup_instructions, dropoff_instructions, leave_at_door, scenario, ready_at,
  deliver_after, deliver_by, size, dispatch_from`;

/**
 * The values of those columns, out of the JSON of `extrasText` in the column `more`. Beside it `at` is when the
 * order is created, and `promise` its tier's in minutes. `greatest` leaves out what is null.
 */
export const extraValues = (sql: Sql): Fragment => sql`
  more ->> 'external_id', more -> 'metadata', more -> 'items', more ->> 'pickup_instructions',
  more ->> 'dropoff_instructions', coalesce((more ->> 'leave_at_door')::boolean, false), more -> 'scenario',
  (more ->> 'ready_at')::timestamptz, (more ->> 'deliver_after')::timestamptz,
  ${newDeliverBy(sql)},
  coalesce(more ->> 'size', ${DEFAULT_SIZE}), (more ->> 'dispatch_from')::timestamptz`;

/** Until when a new order is promised. */
const newDeliverBy = (sql: Sql): Fragment => sql`
  coalesce((more ->> 'deliver_by')::timestamptz, greatest(at, (more ->> 'ready_at')::timestamptz,
    (more ->> 'deliver_after')::timestamptz) + make_interval(mins => promise))`;

/**
 * What a notice tells other processes of a new order with its driver, a JSON list without colons; null for one
 * without a driver. `GivenRow` of the notices names its elements. Times are milliseconds since 1970.
 */
export const givenOrder = (sql: Sql): Fragment => {
  const ms = (time: Fragment) => sql`(extract(epoch from ${time}) * 1000)::int8`;
  return sql`case when driver_id is not null then json_build_array(driver_id, retailer_id, slot, lat, lng, to_lat,
    to_lng, ${ms(sql`at`)}, ${ms(sql`(more ->> 'ready_at')::timestamptz`)},
    ${ms(sql`(more ->> 'deliver_after')::timestamptz`)}, ${ms(newDeliverBy(sql))}) end`;
};
