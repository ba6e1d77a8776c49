import type { OrderEvents } from '../dispatch/order-events.ts';
import { ACCOUNT_REFUSED } from '../domain/stripe-declines.ts';
import { atMost, below, MAX_PAYMENT_ATTEMPTS, MAX_PAYMENT_ATTEMPTS_EVER, VENDOR_SOCKETS } from '../limits.ts';
import type { ConcurrencyLimit } from '../postgres/batched-reads.ts';
import type { Clock } from '../postgres/clock.ts';
import { finishing, inBatches } from '../queues/in-batches.ts';
import type { JobData, JobHandler, JobResult } from '../queues/job-handler.ts';
import { triedLater, VENDOR_PAUSE_MS } from '../queues/job-limits.ts';
import type { Relay } from '../queues/relay.ts';
import type { PaidAttempt, PaymentAttempt, PaymentResult } from '../store/payments/payments.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry.ts';
import { retryLater } from '../vendors/retry-later.ts';
import type { ChargeLookup, ChargeOutcome, Charger } from './charger.ts';
import { recordingFound } from './found-payment.ts';
import { MAX_STORE_CHARGE_RETRIES } from './retry-charge.ts';

/** Charges that one worker process runs at once. At most VENDOR_SOCKETS, the connections to Stripe. */
export const CHARGE_CONCURRENCY = 320;
/** Age from which a charge is looked up, not sent. Below 24 hours, when Stripe may forget its key. */
export const STRIPE_KEY_SECONDS = 23 * 3_600;
/**
 * Time before STRIPE_KEY_SECONDS in which a charge is neither sent nor looked up: Stripe's search finds a
 * charge about a minute after it was made, or later in an outage of theirs. Below STRIPE_KEY_SECONDS. Also the time
 * after which a charge was never made whose failure Stripe repeats, and which it does not list.
 */
export const STRIPE_QUIET_SECONDS = 10 * 60;
/**
 * Time after which a charge is sent again that Stripe refused for the sake of the account, which an operator mends. At
 * most OUTBOX_LEASE_SECONDS, up to which leases of charges are looked at.
 */
export const ACCOUNT_REFUSED_PAUSE_SECONDS = 15 * 60;
/**
 * Attempt that is not put off any more, after 20 hours of such pauses: the charge fails then, and those that a store or
 * an operator may ask for are left.
 */
export const MAX_PUT_OFF_ATTEMPT = MAX_PAYMENT_ATTEMPTS_EVER - (1 + MAX_STORE_CHARGE_RETRIES) * MAX_PAYMENT_ATTEMPTS;
/** Time after which Stripe may forget an idempotency key. */
const STRIPE_FORGETS_SECONDS = 24 * 3_600;

atMost({ CHARGE_CONCURRENCY }, { VENDOR_SOCKETS });
below({ STRIPE_KEY_SECONDS }, { STRIPE_FORGETS_SECONDS });
below({ STRIPE_QUIET_SECONDS }, { STRIPE_KEY_SECONDS });
below({ MAX_PAYMENT_ATTEMPTS }, { MAX_PUT_OFF_ATTEMPT });

/** Pause before such a charge, once it has failed, is tried again: twice, as the attempts allowed have it. */
const ACCOUNT_REFUSED_RETRY_SECONDS = 24 * 3_600;

declare module '../queues/job-handler.ts' {
  interface JobHandlers {
    readonly charge: ReturnType<typeof createChargeJob>;
  }
}

/**
 * Charges an order once. An attempt is stored before it is sent, so that another worker or a later attempt of
 * the job sends the same idempotency key, and Stripe answers with the same charge.
 */
