import { WAITING_REASONS, type WaitingReason } from '../../domain/webhook.ts';
import type { Db } from '../db.ts';
import { isOwed, jobsAsJson } from '../fragments.ts';
import { type OutboxRow, parseOutboxRows } from '../outbox-rows.ts';
import { isParked, parkedUntil, receivers, release, waitingBecause, waitingSince } from './parked-parts.ts';
import type { OwedDelivery } from './webhook-deliveries.ts';

/** Time after which a disabled webhook's parked deliveries are given up: a pause by hand loses none. */
const WEBHOOK_ENDED_SECONDS = 900;
/** Most parked deliveries that a scrape counts, or a list for one webhook; 10 ms. */
const PARKED_COUNTED = 50_000;

type OpenDelivery = Pick<OwedDelivery, 'outboxId' | 'relays'> & { readonly endpoint: { readonly id: string } | null };

/**
 * Parks a delivery behind its webhook, without counting an attempt. Changes nothing if the row was relayed
 * since the delivery was opened: then it has another job already.
 */
export async function parkDelivery({ sql }: Db, { outboxId, relays, endpoint }: OpenDelivery): Promise<void> {
  await sql`
    update outbox set parked_for = ${endpoint?.id ?? null}, parked_at = run_at, relays = relays + 1,
      run_at = ${parkedUntil(sql)}, lease_until = ${parkedUntil(sql)}
    where id = ${outboxId} and ${isOwed(sql, sql`outbox`)} and relays = ${relays}`;
}

/**
 * Releases the first parked delivery of each webhook that may be tried, of at most `most`, those that have
 * waited longest first. It tries a receiver whose pause is over, and goes on where the process that would have
 * released the next one died.
 */
export async function releaseParked({ sql }: Db, most: number): Promise<OutboxRow[]> {
  const [row] = await sql`
    with recursive ${receivers(sql)}, heads as materialized (
      select h.id from receivers r
      join webhooks w on w.id = r.id and w.disabled_at is null and (w.retry_at is null or w.retry_at <= now())
      cross join lateral (
        select p.id, p.parked_at from outbox p where p.parked_for = r.id and ${isParked(sql)}
        order by p.parked_at, p.id limit 1
      ) h
      order by h.parked_at limit ${most}
    ), jobs as (${release(
      sql,
      sql`
        select p.id from outbox p where p.id = any(array(select id from heads)) and p.parked_for is not null
        for update skip locked`,
    )})
    select ${jobsAsJson(sql)} as outbox`;
  return parseOutboxRows(row?.outbox ?? []);
}

/**
 * Gives up parked deliveries whose webhook was removed, or disabled WEBHOOK_ENDED_SECONDS ago, at most `most`;
 * returns their number.
 */
export async function endParked({ sql }: Db, most: number): Promise<number> {
  const result = await sql`
    with recursive ${receivers(sql)}, ended as (
      update outbox set done_at = now(), failure_code = 'no_endpoint'
      where id = any(array(
        select e.id from receivers r left join webhooks w on w.id = r.id
        cross join lateral (
          select p.id from outbox p where p.parked_for = r.id and p.done_at is null
          order by p.parked_at limit ${most} for update skip locked
        ) e
        where r.id is not null
          and (w.id is null or w.disabled_at < now() - make_interval(secs => ${WEBHOOK_ENDED_SECONDS}))
        limit ${most}))
      returning id
    )
    update webhook_deliveries set status = 'failed', result = coalesce(result, 'no_endpoint')
    where outbox_id = any(array(select id from ended)) and status = 'pending'`;
  return result.count;
}

/** A webhook behind which deliveries wait. */
export type WaitingReceiver = {
  readonly webhookId: string;
  /** The store, or the organization, whose webhook it is; null for one that was removed. */
  readonly ownerId: string | null;
  readonly because: WaitingReason;
  /** At most PARKED_COUNTED. */
  readonly waiting: number;
  /** Since when the first of them is due. */
  readonly since: Date;
  /** When a failing one is tried next. */
  readonly nextTryAt: Date | null;
};

/** The webhooks behind which deliveries wait, those first that have waited longest; at most `limit`. */
export async function readWaitingReceivers({ lists: sql }: Db, limit: number): Promise<WaitingReceiver[]> {
  return await sql<WaitingReceiver[]>`
    with recursive ${receivers(sql)}, first as materialized (
      select r.id, coalesce(w.retailer_id, w.organization_id) as owner_id, w.retry_at, ${waitingBecause(sql)} as because,
        ${waitingSince(sql)} as since
      from receivers r left join webhooks w on w.id = r.id where r.id is not null order by since, r.id limit ${limit}
    )
    select id as "webhookId", owner_id as "ownerId", because, since, retry_at as "nextTryAt", (select count(*) from (
      select from outbox p where p.parked_for = first.id and p.done_at is null limit ${PARKED_COUNTED}) p)::int as waiting
    from first order by since, id`;
}

/** What waits behind receivers, by the reason. */
export type WaitingWebhooks = {
  readonly because: WaitingReason;
  readonly receivers: number;
  readonly oldestSeconds: number;
};

/** What waits behind receivers, and how many deliveries that are, at most PARKED_COUNTED. */
export async function readWaitingWebhooks({
  sql,
}: Db): Promise<{ readonly deliveries: number; readonly reasons: WaitingWebhooks[] }> {
  const rows = await sql`
    with recursive ${receivers(sql)}, waiting as (
      select ${waitingBecause(sql)} as because, ${waitingSince(sql)} as since
      from receivers r left join webhooks w on w.id = r.id where r.id is not null
    )
    select reason.because, count(since)::int as receivers,
      coalesce(extract(epoch from now() - min(since)), 0)::float8 as oldest,
      (select count(*) from (
        select from outbox where parked_for is not null and done_at is null limit ${PARKED_COUNTED}) p)::int as deliveries
    from unnest(${[...WAITING_REASONS]}::text[]) as reason(because) left join waiting using (because)
    group by 1 order by 1`;
  const reasons = rows.map(({ because, receivers, oldest }) => ({
    because,
    receivers,
    oldestSeconds: Math.max(0, oldest),
  }));
  return { deliveries: rows[0]?.deliveries ?? 0, reasons };
}
