import type { Db } from './db.ts';

/** Deletes at most `limit` drivers' actions received more than `days` days ago; returns their number. */
export async function pruneDriverActions({ sql }: Db, days: number, limit: number): Promise<number> {
  // Deleting by ctid is safe, because these rows are never updated and so keep their place.
  const result = await sql`
    delete from driver_actions where ctid = any(array(
      select ctid from driver_actions
      where received_at < now() - make_interval(days => ${days}) order by received_at limit ${limit}))`;
  return result.count;
}
