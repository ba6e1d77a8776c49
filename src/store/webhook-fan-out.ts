import type { Fragment, Sql } from 'postgres';
import type { StoreEventType } from '../domain/store-event.ts';
import { firstLease } from './fragments.ts';
import { eventMembers } from './webhook-events.ts';

/**
 * The types that the endpoint of a store gets. The others follow from what it is told or has done itself, and
 * would double the webhooks of an order; `GET /events` has them all.
 */
const ENDPOINT_TYPES = [
  'order.assigned',
  'order.released',
  'order.payment_failed',
  'order.picked_up',
  'order.delivered',
  'order.undeliverable',
  'order.returned',
  'order.cancelled',
  'order.expired',
  'order.refunded',
] as const satisfies readonly StoreEventType[];

/**
 * The CTEs that make the webhook deliveries of the events in `numbered`, for stores with an enabled endpoint:
 * `owed`, the deliveries with the `outbox_id` of their jobs; `jobs`, the rows of the outbox as written; and
 * `deliveries`.
 *
 * An event of the sandbox's own tidying is told to nobody. One that has its delivery came from the version
 * before, which makes deliveries with the order's change.
 */
export const fanOut = (sql: Sql): Fragment => sql`
  owed as materialized (
    select nextval('outbox_id_seq') as outbox_id, e.*
    from numbered e join webhook_endpoints w on w.retailer_id = e.retailer_id and w.disabled_at is null
    where e.type = any(${[...ENDPOINT_TYPES]}::text[]) and coalesce(e.details ->> 'by', '') <> 'sandbox'
      and not has_delivery(e.order_id, e.sequence, e.type)
    order by e.number
  ), jobs as (
    insert into outbox (id, queue, order_id, retailer_id, lease_until) overriding system value
    select outbox_id, 'webhook', order_id, retailer_id, now() + ${firstLease(sql)} from owed
    returning id, queue, order_id, retailer_id, run_at, relays
  ), deliveries as (
    insert into webhook_deliveries (outbox_id, retailer_id, order_id, type, sequence, payload)
    select e.outbox_id, e.retailer_id, e.order_id, e.type, e.sequence, json_build_object(${eventMembers(sql, sql`e`)})
    from owed e
  )`;
