import type { PaymentStatus } from '../domain/order.ts';

export type PaymentWait = {
  /** The payment status once it is settled, or `processing` when it takes longer than the wait. Never rejects. */
  paymentWithin(orderId: string): Promise<PaymentStatus>;
  /** Tells whoever waits for this order. */
  settled(orderId: string, status: PaymentStatus): void;
  /** Says that payments may have been settled elsewhere. Read are those that somebody waits for; mostly that is none. */
  mayBeSettled(orderIds: readonly string[]): Promise<void>;
};

/**
 * Lets a reply wait a moment for its charge. The waiting replies are bounded; past the bound, and when charges take
 * longer than the wait anyway, a reply does not wait at all. Then one probe at a time finds out when waiting pays again.
 *
 * @param read how payments stand, by the orders' ids
 * @param waitMs the longest wait; 0 never waits
 * @param missesBeforeGivingUp how many waits in a row may be in vain before replies stop waiting
 */
export function createPaymentWait(
  read: (orderIds: readonly string[]) => Promise<ReadonlyMap<string, PaymentStatus>>,
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

  function settled(orderId: string, status: PaymentStatus): void {
    if (status !== 'processing') waiting.get(orderId)?.(status);
  }

  return {
    paymentWithin,
    settled,
    async mayBeSettled(orderIds) {
      const awaited = orderIds.filter((orderId) => waiting.has(orderId));
      if (awaited.length === 0) return;
      for (const [orderId, status] of await read(awaited)) settled(orderId, status);
    },
  };
}
