import type { OrderEvents } from '../dispatch/order-events.ts';
import type { JobHandler, JobResult } from '../queues/job-handler.ts';
import { triedLater } from '../queues/job-limits.ts';
import type { Relay } from '../queues/relay.ts';
import type { ChangedOrder } from '../store/orders/changes.ts';
import type { RefundState } from '../store/payments/refunds.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry.ts';
import type { Charger } from './charger.ts';

declare module '../queues/job-handler.ts' {
  interface JobHandlers {
    readonly refund: ReturnType<typeof createRefundJob>;
  }
}

/**
 * Refunds an order that ended before its pickup. It waits for a charge in flight, whose own job records the
 * result.
 */
export function createRefundJob(deps: {
  readonly store: Pick<Store, 'openRefund' | 'recordRefund' | 'recordRefundRefused' | 'recordUncharged' | 'finishJobs'>;
  readonly stripe: Pick<Charger, 'refund'>;
  readonly relay: Pick<Relay, 'relay'>;
  readonly events: Pick<OrderEvents, 'detailsChanged'>;
  readonly logger: Logger;
}): JobHandler {
  const { store } = deps;

  return async function refundJob(job) {
    const { orderId, outboxId } = job;
    const state = await store.openRefund(orderId);
    switch (state.kind) {
      case 'in_flight':
        return { kind: 'retry', reason: 'charge_in_flight' };
      case 'not_owed':
        await store.finishJobs([job], 'refund');
        return { kind: 'done' };
      case 'uncharged':
        // An attempt may have been opened meanwhile, so the job looks again.
        if (!(await relayed(store.recordUncharged(orderId, outboxId))))
          return { kind: 'retry', reason: 'charge_opened' };
        break;
      case 'paid': {
        const result = await refund(orderId, state, outboxId);
        if (result) return result;
      }
    }
    deps.events.detailsChanged(orderId);
    return { kind: 'done' };
  };

  /** Relays the jobs of a recorded result, such as its webhook. False if it was recorded before. */
  async function relayed(recording: Promise<ChangedOrder | null>): Promise<boolean> {
    const changed = await recording;
    if (changed) deps.relay.relay(changed.outbox);
    return changed !== null;
  }

  async function refund(
    orderId: string,
    { paymentIntentId, attempt }: Extract<RefundState, { kind: 'paid' }>,
    outboxId: number,
  ): Promise<JobResult | null> {
    // Stripe gives a key its first answer again. Under another one no payment is refunded twice, as each is whole.
    const idempotencyKey = attempt === 1 ? `${orderId}:refund` : `${orderId}:refund:${attempt}`;
    const outcome = await deps.stripe.refund({ idempotencyKey, paymentIntentId });
    if (outcome.kind === 'retry_later') return triedLater(outcome);
    if (outcome.kind === 'refunded') await relayed(store.recordRefund(orderId, outcome.refundId, outboxId));
    else if (await relayed(store.recordRefundRefused(orderId, outcome, outboxId))) {
      deps.logger.error({ orderId, code: outcome.code }, 'a refund was refused: the store is still charged');
    }
    return null;
  }
}
