import type { Fragment, Sql } from 'postgres';

/**
 * The members of an event's object, for `json_build_object`: as webhooks send it, and as `GET /events` shows
 * it. It holds nothing about the customer.
 *
 * @param event the alias of the row of `store_events`
 */
export const eventMembers = (sql: Sql, event: Fragment): Fragment => sql`
  'type', ${event}.type,
  'timestamp', to_char(${event}.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'data', jsonb_build_object('order_id', ${event}.order_id, 'retailer_id', ${event}.retailer_id,
    'sequence', ${event}.sequence, 'status', ${event}.status, 'payment_status', ${event}.payment_status,
    'driver_id', ${event}.driver_id) || coalesce(${event}.details, '{}')`;
