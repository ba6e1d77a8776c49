import type { Db } from '../db.ts';

/** What a driver did on one day, and what they earned by it. */
export type DriverDay = {
  readonly deliveries: number;
  /** Orders that were brought back to their store, which are paid as well. */
  readonly returns: number;
  /** The payouts of both, without those that the operator refused. */
  readonly earningsCents: number;
  /** The part of them that the operator looks at first. */
  readonly heldCents: number;
};

/**
 * The driver's day of now. It reads the actions that have an id of the phone's, by the primary key of their
 * table, which holds those of DRIVER_ACTIONS_KEPT_DAYS: no row of another driver, and none of last month.
 *
 * @param utcOffsetMinutes by how much the driver's clock is ahead of UTC; it says when the day began
 */
export async function findDriverDay({ sql }: Db, driverId: string, utcOffsetMinutes: number): Promise<DriverDay> {
  const ahead = sql`make_interval(mins => ${utcOffsetMinutes})`;
  const [day] = await sql<[DriverDay]>`
    select count(*) filter (where a.type = 'delivered')::int as deliveries,
      count(*) filter (where a.type = 'returned')::int as returns,
      coalesce(sum(p.amount_cents) filter (where p.status <> 'void'), 0)::int as "earningsCents",
      coalesce(sum(p.amount_cents) filter (where p.status = 'held'), 0)::int as "heldCents"
    from driver_actions a left join payouts p on p.order_id = a.order_id
    where a.driver_id = ${driverId} and a.type in ('delivered', 'returned')
      and a.received_at >= (date_trunc('day', now() at time zone 'UTC' + ${ahead}) - ${ahead}) at time zone 'UTC'`;
  return day;
}
