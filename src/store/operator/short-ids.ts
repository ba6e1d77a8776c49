import type { Db } from '../db.ts';

export type IdTable =
  | 'orders'
  | 'retailers'
  | 'retailer_applications'
  | 'drivers'
  | 'organizations'
  | 'organization_keys'
  | 'webhook_deliveries';

/** The first two ids in these tables that begin so, by the indexes of their keys. */
export async function findIds({ sql }: Db, tables: readonly IdTable[], beginning: string): Promise<string[]> {
  const digits = beginning.replaceAll('-', '');
  const [first, last] = [digits.padEnd(32, '0'), digits.padEnd(32, 'f')];
  const found = await Promise.all(
    tables.map((table) => sql`select id from ${sql(table)} where id between ${first} and ${last} order by id limit 2`),
  );
  return found.flatMap((rows) => rows.map(({ id }) => id as string)).slice(0, 2);
}
