import type { Fragment, Sql } from 'postgres';

/** Events of an order that its store is told of, and by what name. */
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
/** What a store is told of an event's data; nothing about its customer. */
const TOLD_DETAILS = ['reason', 'by', 'code'] as const;

/** The parts of a statement that changes an order which tell its store. */
export type ToldStore = {
  /** `union all select …`: the job, for stores with an endpoint; reads `changed`. */
  readonly job: Fragment;
  /** `, delivery as (…)`: what the job delivers; reads `changed`, `event` (its `at`) and `jobs`. */
  readonly delivery: Fragment;
};

/** Null for events that stores are not told of; then the statement is as if there were no webhooks. */
export function tellStore(
  sql: Sql,
  event: { readonly type: string; readonly data?: Readonly<Record<string, unknown>> },
): ToldStore | null {
  const type = WEBHOOK_TYPES.get(event.type);
  if (type === undefined) return null;
  const details = Object.fromEntries(
    TOLD_DETAILS.flatMap((name) => (event.data && name in event.data ? [[name, event.data[name]]] : [])),
  );
  const rows = sql`
    select changed.id, changed.retailer_id, changed.sequence, changed.status, changed.payment_status,
      changed.driver_id, event.at from changed, event`;
  return {
    job: sql`
      union all select 'webhook', now() from changed join webhook_endpoints w using (retailer_id)
      where w.disabled_at is null`,
    delivery: sql`, delivery as (${insertDeliveries(sql, type, rows, details)})`,
  };
}

/**
 * Writes the deliveries of the `webhook` jobs among `jobs`.
 *
 * @param rows a query of id, retailer_id, sequence, status, payment_status, driver_id and at, one row an order
 */
export function insertDeliveries(
  sql: Sql,
  type: string,
  rows: Fragment,
  details: Readonly<Record<string, unknown>> = {},
): Fragment {
  return sql`
    insert into webhook_deliveries (outbox_id, retailer_id, order_id, type, sequence, payload)
    select jobs.id, o.retailer_id, o.id, ${type}::text, o.sequence, json_build_object(
      'type', ${type}::text,
      'timestamp', to_char(o.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'data', jsonb_build_object('order_id', o.id, 'retailer_id', o.retailer_id, 'sequence', o.sequence,
        'status', o.status, 'payment_status', o.payment_status, 'driver_id', o.driver_id)
        || ${sql.json(details as never)}::jsonb)
    from jobs join (${rows}) o on o.id = jobs.order_id where jobs.queue = 'webhook'`;
}

/** What became of a delivery so far. */
export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];
