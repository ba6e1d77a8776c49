import type { Sql } from '../../src/postgres/connect.ts';

/** Ids that fit into the 8,000 bytes of a notice. */
const IDS_A_NOTICE = 100;

/**
 * Delivers orders that have had their driver for `seconds`, and notifies the service as another process
 * would.
 *
 * @returns how many
 */
export async function deliverAll(sql: Sql, seconds = 0): Promise<number> {
  const [row] = await sql`
    with ended as (
      update orders set status = 'delivered', delivered_at = now(), ended_at = now()
      where status = 'driver_assigned' and assigned_at <= now() - make_interval(secs => ${seconds})
      returning id
    ), numbered as (
      select id, row_number() over () / ${IDS_A_NOTICE}::int as part from ended
    ), told as (
      select pg_notify('sameday', 'bench:order:' || string_agg(id::text, ',')) from numbered group by part
    )
    select (select count(*)::int from ended) as ended, (select count(*) from told) as notices`;
  return row?.ended as number;
}
