import type { Cents } from './money.ts';
import { canBecome, type OrderStatus, type PaymentStatus } from './order.ts';

/** What decides on the money of a cancelled order. */
export type Cancellable = {
  readonly status: OrderStatus;
  readonly paymentStatus: PaymentStatus;
  readonly feeCents: Cents;
  /** What the operator gave back of the fee already. */
  readonly refundedCents: Cents;
  /** Whether the vendor refused to give the fee back. */
  readonly isRefundRefused: boolean;
};

/** What cancelling an order would give back now, and what its store pays for it all the same. */
export type Cancellation = {
  readonly cancellable: boolean;
  /** The status that stands in the way. */
  readonly reason: OrderStatus | null;
  readonly refundCents: Cents;
  readonly keptCents: Cents;
};

/**
 * What a cancellation would do at this moment. Before its pickup an order costs nothing: what was charged is
 * given back in full, and so is what a charge under way will have taken. From the pickup on the fee stays, or
 * stays owed. What was given back before counts for neither.
 */
export function cancellationOf(order: Cancellable): Cancellation {
  const { status, paymentStatus, isRefundRefused } = order;
  const leftCents = Math.max(0, order.feeCents - order.refundedCents);
  const cancellable = canBecome(status, 'cancelled');
  const isFree = cancellable || status === 'cancelled' || status === 'expired';
  const isOwed = paymentStatus === 'paid' || paymentStatus === 'processing' || paymentStatus === 'failed';
  const isKept = isFree ? isRefundRefused && paymentStatus === 'paid' : isOwed;
  return {
    cancellable,
    reason: cancellable ? null : status,
    refundCents: isFree && !isKept && paymentStatus === 'paid' ? leftCents : 0,
    keptCents: isKept ? leftCents : 0,
  };
}
