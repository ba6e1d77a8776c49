import type { Scenario } from '../../domain/scenario.ts';
import type { Db } from '../db.ts';
import { changeAndTell, isWaiting } from '../fragments.ts';
import { isNotYet } from './order-times.ts';

/** What the driver of an order is to do by its scenario; null for most orders. Only the first one loses it. */
export async function findDriverScenario({ sql }: Db, orderId: string): Promise<Scenario['driver']> {
  const [row] = await sql`
    select scenario->>'driver' as driver from orders o where id = ${orderId} and scenario is not null
      and (scenario->>'driver' not in ('gives_back', 'silent')
        or not exists (select from order_events e where e.order_id = o.id and e.type = 'released'))`;
  return row?.driver ?? null;
}

/** Ends the time of a waiting order now, so that it can be expired; false if it does not wait. */
export async function endWait({ sql }: Db, orderId: string): Promise<boolean> {
  const rows = await sql`
    update orders set expires_at = now() where id = ${orderId} and ${isWaiting(sql, sql`orders`)} returning id`;
  return rows.length === 1;
}

/**
 * Makes an order that waits for its time due now; it expires so much earlier. False if it does not wait for
 * its time.
 */
export async function makeDue(db: Db, orderId: string): Promise<boolean> {
  const { sql } = db;
  const change = sql`
    update orders o set dispatch_from = now(), expires_at = expires_at - (dispatch_from - now())
    where id = ${orderId} and ${isNotYet(sql, sql`o`)}`;
  return (await changeAndTell(db, 'order', change)) === 1;
}
