import type { Sql } from 'postgres';
import {
  OUTBOX_FIRST_LEASE_SECONDS,
  WEBHOOK_DISABLE_SECONDS,
  WEBHOOK_HOLD_AFTER_SECONDS,
  WEBHOOK_HOLD_MAX_SECONDS,
} from '../limits.ts';
import type { Db } from './db.ts';
import { jobsAsJson } from './fragments.ts';
import { type OutboxRow, parseOutboxRows } from './outbox-rows.ts';

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
export async function openDelivery({ sql }: Db, outboxId: number): Promise<OwedDelivery | null> {
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
export async function recordDelivered({ sql }: Db, delivery: OwedDelivery, result: string): Promise<void> {
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
  { sql }: Db,
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
    select exists (select from failing where disabled_at is not null) as disabled, ${jobsAsJson(sql)} as outbox`;
  return { outbox: parseOutboxRows(row?.outbox ?? []), disabled: row?.disabled ?? false };
}

/** Ends a delivery that can't be tried: its store has no working endpoint any more. */
export async function recordUndeliverable({ sql }: Db, delivery: OwedDelivery, why: string): Promise<void> {
  await sql`
    with job as (
      update outbox set done_at = now(), failure_code = ${why} where id = ${delivery.outboxId} and done_at is null
    )
    update webhook_deliveries set status = 'failed', result = coalesce(result, ${why})
    where id = ${delivery.id} and outbox_id = ${delivery.outboxId} and status = 'pending'`;
}

/** Lets a delivery wait without counting a try; the job to relay again, none where another run was quicker. */
export async function putOffDelivery({ sql }: Db, delivery: OwedDelivery, seconds: number): Promise<OutboxRow[]> {
  const [row] = await sql`
    with jobs as (${putOff(sql, delivery, seconds)} returning id, queue, order_id, retailer_id, run_at, relays)
    select ${jobsAsJson(sql)} as outbox`;
  return parseOutboxRows(row?.outbox ?? []);
}

/**
 * One more relay of the same row, so a job id of its own; the sweeper takes it when the queue loses it. Not when the row
 * was relayed since it was opened: then there is a job for it already.
 */
const putOff = (sql: Sql, { outboxId, relays }: OwedDelivery, seconds: number) => sql`
  update outbox set relays = relays + 1, run_at = now() + make_interval(secs => ${seconds}),
    lease_until = now() + make_interval(secs => ${seconds + OUTBOX_FIRST_LEASE_SECONDS})
  where id = ${outboxId} and done_at is null and relays = ${relays}`;
