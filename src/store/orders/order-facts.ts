import type { Cancellable } from '../../domain/cancellation.ts';
import type { Db } from '../db.ts';

/** What decides on the money of an order if it is cancelled; null for an unknown id and another store's order. */
export async function findCancellable({ sql }: Db, orderId: string, retailerId: string): Promise<Cancellable | null> {
  const [row] = await sql<Cancellable[]>`
    select status, payment_status as "paymentStatus", delivery_fee_cents as "feeCents",
      stripe_refunded_cents(id)::int as "refundedCents", exists (
        select from refunds f where f.order_id = orders.id and f.status = 'refused') as "isRefundRefused"
    from orders where id = ${orderId} and retailer_id = ${retailerId} and status <> 'void'`;
  return row ?? null;
}

/** The stored name of the photo of an order's handover; null without one, and for another store's order. */
export async function findOrderPhotoName({ sql }: Db, orderId: string, retailerId: string): Promise<string | null> {
  const [row] = await sql`select photo_name from orders where id = ${orderId} and retailer_id = ${retailerId}`;
  return row?.photo_name ?? null;
}
