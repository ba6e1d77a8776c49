import type { Fragment, Sql } from 'postgres';
import type { CreatedOrder } from '../domain/order.ts';
import type { Db } from './db.ts';

/** An order that was made before: as it was shown then, but its payment as it stands now. */
export type PlacedOrder = { readonly order: CreatedOrder; readonly fingerprint: string };

/** The order that a store's idempotency key made; null where it made none. Kept for as long as the order. */
export function findPlaced({ sql }: Db, retailerId: string, idempotencyKey: string): Promise<PlacedOrder | null> {
  return readPlaced(sql, sql`o.retailer_id = ${retailerId} and o.idempotency_key = ${idempotencyKey}`);
}

/** The order with this id as it was made; null where there is none. */
export async function findMade({ sql }: Db, orderId: string): Promise<CreatedOrder | null> {
  return (await readPlaced(sql, sql`o.id = ${orderId}`))?.order ?? null;
}

async function readPlaced(sql: Sql, which: Fragment): Promise<PlacedOrder | null> {
  const [row] = await sql`
    select o.id, o.delivery_tier, o.delivery_fee_cents, o.payment_status, o.tracking_token, o.created_at,
      o.request_fingerprint,
      -- Who had a driver from the start was given him in the moment of creation.
      exists (select from order_events e where e.order_id = o.id and e.sequence = 2 and e.type = 'driver_assigned'
        and e.at = o.created_at) as was_assigned
    from orders o where ${which} and o.status <> 'void'`;
  if (!row) return null;
  const order: CreatedOrder = {
    id: row.id,
    status: row.was_assigned ? 'driver_assigned' : 'pending_dispatch',
    tierId: row.delivery_tier,
    feeCents: row.delivery_fee_cents,
    paymentStatus: row.payment_status,
    trackingToken: row.tracking_token,
    createdAt: row.created_at,
  };
  return { order, fingerprint: row.request_fingerprint };
}
