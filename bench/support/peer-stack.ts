import type { Sql } from 'postgres';

/**
 * A service under load with its servers, this one or the plain one. Both are measured and judged in the same
 * way.
 */
export type OrderStack = {
  readonly name: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly sql: Sql;
  /**
   * Starts it without orders and with every driver free, with or without its worker; resolves with its URL.
   */
  start(worker: boolean): Promise<string>;
  /** Stops the service and leaves its servers running. Idempotent. */
  halt(): Promise<void>;
  /** Jobs that are not done. */
  backlog(): Promise<number>;
  close(): Promise<void>;
};

/** Checks what must hold after every round: every order answered with 201 is there, and no driver has two. */
export async function findFaults({ sql }: OrderStack, orderIds: readonly string[]): Promise<string[]> {
  const [row] = await sql`
    select
      (select count(*)::int from unnest(string_to_array(${orderIds.join(',')}, ',')::uuid[]) as answered (id)
        where not exists (select from orders o where o.id = answered.id)) as missing,
      (select count(*)::int from (select from orders where driver_id is not null
        group by driver_id having count(*) > 1) twice) as twice,
      (select count(*)::int from orders where (status = 'driver_assigned') <> (driver_id is not null)) as odd`;
  const faults: string[] = [];
  if (new Set(orderIds).size !== orderIds.length) faults.push('two orders were answered with the same id');
  if (row?.missing > 0) faults.push(`${row?.missing} orders were answered with 201 and are not in the tables`);
  if (row?.twice > 0) faults.push(`${row?.twice} drivers have two orders`);
  if (row?.odd > 0) faults.push(`${row?.odd} orders have a driver and no assignment, or the other way round`);
  return faults;
}

/** Share of orders that found a driver at once. */
export async function assignedShare({ sql }: OrderStack): Promise<number> {
  const [row] = await sql`select coalesce(avg((driver_id is not null)::int), 0)::float8 as share from orders`;
  return row?.share as number;
}
