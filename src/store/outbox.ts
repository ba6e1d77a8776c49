import { below, JOB_ATTEMPTS, JOB_BACKOFF_MS, STRIPE_TIMEOUT_MS } from '../limits.ts';
import type { Db } from './db.ts';
import { isOwed, isOwedTo, OUTBOX_FIRST_LEASE_SECONDS, rowsOf } from './fragments.ts';
import { type OutboxRow, parseOutboxRows, QUEUES, type QueueName } from './outbox-rows.ts';

/** Time for which the sweeper leaves a row that it took itself, which has the same way to go. */
const OUTBOX_HAND_OVER_SECONDS = OUTBOX_FIRST_LEASE_SECONDS;
/** Time for which the sweeper leaves a row that was handed over. Above all attempts of a job together. */
export const OUTBOX_LEASE_SECONDS = 15 * 60;

below(
  {
    'JOB_ATTEMPTS with their JOB_BACKOFF_MS and STRIPE_TIMEOUT_MS':
      JOB_BACKOFF_MS * (2 ** (JOB_ATTEMPTS - 1) - 1) + JOB_ATTEMPTS * STRIPE_TIMEOUT_MS,
  },
  { 'OUTBOX_LEASE_SECONDS in ms': OUTBOX_LEASE_SECONDS * 1_000 },
);

/** A row as it was handed to a queue. */
export type HandedOver = Pick<OutboxRow, 'id' | 'relays' | 'orderId'>;

const HANDED_OVER = rowsOf<HandedOver>([
  ['id', 'int8', ({ id }) => id],
  ['relays', 'int4', ({ relays }) => relays],
  ['order_id', 'uuid', ({ orderId }) => orderId],
]);

/**
 * Marks rows as handed to the queue: the sweeper leaves them alone until their lease ends. Done rows are left
 * out, and so are rows whose lease has ended, as the queue may have lost them since, and rows that were
 * relayed again: the queue may not have their next job, as where the process that made it was killed. So are those of
 * other orders that have their ids after a failover of Postgres (`isOwedTo`). The time is that of the look at each row,
 * since a lease can end while this statement waits for the row. Rows are locked in the order of their ids, as by the
 * statements that end the jobs of a queue. Those that record what became of charges also lock refunds (`refundIsDue`),
 * in any order: where Postgres ends one for a deadlock, a charge is recorded by its next try, and a row that was not
 * marked is relayed again.
 */
export async function extendLease({ sql }: Db, rows: readonly HandedOver[]): Promise<void> {
  await sql`
    update outbox o set lease_until = greatest(o.run_at, now()) + make_interval(secs => ${OUTBOX_LEASE_SECONDS})
    from (${HANDED_OVER(sql, rows)} order by id) h
    where o.id = h.id and o.relays = h.relays and (o.order_id = h.order_id) is true
      and ${isOwed(sql, sql`o`)} and o.lease_until > clock_timestamp()`;
}

/** The last row at which a part looked. */
export type LastLease = { readonly id: number; readonly until: string };

/** What a part did. */
export type EndedLeases = {
  /** Leases that it ended. */
  readonly rows: number;
  /** Where the next part begins; null after the last one. */
  readonly last: LastLease | null;
};

/**
 * Ends the leases of a part of the owed rows, so that the sweeper relays them again. Rows whose lease ends first come
 * first. No queue had what is parked, which the same index has, so a part is bounded by what it looks at. Rows are
 * locked in the order of their ids, as by `extendLease`.
 *
 * @param after the last row of the part before; null for the first part
 */
export async function endLeases({ sql }: Db, limit: number, after: LastLease | null = null): Promise<EndedLeases> {
  const [row] = await sql`
    with part as materialized (
      select id, lease_until, parked_for is null as was_queued from outbox
      where done_at is null and lease_until > now()
        ${after ? sql`and (lease_until, id) > (${after.until}::text::timestamptz, ${after.id}::int8)` : sql``}
      order by lease_until, id limit ${limit}
    ), locked as materialized (
      select id from outbox where id = any(array(select id from part where was_queued)) order by id for no key update
    ), ended as (
      update outbox b set lease_until = now()
      where b.id = any(array(select id from locked)) and ${isOwed(sql, sql`b`)} and b.parked_for is null
      returning b.id
    )
    select (select count(*) from ended)::int as rows, (select count(*) from part)::int as looked_at,
      (select json_build_object('id', id, 'until', lease_until::text) from part
       order by lease_until desc, id desc limit 1) as last`;
  return { rows: row?.rows ?? 0, last: row?.looked_at === limit ? row?.last : null };
}

/**
 * Leaves jobs to the sweepers at once, for a process that relays none: ends their first lease, and sends the
 * notice of it. If it fails, the sweepers take them when that lease has ended.
 */
export async function leaveToSweepers({ sql, processId }: Db, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  await sql`
    with left_over as (
      update outbox b set lease_until = now()
      where b.id = any(${[...ids]}::int8[]) and ${isOwed(sql, sql`b`)} returning b.id
    )
    select pg_notify('sameday', ${processId} || ':jobs:' || count(*)) from left_over having count(*) > 0`;
}

