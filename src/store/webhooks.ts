import type { Fragment, Sql } from 'postgres';
import { WEBHOOK_DISABLE_SECONDS, WEBHOOK_HOLD_AFTER_SECONDS, WEBHOOK_HOLD_MAX_SECONDS } from '../limits.ts';
import { type OutboxRow, parseOutboxRows } from './outbox.ts';

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

/** A delivery as its job finds it. */
export type OwedDelivery = {
  readonly id: string;
  readonly outboxId: number;
  readonly retailerId: string;
  readonly payload: string;
  readonly attempts: number;
  /** Which relay of its row is the last one. */
  readonly relays: number;
  /** Seconds until the time its row is for; 0 when that has come. */
  readonly dueInSeconds: number;
  /** Seconds since its first try was due. */
  readonly ageSeconds: number;
  /** Null when the store has no endpoint any more, or it is disabled. */
  readonly endpoint: { readonly url: string; readonly secret: string; readonly heldSeconds: number } | null;
};

/** Reads what a job has to deliver; null when it was delivered or given up before. */
export async function openDelivery(sql: Sql, outboxId: number): Promise<OwedDelivery | null> {
  const [row] = await sql`
    select d.id, d.retailer_id, d.payload::text as payload, d.attempts, b.relays, w.url, w.secret,
      greatest(0, extract(epoch from b.run_at - now()))::float8 as due_in,
      extract(epoch from now() - d.started_at)::float8 as age,
      greatest(0, coalesce(extract(epoch from w.retry_at - now()), 0))::float8 as held
    from webhook_deliveries d join outbox b on b.id = d.outbox_id
    left join webhook_endpoints w on w.retailer_id = d.retailer_id and w.disabled_at is null
    where d.outbox_id = ${outboxId} and d.status = 'pending'`;
  if (!row) return null;
  return {
    id: row.id,
    outboxId,
    retailerId: row.retailer_id,
    payload: row.payload,
    attempts: row.attempts,
    relays: row.relays,
    dueInSeconds: row.due_in,
    ageSeconds: row.age,
    endpoint: row.url === null ? null : { url: row.url, secret: row.secret, heldSeconds: row.held },
  };
}

/** Records that a store took a delivery; the endpoint that took it is well again. */
export async function recordDelivered(sql: Sql, delivery: OwedDelivery, result: string): Promise<void> {
  await sql`
    with job as (
      update outbox set done_at = now() where id = ${delivery.outboxId} and done_at is null
    ), well as (
      update webhook_endpoints set failing_since = null, retry_at = null
      where retailer_id = ${delivery.retailerId} and url = ${delivery.endpoint?.url ?? ''} and failing_since is not null
    )
    update webhook_deliveries set status = 'delivered', attempts = attempts + 1, result = ${result}, tried_at = now()
    where id = ${delivery.id} and outbox_id = ${delivery.outboxId} and status = 'pending'`;
}

export type FailedTry = {
  readonly result: string;
  /** When it is tried again; null gives it up. */
  readonly retryInSeconds: number | null;
  /**
   * What the failure says of the receiver: `refuses`, it works and wants just this delivery not; `ill`, it would not take
   * another one either; `gone`, it wants no more.
   */
  readonly receiver: 'refuses' | 'ill' | 'gone';
};

/**
 * Records a failed try: with the delivery, and unless the receiver only refuses this one with the endpoint, which is left
 * alone for a while when it has failed for long, and disabled when that was a day. Of two runs that tried the same
 * delivery at the same time the second one records nothing, so that they leave one job and not two.
 *
 * @returns the job to relay again, if any, and whether the endpoint was disabled by this failure
 */
export async function recordFailedTry(
  sql: Sql,
  delivery: OwedDelivery,
  { result, retryInSeconds, receiver }: FailedTry,
): Promise<{ readonly outbox: readonly OutboxRow[]; readonly disabled: boolean }> {
  const gone = receiver === 'gone';
  const [row] = await sql`
    with tried as (
      update webhook_deliveries set attempts = attempts + 1, result = ${result}, tried_at = now(),
        status = case when ${retryInSeconds === null} then 'failed' else 'pending' end
      where id = ${delivery.id} and outbox_id = ${delivery.outboxId} and status = 'pending'
        and attempts = ${delivery.attempts}
      returning id
    ), failing as (
      update webhook_endpoints set failing_since = coalesce(failing_since, now()),
        retry_at = case when failing_since < now() - make_interval(secs => ${WEBHOOK_HOLD_AFTER_SECONDS})
          then now() + least((now() - failing_since) / 4, make_interval(secs => ${WEBHOOK_HOLD_MAX_SECONDS})) end,
        disabled_at = case when ${gone} or failing_since <= now() - make_interval(secs => ${WEBHOOK_DISABLE_SECONDS})
          then now() end,
        disabled_because = case when ${gone} then 'gone'
          when failing_since <= now() - make_interval(secs => ${WEBHOOK_DISABLE_SECONDS}) then 'failing' end
      where retailer_id = ${delivery.retailerId} and url = ${delivery.endpoint?.url ?? ''} and disabled_at is null
        and ${receiver !== 'refuses'} and exists (select from tried)
      returning disabled_at
    ), jobs as (${putOff(sql, delivery, retryInSeconds ?? 0)} and ${retryInSeconds !== null}
      and exists (select from tried)
      returning id, queue, order_id, retailer_id, run_at, relays
    ), given_up as (
      update outbox set done_at = now(), failure_code = ${result}
      where id = ${delivery.outboxId} and done_at is null and ${retryInSeconds === null}
        and exists (select from tried)
    )
    select exists (select from failing where disabled_at is not null) as disabled, ${asJson(sql)} as outbox`;
  return { outbox: parseOutboxRows(row?.outbox ?? []), disabled: row?.disabled ?? false };
}

/** Ends a delivery that can't be tried: its store has no working endpoint any more. */
export async function recordUndeliverable(sql: Sql, delivery: OwedDelivery, why: string): Promise<void> {
  await sql`
    with job as (
      update outbox set done_at = now(), failure_code = ${why} where id = ${delivery.outboxId} and done_at is null
    )
    update webhook_deliveries set status = 'failed', result = coalesce(result, ${why})
    where id = ${delivery.id} and outbox_id = ${delivery.outboxId} and status = 'pending'`;
}

/** Lets a delivery wait without counting a try; the job to relay again, none where another run was quicker. */
export async function putOffDelivery(sql: Sql, delivery: OwedDelivery, seconds: number): Promise<OutboxRow[]> {
  const [row] = await sql`
    with jobs as (${putOff(sql, delivery, seconds)} returning id, queue, order_id, retailer_id, run_at, relays)
    select ${asJson(sql)} as outbox`;
  return parseOutboxRows(row?.outbox ?? []);
}

/**
 * One more relay of the same row, so a job id of its own; the sweeper takes it when the queue loses it. Not when the row
 * was relayed since it was opened: then there is a job for it already.
 */
const putOff = (sql: Sql, { outboxId, relays }: OwedDelivery, seconds: number) => sql`
  update outbox set relays = relays + 1, run_at = now() + make_interval(secs => ${seconds}),
    lease_until = now() + make_interval(secs => ${seconds + 30})
  where id = ${outboxId} and done_at is null and relays = ${relays}`;

const asJson = (sql: Sql) => sql`
  (select coalesce(json_agg(json_build_object('id', id, 'queue', queue, 'order_id', order_id,
     'retailer_id', retailer_id, 'run_at', run_at, 'relays', relays)), '[]') from jobs)`;
