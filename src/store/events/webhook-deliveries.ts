import type { Fragment, Sql } from 'postgres';
import { WEBHOOK_DISABLE_SECONDS } from '../../limits.ts';
import type { Db } from '../db.ts';
import { isOwed, jobsAsJson, OUTBOX_FIRST_LEASE_SECONDS } from '../fragments.ts';
import { type OutboxRow, parseOutboxRows } from '../outbox-rows.ts';
import { releaseNext } from './parked-parts.ts';
import { seesStore, webhookOf } from './webhook-parts.ts';

/** Time of failures after which an endpoint is left alone for a quarter of that time. */
const WEBHOOK_HOLD_AFTER_SECONDS = 60;
/** Longest time for which a failing endpoint is left alone. */
const WEBHOOK_HOLD_MAX_SECONDS = 900;

/** A delivery that is to be made. */
export type OwedDelivery = {
  readonly id: string;
  readonly outboxId: number;
  readonly payload: string;
  readonly attempts: number;
  /** Times its outbox row was relayed again. */
  readonly relays: number;
  /** Seconds until its outbox row is due; 0 if it is due. */
  readonly dueInSeconds: number;
  /** Seconds since its first attempt was due. */
  readonly ageSeconds: number;
  /** Whether it was parked for WEBHOOK_PARKED_SECONDS, and nothing released it. */
  readonly isLeftOver: boolean;
  /** Null if its webhook was removed. */
  readonly endpoint: DeliveryEndpoint | null;
};

type DeliveryEndpoint = {
  /** The webhook. */
  readonly id: string;
  /** The store, or the organization, whose webhook it is. */
  readonly ownerId: string;
  readonly url: string;
  readonly secret: string;
  /** The secret before, for as long as webhooks are signed by it too. */
  readonly oldSecret: string | null;
  /** Seconds for which it is left alone; Infinity while it is disabled, which may be a pause by hand. */
  readonly heldSeconds: number;
  /** Whether its owner still sees the store: an organization sees its own active ones alone. */
  readonly seesStore: boolean;
};

/** The delivery of an outbox row; null if it was delivered or given up before. */
export async function openDelivery({ sql }: Db, outboxId: number): Promise<OwedDelivery | null> {
  const [row] = await sql`
    select d.id, d.payload::text as payload, d.attempts, b.relays, w.id as webhook_id,
      coalesce(w.retailer_id, w.organization_id) as "ownerId", w.url, w.secret,
      b.parked_for is not null and b.run_at <= now() as "isLeftOver",
      case when w.old_secret_until > now() then w.old_secret end as "oldSecret",
      greatest(0, extract(epoch from b.run_at - now()))::float8 as "dueInSeconds",
      extract(epoch from now() - d.started_at)::float8 as "ageSeconds",
      case when w.disabled_at is not null then 'infinity'
        else greatest(0, coalesce(extract(epoch from w.retry_at - now()), 0)) end::float8 as "heldSeconds",
      ${seesStore(sql)} as "seesStore"
    from webhook_deliveries d join outbox b on b.id = d.outbox_id
    left join webhooks w on w.id = ${webhookOf(sql)}
    where d.outbox_id = ${outboxId} and d.status = 'pending'`;
  if (!row) return null;
  const { webhook_id: id, ownerId, url, secret, oldSecret, heldSeconds, seesStore: sees, ...delivery } = row;
  const endpoint = id === null ? null : { id, ownerId, url, secret, oldSecret, heldSeconds, seesStore: sees };
  return { ...(delivery as OwedDelivery), outboxId, endpoint };
}

/**
 * Records a delivery that was accepted, and that its endpoint does not fail any more.
 *
 * @param releases how many of the deliveries that are parked behind it may follow
 * @returns the jobs of those
 */
export async function recordDelivered(
  { sql }: Db,
  delivery: OwedDelivery,
  result: string,
  releases = 0,
): Promise<OutboxRow[]> {
  const [row] = await sql`
    with job as (
      update outbox set done_at = now() where id = ${delivery.outboxId} and ${isOwed(sql, sql`outbox`)} returning id
    ), recovered as (${recover(sql, delivery)}
    ), delivered as (
      update webhook_deliveries set status = 'delivered', attempts = attempts + 1, result = ${result}, tried_at = now()
      where id = ${delivery.id} and outbox_id = ${delivery.outboxId} and status = 'pending'
    ), jobs as (${releaseNext(sql, delivery.endpoint?.id ?? null, releases, sql`select id from job`)})
    select ${jobsAsJson(sql)} as outbox`;
  return parseOutboxRows(row?.outbox ?? []);
}

export type FailedAttempt = {
  readonly result: string;
  /** Seconds until the next attempt; null gives the delivery up. */
  readonly retryInSeconds: number | null;
  /**
   * What the failure says of the receiver. `refuses`: it works, and refuses only this delivery. `failing`: it
   * would fail for any delivery. `gone`: it wants no more deliveries.
   */
  readonly receiver: 'refuses' | 'failing' | 'gone';
  /** How many of the deliveries that are parked behind a receiver that works may follow. */
  readonly releases?: number;
};

