import type { Db } from './db.ts';

/** Deletes drivers' actions that came longer than `days` days ago, at most `limit` at once; returns how many. */
export async function pruneDriverActions({ sql }: Db, days: number, limit: number): Promise<number> {
  // By their place in the table, which stays the same since these rows are never updated.
  const result = await sql`
    delete from driver_actions where ctid = any(array(
      select ctid from driver_actions
      where received_at < now() - make_interval(days => ${days}) order by received_at limit ${limit}))`;
  return result.count;
}
