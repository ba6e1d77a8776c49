import type { PaymentStatus } from '../domain/order.ts';
import type { Store } from '../store/store.ts';

export type PaymentWait = ReturnType<typeof createPaymentWait>;

/**
 * Lets replies wait for their charges. A reply does not wait if `maxWaiting` others do, or if charges take
 * longer than the wait anyway. In that case one reply at a time waits as a probe, until one has a result.
 *
 * @param waitMs the longest wait; 0 for none
 * @param missesBeforeGivingUp waits in a row without a result after which replies stop waiting
 */
export function createPaymentWait(
  store: Pick<Store, 'loadPaymentStatuses'>,
  waitMs: number,
  maxWaiting: number,
  missesBeforeGivingUp: number,
) {
  const waiting = new Map<string, (status: PaymentStatus) => void>();
  let misses = 0;
  let isEnded = false;

  /** The payment status once it is recorded, or `processing` after the longest wait. Never rejects. */
  function paymentWithin(orderId: string): Promise<PaymentStatus> {
    const room = misses < missesBeforeGivingUp ? maxWaiting : 1;
    if (isEnded || waitMs === 0 || waiting.size >= room) return Promise.resolve('processing');
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

  /** Ends the wait of the reply for this order, if there is one. */
  function paymentRecorded(orderId: string, status: PaymentStatus): void {
    if (status !== 'processing') waiting.get(orderId)?.(status);
  }

  return {
    paymentWithin,
    /** Whether a reply waits for the payment of this order. */
    isAwaited: (orderId: string) => waiting.has(orderId),
    paymentRecorded,
    /** Reads the payments that replies wait for, which another process may have recorded. */
    async recheck(orderIds: readonly string[]): Promise<void> {
      const awaited = orderIds.filter((orderId) => waiting.has(orderId));
      if (awaited.length === 0) return;
      for (const [orderId, status] of await store.loadPaymentStatuses(awaited)) paymentRecorded(orderId, status);
    },
    /** Ends every wait with `processing`, and starts none any more: a stop would cut replies that wait on. */
    end(): void {
      isEnded = true;
      for (const resolve of [...waiting.values()]) resolve('processing');
    },
  };
}