/**
 * Records a failed attempt of a delivery. A failure of the endpoint (any but `refuses`) counts against it:
 * after WEBHOOK_HOLD_AFTER_SECONDS of failures it is left alone for a while, after WEBHOOK_DISABLE_SECONDS it
 * is disabled. `refuses` ends failures of before, but neither those of this minute nor a hold: a receiver may refuse
 * some and fail all others. Of two runs that attempt the same delivery at once the second one records nothing, so
 * that one job follows.
 *
 * @returns the job to relay again, if any, with the jobs of what is released, and whether this failure disabled
 *   the endpoint
 */
export async function recordFailedAttempt(
  { sql }: Db,
  delivery: OwedDelivery,
  { result, retryInSeconds, receiver, releases = 0 }: FailedAttempt,
): Promise<{ readonly outbox: readonly OutboxRow[]; readonly disabled: boolean }> {
  const gone = receiver === 'gone';
  const own = sql`select id from again union all select id from given_up`;
  const [row] = await sql`
    with tried as (
      update webhook_deliveries set attempts = attempts + 1, result = ${result}, tried_at = now(),
        status = case when ${retryInSeconds === null} then 'failed' else 'pending' end
      where id = ${delivery.id} and outbox_id = ${delivery.outboxId} and status = 'pending'
        and attempts = ${delivery.attempts}
      returning id
    ), failing as (
      update webhooks w set failing_since = coalesce(failing_since, now()),
        retry_at = case when failing_since < now() - make_interval(secs => ${WEBHOOK_HOLD_AFTER_SECONDS})
          then now() + least((now() - failing_since) / 4, make_interval(secs => ${WEBHOOK_HOLD_MAX_SECONDS})) end,
        disabled_at = case when ${gone} or failing_since <= now() - make_interval(secs => ${WEBHOOK_DISABLE_SECONDS})
          then now() end,
        disabled_because = case when ${gone} then 'gone'
          when failing_since <= now() - make_interval(secs => ${WEBHOOK_DISABLE_SECONDS}) then 'failing' end
      where ${isEndpoint(sql, delivery)} and disabled_at is null and ${receiver !== 'refuses'}
        and exists (select from tried)
      returning disabled_at
    ), recovered as (${recover(sql, delivery)} and ${receiver === 'refuses'} and coalesce(retry_at <= now(), true)
        and failing_since < now() - make_interval(secs => ${WEBHOOK_HOLD_AFTER_SECONDS})
    ), again as (${postpone(sql, delivery, retryInSeconds ?? 0)} and ${retryInSeconds !== null}
      and exists (select from tried)
      returning id, queue, order_id, retailer_id, run_at, relays
    ), given_up as (
      update outbox set done_at = now(), failure_code = ${result}
      where id = ${delivery.outboxId} and ${isOwed(sql, sql`outbox`)} and ${retryInSeconds === null}
        and exists (select from tried)
      returning id
    ), released as (${releaseNext(sql, delivery.endpoint?.id ?? null, releases, own)}
    ), jobs as (
      select * from again union all select * from released
    )
    select exists (select from failing where disabled_at is not null) as disabled, ${jobsAsJson(sql)} as outbox`;
  return { outbox: parseOutboxRows(row?.outbox ?? []), disabled: row?.disabled ?? false };
}

/**
 * Ends a delivery whose webhook was removed, does not see its store any more, or takes fewer than come.
 *
 * @param releases how many of the deliveries that are parked behind its webhook may follow
 * @returns the jobs of those
 */
export async function recordUndeliverable(
  { sql }: Db,
  delivery: OwedDelivery,
  why: string,
  releases = 0,
): Promise<OutboxRow[]> {
  const [row] = await sql`
    with job as (
      update outbox set done_at = now(), failure_code = ${why}
      where id = ${delivery.outboxId} and ${isOwed(sql, sql`outbox`)} returning id
    ), given_up as (
      update webhook_deliveries set status = 'failed', result = coalesce(result, ${why})
      where id = ${delivery.id} and outbox_id = ${delivery.outboxId} and status = 'pending'
    ), jobs as (${releaseNext(sql, delivery.endpoint?.id ?? null, releases, sql`select id from job`)})
    select ${jobsAsJson(sql)} as outbox`;
  return parseOutboxRows(row?.outbox ?? []);
}

/** Whether the webhook `w` is still the one to which the delivery was sent. */
const isEndpoint = (sql: Sql, { endpoint }: OwedDelivery): Fragment =>
  sql`w.id = ${endpoint?.id ?? null}::uuid and w.url = ${endpoint?.url ?? ''}`;

/** The update that ends the failures of an endpoint, which has answered, as the beginning of a CTE's body. */
const recover = (sql: Sql, delivery: OwedDelivery): Fragment => sql`
  update webhooks w set failing_since = null, retry_at = null
  where ${isEndpoint(sql, delivery)} and failing_since is not null`;

/**
 * Makes a delivery's outbox row due later. Counting a relay gives the next job an id of its own. Changes
 * nothing if the row was relayed since the delivery was opened: then it has another job already.
 */
const postpone = (sql: Sql, { outboxId, relays }: OwedDelivery, seconds: number) => sql`
  update outbox set relays = relays + 1, run_at = now() + make_interval(secs => ${seconds}),
    lease_until = now() + make_interval(secs => ${seconds + OUTBOX_FIRST_LEASE_SECONDS})
  where id = ${outboxId} and ${isOwed(sql, sql`outbox`)} and relays = ${relays}`;