export function createChargeJob(deps: {
  readonly store: Pick<
    Store,
    | 'openPaymentAttempts'
    | 'recordPaid'
    | 'findPayment'
    | 'recordLatePaid'
    | 'recordDeclined'
    | 'noteRepeatedFailure'
    | 'putOffCharge'
    | 'finishJobs'
  >;
  /** Bounds the statements in flight that lock orders. */
  readonly orderLocks: ConcurrencyLimit;
  readonly stripe: Pick<Charger, 'charge' | 'findCharge' | 'findRecentCharge' | 'cancel'>;
  readonly relay: Pick<Relay, 'relay'>;
  readonly events: Pick<OrderEvents, 'paymentRecorded'>;
  readonly clock: Clock;
  readonly logger: Logger;
}): JobHandler {
  const { store, stripe, clock } = deps;
  const isAwaited = (charge: Pick<JobData, 'isAwaited'>) => charge.isAwaited === true;
  const openAttempts = (jobs: readonly JobData[]) =>
    store.openPaymentAttempts(
      jobs.map(({ orderId }) => orderId),
      MAX_PAYMENT_ATTEMPTS,
      PAUSE,
    );
  const open = inBatches(openAttempts, ({ orderId }) => orderId, deps.orderLocks, isAwaited);
  const paid = (charges: readonly (PaidAttempt & JobData)[]) => store.recordPaid(charges);
  const recordPaid = inBatches(paid, ({ orderId }) => orderId, deps.orderLocks, isAwaited);
  const recordFound = recordingFound(deps);
  const finish = finishing(store, 'charge');

  return async function chargeJob(job) {
    const { orderId, outboxId } = job;
    const openingMs = clock.now();
    const attempt = await open(job);
    if (!attempt) {
      await finish(job);
      return { kind: 'done' };
    }
    if (attempt.pauseSeconds > 0) return { kind: 'wait', forMs: Math.ceil(attempt.pauseSeconds * 1_000) };
    if (attempt.cardWaitSeconds !== null) return putBack(attempt, attempt.cardWaitSeconds, outboxId);
    // The time of the statement counts, in case the process was suspended during it.
    const keySeconds = attempt.ageSeconds + Math.max(0, clock.now() - openingMs) / 1_000;
    const untilLookUp = STRIPE_KEY_SECONDS - keySeconds;
    if (untilLookUp > 0 && untilLookUp < STRIPE_QUIET_SECONDS) {
      return { kind: 'wait', forMs: Math.ceil(untilLookUp * 1_000) };
    }
    const isLookUp = untilLookUp <= 0;
    const sent = await send(attempt, isLookUp);
    // An answer that went astray may have been of a charge that was made.
    const isUnclear = isReplay(sent) || (sent.kind === 'account_refused' && attempt.ageSeconds > 0);
    const outcome = isUnclear ? await lookUp(attempt, openingMs - attempt.ageSeconds * 1_000, sent) : sent;
    // Stripe bounds what is looked up by itself: charges go on.
    if ((isLookUp || isUnclear) && outcome.kind === 'retry_later' && outcome.rateLimited)
      return { kind: 'wait', forMs: VENDOR_PAUSE_MS };
    const isPutOff = outcome.kind === 'account_refused' && attempt.attempt < MAX_PUT_OFF_ATTEMPT;
    if (isPutOff && (await store.putOffCharge(attempt, outboxId, PUT_OFF))) return { kind: 'done' };
    const result = toResult(outcome, attempt);
    if ('kind' in result) return result;
    const written = await record(attempt, result, job);
    if (result.status === 'declined' && !result.final) return { kind: 'retry', reason: result.failureCode };
    if (written) deps.events.paymentRecorded(orderId, result.status === 'paid' ? 'paid' : 'failed');
    return { kind: 'done' };
  };

  /** A charge whose card must wait fails until then, and keeps its attempts. */
  async function putBack({ orderId }: PaymentAttempt, waitSeconds: number, outboxId: number): Promise<JobResult> {
    const result = { failureCode: CARD_SPENT, final: true, retryAfterSeconds: Math.ceil(waitSeconds) };
    const changed = await store.recordDeclined({ orderId, attempt: null }, result, outboxId);
    if (changed) deps.events.paymentRecorded(orderId, 'failed');
    return { kind: 'done' };
  }

  /** False if the result was recorded before. */
  async function record(
    { orderId, attempt, amountCents }: PaymentAttempt,
    result: PaymentResult,
    job: JobData,
  ): Promise<boolean> {
    if (result.status === 'paid') {
      const { paymentIntentId } = result;
      if (await recordPaid({ ...job, attempt, paymentIntentId })) return true;
      // Another worker may have put the attempt off meanwhile, and the order may have ended as not charged.
      return (await recordFound({ orderId, attempt, paymentIntentId, amountCents })) === 'done';
    }
    const changed = await store.recordDeclined({ orderId, attempt }, result, job.outboxId);
    if (changed) deps.relay.relay(changed.outbox);
    return changed !== null;
  }

  /** Stripe may forget a key after 24 hours; after 23 hours the charge is looked up instead of sent. */
  async function send(attempt: PaymentAttempt, isKeyOld: boolean): Promise<ChargeOutcome> {
    const { orderId, stripeCustomerId, stripePaymentMethodId } = attempt;
    if (!stripeCustomerId || !stripePaymentMethodId) return NO_CARD;
    if (isKeyOld) {
      const found = await stripe.findCharge(orderId);
      return found.kind === 'not_found' || found.kind === 'unfinished' ? giveUp(found) : found;
    }
    return stripe.charge({
      idempotencyKey: `${orderId}:${attempt.attempt}`,
      amountCents: attempt.amountCents,
      customerId: stripeCustomerId,
      paymentMethodId: stripePaymentMethodId,
      orderId,
      retailerId: attempt.retailerId,
    });
  }

  /**
   * What became of an attempt whose key repeats a failure, or is refused for the account's sake when it is sent again.
   * Stripe may finish later what failed, so that there is no charge counts only a while after the failure was repeated
   * first. A decline may be that of an earlier attempt.
   */
  async function lookUp(attempt: PaymentAttempt, sentAtMs: number, sent: ChargeOutcome): Promise<ChargeOutcome> {
    const { orderId, stripeCustomerId } = attempt;
    const found = await stripe.findRecentCharge({ orderId, customerId: stripeCustomerId ?? '', sentAtMs });
    if (found.kind === 'paid' || found.kind === 'retry_later') return found;
    if (attempt.attempt === 1 && found.kind !== 'not_found' && found.kind !== 'unfinished') return found;
    if (!isReplay(sent)) return giveUp(found, sent);
    const repeatedSeconds = await store.noteRepeatedFailure(attempt);
    return repeatedSeconds < STRIPE_QUIET_SECONDS ? retryLater('replayed_error') : giveUp(found);
  }

  /** Lets the next key be sent, once Stripe has cancelled each payment that it might finish beside that. */
  async function giveUp(found: ChargeLookup, given: ChargeOutcome = NEVER_ARRIVED): Promise<ChargeOutcome> {
    for (const paymentIntentId of found.kind === 'unfinished' ? found.paymentIntentIds : []) {
      const outcome = await stripe.cancel(paymentIntentId);
      if (outcome.kind !== 'canceled') return outcome;
    }
    return given;
  }
}

