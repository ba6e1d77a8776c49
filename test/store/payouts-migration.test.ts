import { expect, test } from 'vitest';
import { newId, newTrackingToken } from '../../src/domain/ids.ts';
import { useTablesBefore } from './tables-before.ts';

const { sql, migrate } = await useTablesBefore('0014');

type Past = { status: string; payment: string; payout: string; refundId?: string; events?: readonly string[] };

/** An order as the build of before left it. */
async function past({ status, payment, payout, refundId, events = [] }: Past): Promise<string> {
  const id = newId();
  await sql`
    insert into orders (id, retailer_id, customer_id, dropoff_address_id, driver_id, status, delivery_tier,
      delivery_fee_cents, driver_payout_cents, payout_status, payment_status, charge_id, refund_id, sms_status,
      tracking_token, pickup_address, pickup_lat, pickup_lng, pickup_point_source, created_at, ended_at, expires_at)
    values (${id}, ${newId()}, ${newId()}, ${newId()}, ${newId()}, ${status}, 'standard', 799, 550, ${payout}, ${payment},
      'pi_1', ${refundId ?? null}, 'none', ${newTrackingToken()}, '', 0, 0, 'registered', now(), now(), now())`;
  for (const [index, type] of events.entries()) {
    await sql`
      insert into order_events (order_id, sequence, type, data)
      values (${id}, ${index + 1}, ${type}, ${type === 'refund_failed' ? sql.json({ code: 'charge_disputed' }) : null})`;
  }
  return id;
}

test('orders that exist get the rows of their payouts and refunds', async () => {
  const owed = await past({ status: 'delivered', payment: 'paid', payout: 'owed' });
  const unpaid = await past({ status: 'returned', payment: 'failed', payout: 'owed' });
  const paid = await past({ status: 'delivered', payment: 'failed', payout: 'paid' });
  await past({ status: 'picked_up', payment: 'paid', payout: 'none' });
  const refunded = await past({
    status: 'cancelled',
    payment: 'refunded',
    payout: 'none',
    refundId: 're_1',
    events: ['refunded'],
  });
  const refused = await past({ status: 'expired', payment: 'paid', payout: 'none', events: ['refund_failed'] });
  await past({ status: 'cancelled', payment: 'paid', payout: 'none' });

  await migrate();
  const payouts = await sql`select order_id, status, reasons, amount_cents, paid_at from payouts order by order_id`;
  expect(payouts.map((row) => ({ ...row }))).toEqual([
    { order_id: owed, status: 'owed', reasons: [], amount_cents: 550, paid_at: null },
    { order_id: unpaid, status: 'held', reasons: ['unpaid'], amount_cents: 550, paid_at: null },
    { order_id: paid, status: 'paid', reasons: [], amount_cents: 550, paid_at: expect.any(Date) },
  ]);
  const refunds = await sql`
    select order_id, status, reason, amount_cents, stripe_refund_id, failure_code from refunds order by order_id`;
  const money = { amount_cents: 799 };
  expect(refunds.map((row) => ({ ...row }))).toEqual([
    {
      order_id: refunded,
      status: 'refunded',
      reason: 'cancelled',
      ...money,
      stripe_refund_id: 're_1',
      failure_code: null,
    },
    {
      order_id: refused,
      status: 'refused',
      reason: 'expired',
      ...money,
      stripe_refund_id: null,
      failure_code: 'charge_disputed',
    },
  ]);
});
