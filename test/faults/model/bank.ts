import type { ChargeOutcome, ChargeRequest, RefundOutcome } from '../../../src/payments/charger.ts';
import type { BankAnswer } from './commands.ts';

const UNANSWERED = { kind: 'retry_later', reason: 'timeout', rateLimited: false } as const;

/** A bank that answers as ordered, but repeats its answer to a known key, and keeps a book. */
export function openBank() {
  /** By order: the fault of its next request. */
  const answers = new Map<string, BankAnswer>();
  const kept = new Map<string, ChargeOutcome>();
  /** By order: the payments taken. */
  const paid = new Map<string, string[]>();
  const refunded = new Set<string>();

  function outcomeOf(answer: BankAnswer, key: string): ChargeOutcome {
    if (answer === 'soft') return { kind: 'declined', code: 'processing_error', retryAfterSeconds: 0 };
    if (answer === 'hard') return { kind: 'declined', code: 'lost_card', retryAfterSeconds: null };
    return { kind: 'paid', paymentIntentId: `pi:${key}` };
  }

  return {
    answers,
    async charge({ idempotencyKey, orderId }: ChargeRequest): Promise<ChargeOutcome> {
      const answer = answers.get(orderId) ?? 'done';
      if (answer === 'unreached') return UNANSWERED as ChargeOutcome;
      const earlier = kept.get(idempotencyKey);
      const outcome = earlier ?? outcomeOf(answer, idempotencyKey);
      kept.set(idempotencyKey, outcome);
      if (!earlier && outcome.kind === 'paid') {
        paid.set(orderId, [...(paid.get(orderId) ?? []), outcome.paymentIntentId]);
      }
      return answer === 'lost' ? (UNANSWERED as ChargeOutcome) : outcome;
    },
    async refund({ paymentIntentId }: { paymentIntentId: string }): Promise<RefundOutcome> {
      const orderId = paymentIntentId.split(':')[1] as string;
      const answer = answers.get(orderId) ?? 'done';
      if (answer === 'unreached') return UNANSWERED as RefundOutcome;
      if (answer === 'hard' && !refunded.has(paymentIntentId)) return { kind: 'refused', code: 'disputed' };
      refunded.add(paymentIntentId);
      return answer === 'lost'
        ? (UNANSWERED as RefundOutcome)
        : { kind: 'refunded', refundId: `re:${paymentIntentId}` };
    },
    findCharge: async () => ({ kind: 'not_found' }) as const,
    findRecentCharge: async () => ({ kind: 'not_found' }) as const,
    cancel: async () => ({ kind: 'canceled' }) as const,
    close: () => undefined,
    /** Number of charges of an order that it holds. */
    heldOf: (orderId: string): number =>
      (paid.get(orderId) ?? []).filter((paymentIntentId) => !refunded.has(paymentIntentId)).length,
  };
}
