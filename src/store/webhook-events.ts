import type { Fragment, Sql } from 'postgres';

/** The events of an order that go to its store, and their names there. */
const WEBHOOK_TYPES: ReadonlyMap<string, string> = new Map([
  ['driver_assigned', 'order.assigned'],
  ['picked_up', 'order.picked_up'],
  ['delivered', 'order.delivered'],
  ['cancelled', 'order.cancelled'],
  ['expired', 'order.expired'],
  ['undeliverable', 'order.undeliverable'],
  ['returned', 'order.returned'],
  ['payment_failed', 'order.payment_failed'],
  ['refunded', 'order.refunded'],
]);
/** The parts of an event's data that go to its store. None is about the customer. */
const WEBHOOK_DETAILS = ['reason', 'by', 'code'] as const;

/** The parts of an order's change that make a webhook delivery. */
export type WebhookParts = {
  /** The job, for a store with an enabled endpoint, in the form of `insertJobs`: `union all select …`. */
  readonly job: Fragment;
  /** The delivery of that job: `, delivery as (…)`; reads `owed`, and of `changed` its `at`. */
  readonly delivery: Fragment;
};

/** The webhook's parts of a statement that writes this event; null if the event does not go to stores. */
export function webhookParts(
  sql: Sql,
  event: { readonly type: string; readonly data?: Readonly<Record<string, unknown>> },
): WebhookParts | null {
  const type = WEBHOOK_TYPES.get(event.type);
  if (type === undefined) return null;
  const details = Object.fromEntries(
    WEBHOOK_DETAILS.flatMap((name) => (event.data && name in event.data ? [[name, event.data[name]]] : [])),
  );
  const rows = sql`
    select outbox_id, id, retailer_id, sequence, status, payment_status, driver_id, at
    from owed where queue = 'webhook'`;
  return {
    job: sql`
      union all select 'webhook', now() from webhook_endpoints w
      where w.retailer_id = changed.retailer_id and w.disabled_at is null`,
    delivery: sql`, delivery as (${insertDeliveries(sql, type, rows, details)})`,
  };
}

/**
 * Inserts the deliveries of `webhook` jobs.
 *
 * @param rows a query of outbox_id, id, retailer_id, sequence, status, payment_status, driver_id and at, one
 *   row a job
 */
export function insertDeliveries(
  sql: Sql,
  type: string,
  rows: Fragment,
  details: Readonly<Record<string, unknown>> = {},
): Fragment {
  return sql`
    insert into webhook_deliveries (outbox_id, retailer_id, order_id, type, sequence, payload)
    select o.outbox_id, o.retailer_id, o.id, ${type}::text, o.sequence, json_build_object(
      'type', ${type}::text,
      'timestamp', to_char(o.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'data', jsonb_build_object('order_id', o.id, 'retailer_id', o.retailer_id, 'sequence', o.sequence,
        'status', o.status, 'payment_status', o.payment_status, 'driver_id', o.driver_id)
        || ${sql.json(details as never)}::jsonb)
    from (${rows}) o`;
}
