import type { Sql } from 'postgres';
import { OUTBOX_LEASE_SECONDS } from '../limits.ts';

export const QUEUES = ['charge', 'sms', 'redispatch'] as const;
export type QueueName = (typeof QUEUES)[number];

/** A job owed to an order. */
export type OutboxRow = {
  readonly id: number;
  readonly queue: QueueName;
  readonly orderId: string;
  readonly retailerId: string;
  readonly runAt: Date;
};

/** Outbox rows as they come out of a statement's `json_agg`. */
export function parseOutboxRows(
  rows: readonly { id: number; queue: QueueName; order_id: string; retailer_id: string; run_at: string }[],
): OutboxRow[] {
  return rows.map((row) => ({
    id: Number(row.id),
    queue: row.queue,
    orderId: row.order_id,
    retailerId: row.retailer_id,
    runAt: new Date(row.run_at),
  }));
}

/** Marks rows as handed to the queue: the sweeper leaves them alone until their lease runs out. */
export async function extendLease(sql: Sql, ids: readonly number[]): Promise<void> {
  await sql`
    update outbox set lease_until = greatest(run_at, now()) + make_interval(secs => ${OUTBOX_LEASE_SECONDS})
    where id = any(${[...ids]}::int8[]) and done_at is null`;
}

/** Takes up to `limit` owed rows whose lease has run out, for this process to relay again. */
export async function takeExpired(sql: Sql, limit: number): Promise<OutboxRow[]> {
  const rows = await sql`
    update outbox set lease_until = greatest(run_at, now()) + make_interval(secs => ${OUTBOX_LEASE_SECONDS})
    where id in (
      select id from outbox where done_at is null and lease_until < now()
      order by lease_until limit ${limit} for update skip locked
    )
    returning id, queue, order_id, retailer_id, run_at`;
  return parseOutboxRows(rows as never);
}

/** Marks a row as done; a failure code says that it was given up. Marking twice keeps the first result. */
export async function finishOutbox(sql: Sql, id: number, failureCode: string | null): Promise<void> {
  await sql`
    update outbox set done_at = now(), failure_code = ${failureCode}
    where id = ${id} and done_at is null`;
}

/** Deletes done rows older than `days` days, at most `limit` at once; returns how many. */
export async function pruneOutbox(sql: Sql, days: number, limit: number): Promise<number> {
  const result = await sql`
    delete from outbox where id in (
      select id from outbox where done_at < now() - make_interval(days => ${days}) limit ${limit})`;
  return result.count;
}
