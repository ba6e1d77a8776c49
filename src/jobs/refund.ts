import { VENDOR_PAUSE_MS } from '../limits.ts';
import type { JobData, JobResult } from '../queues/queues.ts';
import type { RefundState } from '../store/refunds.ts';
import type { Logger } from '../telemetry.ts';
import type { RefundOutcome } from '../vendors/charger.ts';

/**
 * Gives back what was charged for an order that ended undelivered before pickup. A charge still in flight is waited for:
 * its own job settles it, and then there is something to refund or nothing.
 */
export function createRefundJob(deps: {
  readonly read: (orderId: string) => Promise<RefundState>;
  readonly refund: (request: { idempotencyKey: string; paymentIntentId: string }) => Promise<RefundOutcome>;
  readonly recordRefund: (orderId: string, refundId: string | null, outboxId: number) => Promise<unknown>;
  /** Null when it was settled before. */
  readonly recordRefused: (orderId: string, code: string, outboxId: number) => Promise<unknown>;
  readonly recordUncharged: (orderId: string, outboxId: number) => Promise<unknown>;
  readonly finish: (outboxId: number) => Promise<void>;
  readonly settled: (orderId: string) => void;
  readonly logger: Logger;
}): (data: JobData) => Promise<JobResult> {
  return async function refundJob({ orderId, outboxId }) {
    const state = await deps.read(orderId);
    switch (state.kind) {
      case 'in_flight':
        return { kind: 'retry', reason: 'charge_in_flight' };
      case 'settled':
        await deps.finish(outboxId);
        return { kind: 'done' };
      case 'nothing':
        // Null: an attempt was opened in this very moment; it is looked at again.
        if ((await deps.recordUncharged(orderId, outboxId)) === null) return { kind: 'retry', reason: 'charge_opened' };
        break;
      case 'paid': {
        const result = await giveBack(orderId, state.paymentIntentId, outboxId);
        if (result) return result;
      }
    }
    deps.settled(orderId);
    return { kind: 'done' };
  };

  async function giveBack(orderId: string, paymentIntentId: string, outboxId: number): Promise<JobResult | null> {
    const outcome = await deps.refund({ idempotencyKey: `${orderId}:refund`, paymentIntentId });
    if (outcome.kind === 'retry_later') {
      return outcome.rateLimited
        ? { kind: 'rate_limited', forMs: VENDOR_PAUSE_MS }
        : { kind: 'retry', reason: outcome.reason };
    }
    if (outcome.kind === 'refunded') await deps.recordRefund(orderId, outcome.refundId, outboxId);
    else if ((await deps.recordRefused(orderId, outcome.code, outboxId)) !== null) {
      deps.logger.error({ orderId, code: outcome.code }, 'a refund was refused: the store is still charged');
    }
    return null;
  }
}
