import type { PaymentStatus } from '../domain/order.ts';
import { MAX_PAYMENT_ATTEMPTS, STRIPE_KEY_SECONDS, STRIPE_QUIET_SECONDS, VENDOR_PAUSE_MS } from '../limits.ts';
import type { JobData, JobResult } from '../queues/queues.ts';
import type { PaymentAttempt, PaymentResult } from '../store/payments.ts';
import type { ChargeLookup, ChargeOutcome, ChargeRequest } from '../vendors/charger.ts';

/**
 * Charges an order once. What is sent is stored before it is sent, so whoever comes second (another worker, a later
 * try) sends the same key and Stripe answers with the same charge.
 */
export function createChargeJob(deps: {
  readonly open: (orderId: string) => Promise<PaymentAttempt | null>;
  readonly settle: (attempt: PaymentAttempt, result: PaymentResult, outboxId: number) => Promise<boolean>;
  readonly finish: (outboxId: number) => Promise<void>;
  readonly charge: (request: ChargeRequest) => Promise<ChargeOutcome>;
  readonly findCharge: (orderId: string) => Promise<ChargeLookup>;
  readonly settled: (orderId: string, status: PaymentStatus) => void;
  readonly now: () => number;
}): (data: JobData) => Promise<JobResult> {
  return async function chargeJob({ orderId, outboxId }) {
    const openingMs = deps.now();
    const attempt = await deps.open(orderId);
    if (!attempt) {
      await deps.finish(outboxId);
      return { kind: 'done' };
    }
    // A process that stood still meanwhile sees by the time that passed that its key has grown old.
    const keySeconds = attempt.ageSeconds + Math.max(0, deps.now() - openingMs) / 1_000;
    const untilLookUp = STRIPE_KEY_SECONDS - keySeconds;
    if (untilLookUp > 0 && untilLookUp < STRIPE_QUIET_SECONDS) {
      return { kind: 'wait', forMs: Math.ceil(untilLookUp * 1_000) };
    }
    const outcome = await send(attempt, untilLookUp <= 0);
    const result = toResult(outcome, attempt);
    if ('kind' in result) return result;
    const written = await deps.settle(attempt, result, outboxId);
    if (result.status === 'declined' && !result.final) return { kind: 'retry', reason: result.failureCode };
    if (written) deps.settled(orderId, result.status === 'paid' ? 'paid' : 'failed');
    return { kind: 'done' };
  };

  /** Stripe may forget a key after 24 hours; from 23 on the charge is looked up instead of sent again. */
  async function send(attempt: PaymentAttempt, isKeyOld: boolean): Promise<ChargeOutcome> {
    const { orderId, stripeCustomerId, stripePaymentMethodId } = attempt;
    if (!stripeCustomerId || !stripePaymentMethodId) return { kind: 'no_card', code: 'no_card_on_file' };
    if (isKeyOld) {
      const found = await deps.findCharge(orderId);
      if (found.kind === 'not_found') return { kind: 'declined', code: 'never_arrived', mayPass: true };
      return found;
    }
    return deps.charge({
      idempotencyKey: `${orderId}:${attempt.attempt}`,
      amountCents: attempt.amountCents,
      customerId: stripeCustomerId,
      paymentMethodId: stripePaymentMethodId,
      orderId,
      retailerId: attempt.retailerId,
    });
  }
}

function toResult(outcome: ChargeOutcome, attempt: PaymentAttempt): PaymentResult | JobResult {
  switch (outcome.kind) {
    case 'paid':
      return { status: 'paid', paymentIntentId: outcome.paymentIntentId };
    case 'declined': {
      const final = !outcome.mayPass || attempt.attempt >= MAX_PAYMENT_ATTEMPTS;
      return { status: 'declined', failureCode: outcome.code, final };
    }
    case 'needs_authentication':
    case 'no_card':
      return { status: 'declined', failureCode: outcome.code, final: true };
    case 'retry_later':
      return outcome.rateLimited
        ? { kind: 'rate_limited', forMs: VENDOR_PAUSE_MS }
        : { kind: 'retry', reason: outcome.reason };
  }
}
