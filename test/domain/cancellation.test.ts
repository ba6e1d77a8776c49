import { expect, it } from 'vitest';
import { cancellationOf } from '../../src/domain/cancellation.ts';
import { canBecome, ORDER_STATUSES, type OrderStatus, type PaymentStatus } from '../../src/domain/order.ts';

const FEE = 799;
const PAYMENTS: readonly PaymentStatus[] = ['not_charged', 'processing', 'paid', 'failed', 'refunded'];
const of = (status: OrderStatus, paymentStatus: PaymentStatus, isRefundRefused = false) =>
  cancellationOf({ status, paymentStatus, feeCents: FEE, refundedCents: 0, isRefundRefused });

it.each(ORDER_STATUSES)('of an order that is %s says whether a cancellation would be done', (status) => {
  for (const payment of PAYMENTS) {
    const { cancellable, reason } = of(status, payment);
    expect([cancellable, reason]).toEqual(canBecome(status, 'cancelled') ? [true, null] : [false, status]);
  }
});

it.each<[OrderStatus, PaymentStatus, number, number]>([
  ['pending_dispatch', 'not_charged', 0, 0],
  // It had a driver before.
  ['pending_dispatch', 'paid', FEE, 0],
  ['driver_assigned', 'processing', 0, 0],
  ['driver_assigned', 'paid', FEE, 0],
  ['driver_assigned', 'failed', 0, 0],
  ['picked_up', 'paid', 0, FEE],
  ['picked_up', 'processing', 0, FEE],
  ['delivered', 'failed', 0, FEE],
  ['returned', 'paid', 0, FEE],
  ['cancelled', 'paid', FEE, 0],
  ['cancelled', 'refunded', 0, 0],
  ['expired', 'not_charged', 0, 0],
])('of an order that is %s and %s gives back %i and keeps %i', (status, payment, refundCents, keptCents) => {
  expect(of(status, payment)).toMatchObject({ refundCents, keptCents });
});

it('of a cancelled order whose refund was refused gives nothing back', () => {
  expect(of('cancelled', 'paid', true)).toMatchObject({ refundCents: 0, keptCents: FEE });
});

it('counts nothing of what was given back before', () => {
  const partly = { paymentStatus: 'paid', feeCents: FEE, refundedCents: 300, isRefundRefused: false } as const;
  expect(cancellationOf({ ...partly, status: 'driver_assigned' })).toMatchObject({ refundCents: 499, keptCents: 0 });
  expect(cancellationOf({ ...partly, status: 'picked_up' })).toMatchObject({ refundCents: 0, keptCents: 499 });
});
