import type { Sql } from 'postgres';

/** A service's database, this one's or the plain one's: both are judged in the same way. */
type Tables = { readonly sql: Sql };

/** What must hold after every round: every order answered with 201 is there, and no driver has two at once. */
export async function findFaults({ sql }: Tables, orderIds: readonly string[]): Promise<string[]> {
  const [row] = await sql`
    select
      (select count(*)::int from unnest(string_to_array(${orderIds.join(',')}, ',')::uuid[]) as answered (id)
        where not exists (select from orders o where o.id = answered.id)) as missing,
      (select count(*)::int from (select from orders where status = 'driver_assigned'
        group by driver_id having count(*) > 1) twice) as twice,
      (select count(*)::int from orders where (status = 'pending_dispatch') <> (driver_id is null)) as odd`;
  const faults = {
    'orders were answered with an id that another one has': orderIds.length - new Set(orderIds).size,
    'orders were answered with 201 and are not in the tables': row?.missing,
    'drivers have two orders': row?.twice,
    'orders have a driver and wait, or have none and do not': row?.odd,
  };
  return Object.entries(faults).flatMap(([what, count]) => (count > 0 ? [`${count} ${what}`] : []));
}

/** Share of orders that found a driver at once. */
export async function shareWithDriver({ sql }: Tables): Promise<number> {
  const [row] = await sql`
    select coalesce(avg((driver_id is not null)::int), 0)::float8 as share from orders where status <> 'delivered'`;
  return row?.share as number;
}
