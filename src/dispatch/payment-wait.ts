import type { PaymentStatus } from '../domain/order.ts';
import type { Store } from '../store/store.ts';

export type PaymentWait = {
  /** The payment status once it is recorded, or `processing` after the longest wait. Never rejects. */
  paymentWithin(orderId: string): Promise<PaymentStatus>;
  /** Whether a reply waits for the payment of this order. */
  isAwaited(orderId: string): boolean;
  /** Ends the wait of the reply for this order, if there is one. */
  paymentRecorded(orderId: string, status: PaymentStatus): void;
  /** Reads the payments that replies wait for, which another process may have recorded. */
  recheck(orderIds: readonly string[]): Promise<void>;
  /** Ends every wait with `processing`, and starts none any more: a stop would cut replies that wait on. */
  end(): void;
};

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
): PaymentWait {
  const waiting = new Map<string, (status: PaymentStatus) => void>();
  let misses = 0;
  let isEnded = false;

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

  function paymentRecorded(orderId: string, status: PaymentStatus): void {
    if (status !== 'processing') waiting.get(orderId)?.(status);
  }

  return {
    paymentWithin,
    isAwaited: (orderId) => waiting.has(orderId),
    paymentRecorded,
    async recheck(orderIds) {
      const awaited = orderIds.filter((orderId) => waiting.has(orderId));
      if (awaited.length === 0) return;
      for (const [orderId, status] of await store.loadPaymentStatuses(awaited)) paymentRecorded(orderId, status);
    },
    end() {
      isEnded = true;
      for (const resolve of [...waiting.values()]) resolve('processing');
    },
  };
}
