import type { PaymentStatus } from '../domain/order.ts';
import type { Store } from '../store/store.ts';

export type PaymentWait = {
  /** The payment status once it is recorded, or `processing` when it takes longer than the wait. Never rejects. */
  paymentWithin(orderId: string): Promise<PaymentStatus>;
  /** Answers the reply that waits for this order, if there is one. */
  paymentRecorded(orderId: string, status: PaymentStatus): void;
  /** Reads those payments that a reply waits for, mostly none: another process may have recorded them. */
  recheck(orderIds: readonly string[]): Promise<void>;
};

/**
 * Lets a reply wait a moment for its charge. The waiting replies are bounded; past the bound, and when charges take
 * longer than the wait anyway, a reply does not wait at all. Then one probe at a time finds out when waiting pays again.
 *
 * @param waitMs the longest wait; 0 never waits
 * @param missesBeforeGivingUp how many waits in a row may be in vain before replies stop waiting
 */
export function createPaymentWait(
  store: Pick<Store, 'loadPaymentStatuses'>,
  waitMs: number,
  maxWaiting: number,
  missesBeforeGivingUp: number,
): PaymentWait {
  const waiting = new Map<string, (status: PaymentStatus) => void>();
  let misses = 0;

  function paymentWithin(orderId: string): Promise<PaymentStatus> {
    const room = misses < missesBeforeGivingUp ? maxWaiting : 1;
    if (waitMs === 0 || waiting.size >= room) return Promise.resolve('processing');
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        misses++;
        waiting.delete(orderId);
        resolve('processing');
      }, waitMs);
      waiting.set(orderId, (status) => {
        misses = 0;
        clearTimeout(timer);
        waiting.delete(orderId);
        resolve(status);
      });
    });
  }

  function paymentRecorded(orderId: string, status: PaymentStatus): void {
    if (status !== 'processing') waiting.get(orderId)?.(status);
  }

  return {
    paymentWithin,
    paymentRecorded,
    async recheck(orderIds) {
      const awaited = orderIds.filter((orderId) => waiting.has(orderId));
      if (awaited.length === 0) return;
      for (const [orderId, status] of await store.loadPaymentStatuses(awaited)) paymentRecorded(orderId, status);
    },
  };
}
