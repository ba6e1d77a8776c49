import type { Fragment, Sql } from 'postgres';
import { firstLease } from '../fragments.ts';

/** Time after which a parked delivery comes up by itself. Without a place it is given up, so a backlog is bounded. */
const WEBHOOK_PARKED_SECONDS = 86_400;

/*
 * Deliveries that wait behind their receiver. Their outbox rows are parked: no queue has them, and no sweep
 * touches them. The row of the webhook says when a failing receiver is tried next; an accepted delivery
 * releases the next ones (migration 0032).
 */

/** Until when a job that is parked now comes up by itself, where nothing has released it. */
export const parkedUntil = (sql: Sql): Fragment => sql`now() + make_interval(secs => ${WEBHOOK_PARKED_SECONDS})`;

/** Whether the job `p`, which has a webhook in `parked_for`, is parked. One that came up by itself is no more. */
export const isParked = (sql: Sql): Fragment => sql`p.done_at is null and p.run_at > now()`;

/**
 * Whether deliveries are parked behind a webhook, by the newest alone: before it there may be thousands that came up by
 * themselves. Where an older one is still parked all the same, what comes next is sent before it.
 */
export const isParkedFor = (sql: Sql, webhookId: Fragment): Fragment => sql`
  coalesce((select ${isParked(sql)} from outbox p where p.parked_for = ${webhookId} and p.done_at is null
            order by p.parked_at desc, p.id desc limit 1), false)`;

/** Every webhook behind which something is parked, once: a look at the index for each. Needs `with recursive`. */
export const receivers = (sql: Sql): Fragment => sql`
  receivers as (
    (select p.parked_for as id from outbox p where p.parked_for is not null and p.done_at is null
     order by p.parked_for limit 1)
    union all
    select (select p.parked_for from outbox p where p.parked_for > r.id and p.done_at is null
            order by p.parked_for limit 1)
    from receivers r where r.id is not null
  )`;

/** The update that makes jobs due, as a CTE's body. Counting a relay gives each a job of its own. */
export const release = (sql: Sql, ids: Fragment): Fragment => sql`
  update outbox set parked_for = null, parked_at = null, relays = relays + 1, run_at = now(),
    lease_until = now() + ${firstLease(sql)}
  where id = any(array(${ids}))
  returning id, queue, order_id, retailer_id, run_at, relays`;

/** A query of the ids of a webhook's first parked jobs, at most so many, which locks them. */
export const firstParked = (sql: Sql, webhookId: string | null, most: number, own?: Fragment): Fragment => sql`
  select p.id from outbox p where p.parked_for = ${webhookId}::uuid and ${isParked(sql)}
    ${own ? sql`and (select count(*) from (${own}) own) >= 0` : sql``}
  order by p.parked_at, p.id limit ${most} for update skip locked`;

/**
 * The body of a CTE that releases them.
 *
 * @param own reads the statement's change of its own job, which so comes first: a row that was released since the
 *   statement began is locked before it is found to be no longer parked, and two statements of one webhook would
 *   each wait for the job of the other
 */
export const releaseNext = (sql: Sql, webhookId: string | null, most: number, own: Fragment): Fragment =>
  release(sql, firstParked(sql, webhookId, most, own));

/** When the delivery of the job `b` is tried next, as far as is known. */
export const nextTry = (sql: Sql): Fragment => sql`
  case when b.parked_for is null then b.run_at
    else greatest(b.parked_at, now(), (select retry_at from webhooks where id = b.parked_for)) end`;

/** Why deliveries wait behind the webhook `w`, which is null where it was removed. */
export const waitingBecause = (sql: Sql): Fragment => sql`
  case when w.id is null or w.disabled_at is not null or w.failing_since is not null then 'failing' else 'slow' end`;

/** Since when the first delivery that is parked behind the receiver `r` is due. */
export const waitingSince = (sql: Sql): Fragment =>
  sql`(select min(p.parked_at) from outbox p where p.parked_for = r.id and p.done_at is null)`;