const PAUSE = { seconds: ACCOUNT_REFUSED_PAUSE_SECONDS, endsAtAttempt: MAX_PUT_OFF_ATTEMPT };
const PUT_OFF = { seconds: ACCOUNT_REFUSED_PAUSE_SECONDS, allowed: MAX_PAYMENT_ATTEMPTS };
const CARD_SPENT = 'card_declined_too_often';
const NO_CARD: ChargeOutcome = { kind: 'declined', code: 'no_card_on_file', retryAfterSeconds: null };
const NEVER_ARRIVED: ChargeOutcome = { kind: 'declined', code: 'never_arrived', retryAfterSeconds: 0 };

const isReplay = (sent: ChargeOutcome): boolean => sent.kind === 'retry_later' && sent.reason === 'replayed_error';

function toResult(outcome: ChargeOutcome, attempt: PaymentAttempt): PaymentResult | JobResult {
  switch (outcome.kind) {
    case 'paid':
      return { status: 'paid', paymentIntentId: outcome.paymentIntentId };
    case 'declined': {
      const { code: failureCode, says } = outcome;
      const again = attempt.isLast ? null : outcome.retryAfterSeconds;
      return { status: 'declined', failureCode, says, final: again !== 0, retryAfterSeconds: again };
    }
    case 'account_refused':
      return {
        status: 'declined',
        failureCode: ACCOUNT_REFUSED,
        says: outcome.says,
        final: true,
        retryAfterSeconds: attempt.isLast ? null : ACCOUNT_REFUSED_RETRY_SECONDS,
      };
    case 'retry_later':
      return triedLater(outcome);
  }
}
