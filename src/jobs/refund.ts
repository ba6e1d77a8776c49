import type { OrderEvents } from '../dispatch/order-events.ts';
import { VENDOR_PAUSE_MS } from '../limits.ts';
import type { JobHandler, JobResult } from '../queues/queues.ts';
import type { Relay } from '../queues/relay.ts';
import type { ChangedOrder } from '../store/changes.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry.ts';
import type { Charger } from '../vendors/charger.ts';

/**
 * Gives back what was charged for an order that ended undelivered before pickup. A charge still in flight is waited for:
 * its own job records the result, and then there is something to refund or nothing.
 */
export function createRefundJob(deps: {
  readonly store: Pick<
    Store,
    'readRefundState' | 'recordRefund' | 'recordRefundRefused' | 'recordUncharged' | 'finishOutbox'
  >;
  readonly stripe: Pick<Charger, 'refund'>;
  readonly relay: Pick<Relay, 'relay'>;
  readonly events: Pick<OrderEvents, 'detailsChanged'>;
  readonly logger: Logger;
}): JobHandler {
  const { store } = deps;

  return async function refundJob({ orderId, outboxId }) {
    const state = await store.readRefundState(orderId);
    switch (state.kind) {
      case 'in_flight':
        return { kind: 'retry', reason: 'charge_in_flight' };
      case 'done':
        await store.finishOutbox(outboxId, null);
        return { kind: 'done' };
      case 'nothing':
        // Null: an attempt was opened in this very moment; it is looked at again.
        if (!(await relayed(store.recordUncharged(orderId, outboxId))))
          return { kind: 'retry', reason: 'charge_opened' };
        break;
      case 'paid': {
        const result = await giveBack(orderId, state.paymentIntentId, outboxId);
        if (result) return result;
      }
    }
    deps.events.detailsChanged(orderId);
    return { kind: 'done' };
  };

  /** What a recorded refund makes owed (the store is told of it) is relayed. False where it was recorded before. */
  async function relayed(recording: Promise<ChangedOrder | null>): Promise<boolean> {
    const changed = await recording;
    if (changed) deps.relay.relay(changed.outbox);
    return changed !== null;
  }

  async function giveBack(orderId: string, paymentIntentId: string, outboxId: number): Promise<JobResult | null> {
    const outcome = await deps.stripe.refund({ idempotencyKey: `${orderId}:refund`, paymentIntentId });
    if (outcome.kind === 'retry_later') {
      return outcome.rateLimited
        ? { kind: 'rate_limited', forMs: VENDOR_PAUSE_MS }
        : { kind: 'retry', reason: outcome.reason };
    }
    if (outcome.kind === 'refunded') await relayed(store.recordRefund(orderId, outcome.refundId, outboxId));
    else if (await relayed(store.recordRefundRefused(orderId, outcome.code, outboxId))) {
      deps.logger.error({ orderId, code: outcome.code }, 'a refund was refused: the store is still charged');
    }
    return null;
  }
}
