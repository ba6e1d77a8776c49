import type { Fragment, Sql } from 'postgres';
import { promisedBy, windowStart } from '../orders/order-times.ts';
import { asText } from '../planning/plan-readings.ts';

/**
 * The members of an event's object, for `json_build_object`: as webhooks send it, and as `GET /events` shows
 * it. It holds nothing about the customer.
 *
 * @param event the alias of the row of `store_events`
 */
export const eventMembers = (sql: Sql, event: Fragment): Fragment => sql`
  'type', ${event}.type,
  'timestamp', ${asText(sql, sql`${event}.at`)},
  'data', jsonb_build_object('order_id', ${event}.order_id, 'retailer_id', ${event}.retailer_id,
    'sequence', ${event}.sequence, 'status', ${event}.status, 'payment_status', ${event}.payment_status,
    'driver_id', ${event}.driver_id) || coalesce((${timesOf(sql, event)}), '{}')
    || coalesce(${event}.details, '{}')`;

/**
 * Until when the order is promised, and its window in an event of an order that waits for its time. When a
 * driver arrives changes by the minute, so an event does not say it, but for the one of a changed plan.
 */
const timesOf = (sql: Sql, event: Fragment): Fragment => sql`
  select jsonb_build_object('deliver_by', ${asText(sql, promisedBy(sql, sql`o`))}, 'estimated_delivery',
    case when ${event}.status = 'pending_dispatch' and o.dispatch_from > ${event}.at then jsonb_build_object(
      'from', ${asText(sql, windowStart(sql))},
      'to', ${asText(sql, promisedBy(sql, sql`o`))}) end)
  from orders o where o.id = ${event}.order_id`;