/**
 * Takes up to `limit` owed rows of these queues whose lease has ended, for this process to relay again. Their
 * new lease is short, so that a process that dies before it hands them over does not hold them up.
 */
export async function takeExpired(
  { sql }: Db,
  limit: number,
  queues: readonly QueueName[] = QUEUES,
): Promise<OutboxRow[]> {
  const rows = await sql`
    update outbox set relays = relays + 1,
      lease_until = greatest(run_at, now()) + make_interval(secs => ${OUTBOX_HAND_OVER_SECONDS})
    where id in (
      select id from outbox where done_at is null and lease_until < now() and queue = any(${[...queues]}::text[])
      order by lease_until limit ${limit} for update skip locked
    )
    returning id, queue, order_id, retailer_id, run_at, relays`;
  return parseOutboxRows(rows as never);
}

/** A job as a queue has it. */
export type QueuedJob = { readonly outboxId: number; readonly orderId: string };

const QUEUED = rowsOf<QueuedJob>([
  ['outbox_id', 'int8', ({ outboxId }) => outboxId],
  ['order_id', 'uuid', ({ orderId }) => orderId],
]);

/** Marks rows as done, for jobs of these queues that found nothing to do; returns them by their ids as text. */
export async function finishJobs(
  { sql }: Db,
  jobs: readonly QueuedJob[],
  ...queues: QueueName[]
): Promise<Map<string, true>> {
  await sql`
    update outbox b set done_at = now() from (${QUEUED(sql, jobs)} order by outbox_id) j
    where b.id = j.outbox_id and ${isOwedTo(sql, sql`b`, sql`j.order_id`, ...queues)}`;
  return new Map(jobs.map(({ outboxId }) => [String(outboxId), true]));
}

/**
 * Leaves the rows of a queue's jobs to the first sweep after a pause. They get the next number, so that a mark of their
 * hand-over, which may come later, does not make the pause a lease.
 */
export async function putBack(
  { sql }: Db,
  jobs: readonly QueuedJob[],
  queue: QueueName,
  pauseMs: number,
): Promise<void> {
  await sql`
    update outbox b set relays = relays + 1, lease_until = now() + make_interval(secs => ${pauseMs / 1_000})
    from (${QUEUED(sql, jobs)} order by outbox_id) j
    where b.id = j.outbox_id and ${isOwedTo(sql, sql`b`, sql`j.order_id`, queue)}`;
}

/**
 * Deletes at most `limit` rows that were done more than `days` days ago; returns their number. A refund that was
 * given up stays while the order is paid: nothing else leads the operator to it.
 */
export async function pruneOutbox({ sql }: Db, days: number, limit: number): Promise<number> {
  const result = await sql`
    delete from outbox where id = any(array(
      select b.id from outbox b
      where b.done_at < now() - make_interval(days => ${days})
        and not (b.queue = 'refund' and b.failure_code is not null and b.settled_at is null
          and exists (select from orders o where o.id = b.order_id and o.payment_status = 'paid'))
      order by b.done_at limit ${limit}))`;
  return result.count;
}

/** That Redis has kept the count under a key at no less than this. */
export type RedisMark = { readonly key: string; readonly count: number };

/** The newest mark of any process, or of one that ended. */
export async function readRedisMark({ sql }: Db): Promise<RedisMark> {
  const [row] = await sql`select key, count from redis_mark`;
  return { key: row?.key, count: Number(row?.count) };
}

/** Notes a mark in the place of `compared`; false, without effect, if another process was faster. */
export async function noteRedisMark({ sql }: Db, compared: RedisMark, { key, count }: RedisMark): Promise<boolean> {
  const result = await sql`
    update redis_mark set key = ${key}, count = ${count}::int8
    where key = ${compared.key} and count = ${compared.count}::int8`;
  return result.count > 0;
}

export type Backlog = {
  readonly queue: QueueName;
  /** Rows that are due and not done. */
  readonly owed: number;
  readonly oldestSeconds: number;
  /** Rows that were given up and not yet pruned. */
  readonly failed: number;
};

/**
 * The owed and failed jobs of each queue, read from Postgres alone, so also while the queues are away. Reads
 * the rows that are due or were given up, and none that are done or due much later.
 */
export async function readBacklog({ sql }: Db): Promise<Backlog[]> {
  const rows = await sql`
    select queue, coalesce(owed, 0) as owed, coalesce(failed, 0) as failed,
      coalesce(extract(epoch from now() - oldest_run_at), 0)::float8 as oldest
    from unnest(${[...QUEUES]}::text[]) as q(queue) left join count_jobs(${OUTBOX_LEASE_SECONDS}::int) using (queue)
    order by queue`;
  return rows.map(({ queue, owed, oldest, failed }) => ({ queue, owed, oldestSeconds: Math.max(0, oldest), failed }));
}
