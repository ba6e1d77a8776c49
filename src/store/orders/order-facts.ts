import type { Cancellable } from '../../domain/cancellation.ts';
import type { Db } from '../db.ts';

/** What decides on the money of an order if it is cancelled; null for an unknown id and another store's order. */
export async function findCancellable({ sql }: Db, orderId: string, retailerId: string): Promise<Cancellable | null> {
  const [row] = await sql`
    select status, payment_status, delivery_fee_cents, stripe_refunded_cents(id)::int as refunded_cents, exists (
      select from refunds f where f.order_id = orders.id and f.status = 'refused') as is_refund_refused
    from orders where id = ${orderId} and retailer_id = ${retailerId} and status <> 'void'`;
  if (!row) return null;
  const { status, payment_status: paymentStatus, delivery_fee_cents: feeCents } = row;
  const { refunded_cents: refundedCents, is_refund_refused: isRefundRefused } = row;
  return { status, paymentStatus, feeCents, refundedCents, isRefundRefused };
}

/** The stored name of the photo of an order's handover; null without one, and for another store's order. */
export async function findOrderPhotoName({ sql }: Db, orderId: string, retailerId: string): Promise<string | null> {
  const [row] = await sql`select photo_name from orders where id = ${orderId} and retailer_id = ${retailerId}`;
  return row?.photo_name ?? null;
}
