import type { Fragment, Sql } from 'postgres';
import type { OrderExtras } from '../domain/order.ts';

/**
 * The optional fields of a new order as one JSON text, since most orders have none: a column for each would
 * cost every commit. Null for none.
 */
export function extrasText(extras: OrderExtras | null): string | null {
  if (!extras) return null;
  const { externalId, metadata, items, pickupInstructions, dropoffInstructions, leaveAtDoor } = extras;
  return JSON.stringify({
    external_id: externalId ?? undefined,
    metadata: Object.keys(metadata).length > 0 ? metadata : undefined,
    items: items.length > 0 ? items : undefined,
    pickup_instructions: pickupInstructions ?? undefined,
    dropoff_instructions: dropoffInstructions ?? undefined,
    leave_at_door: leaveAtDoor || undefined,
  });
}

/** The columns that `extraValues` fills. */
export const extraColumns = (sql: Sql): Fragment =>
  sql`external_id, metadata, items, pickup_instructions, dropoff_instructions, leave_at_door`;

/** The values of those columns, out of the JSON of `extrasText` in the column `more`. */
export const extraValues = (sql: Sql): Fragment => sql`
  more ->> 'external_id', more -> 'metadata', more -> 'items', more ->> 'pickup_instructions',
  more ->> 'dropoff_instructions', coalesce((more ->> 'leave_at_door')::boolean, false)`;
