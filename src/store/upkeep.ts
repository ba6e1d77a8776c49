import type { Db } from './db.ts';

/** Lead of the end of a queue's pause at which a clock was wrong. The longest pause is a second. */
const MAX_PAUSE_LEAD_MS = 60_000;

/** Deletes at most `limit` drivers' actions received more than `days` days ago; returns their number. */
export async function pruneDriverActions({ sql }: Db, days: number, limit: number): Promise<number> {
  // Deleting by ctid is safe, because these rows are never updated and so keep their place.
  const result = await sql`
    delete from driver_actions where ctid = any(array(
      select ctid from driver_actions
      where received_at < now() - make_interval(days => ${days}) order by received_at limit ${limit}))`;
  return result.count;
}

/**
 * Ends the pauses of queues on Postgres that a wrong clock has set ahead. BullMQ counts a queue's rate by the clock
 * of the process that takes a job, and would keep every other one from its jobs until their clocks show the same.
 */
export async function endPausesAhead({ sql }: Db): Promise<void> {
  await sql.unsafe(`do $$ begin
    if to_regclass('bullmq.rate_limit') is null then return; end if;
    delete from bullmq.rate_limit
    where expire_at_ms > extract(epoch from clock_timestamp()) * 1000 + ${MAX_PAUSE_LEAD_MS};
  end $$`);
}
