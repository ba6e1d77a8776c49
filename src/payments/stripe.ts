import { randomUUID } from 'node:crypto';
import Stripe from 'stripe';
import { retryAfterSeconds } from '../domain/stripe-declines.ts';
import { below, MAX_PAYMENT_ATTEMPTS, MAX_PAYMENT_ATTEMPTS_EVER } from '../limits.ts';
import { createHttpExchange, ExchangeError } from '../vendors/http-exchange.ts';
import { type RetryLater, retryLater } from '../vendors/retry-later.ts';
import { vendorWords } from '../vendors/vendor-words.ts';
import type { CancelOutcome, ChargeLookup, ChargeOutcome, ChargeRequest, Charger, RefundOutcome } from './charger.ts';
import { type CreateIntent, openChargeCall } from './stripe-charge.ts';
import { openStripe, type StripeOptions, withoutAnswer } from './stripe-http.ts';

/** Payments that a search for an order's charges returns at most. Above MAX_PAYMENT_ATTEMPTS. */
const MAX_CHARGES_SEARCHED = 100;
/** Payments of one customer that are listed at most to find one; a store with more has its search, a day later. */
const MAX_CHARGES_LISTED = 1_000;
/**
 * Time by which the list begins before a charge was sent, as Stripe's clock is not the database's: a payment that is
 * missed is made twice. A longer list has more of a store's payments, of which MAX_CHARGES_LISTED are read.
 */
const LISTED_EARLIER_SECONDS = 3_600;

below({ MAX_PAYMENT_ATTEMPTS }, { MAX_CHARGES_SEARCHED });
below({ MAX_PAYMENT_ATTEMPTS_EVER }, { MAX_CHARGES_SEARCHED });

/** Charges delivery fees by Stripe: off-session card payments in US dollars, and their refunds. */
export function createStripeCharger(options: StripeOptions): Charger {
  const http = createHttpExchange();
  const stripe = openStripe(options, http);
  const createIntent = openChargeCall(options, http);
  return {
    charge: (request) => outcomeOf(() => charge(stripe, createIntent, request)),
    findCharge: (orderId) => lookUp(() => searchCharge(stripe, orderId)),
    findRecentCharge: (attempt) => lookUp(() => listCharge(stripe, attempt)),
    cancel: (paymentIntentId) => cancel(stripe, paymentIntentId),
    refund: (refund) => createRefund(stripe, refund),
    close: () => http.close(),
  };
}

async function charge(stripe: Stripe, createIntent: CreateIntent, request: ChargeRequest): Promise<ChargeOutcome> {
  const intent = await createIntent(request);
  // A replayed reply is as old as the first one; only a retrieval shows what became of a payment in progress.
  if (intent.status !== 'processing') return fromIntent(intent);
  return lookUp(async () => fromIntent(await stripe.paymentIntents.retrieve(intent.id)));
}

async function searchCharge(stripe: Stripe, orderId: string): Promise<ChargeLookup> {
  const query = `metadata['order_id']:'${orderId.replace(/[\\']/g, '\\$&')}'`;
  const { data } = await stripe.paymentIntents.search({ query, limit: MAX_CHARGES_SEARCHED });
  return toldBy(data);
}

/** A look-up that Stripe refuses says nothing of the charge, which may have been made. */
async function lookUp<Found>(call: () => Promise<Found>): Promise<Found | RetryLater> {
  try {
    return await call();
  } catch (error) {
    const refused = toOutcome(error);
    if (refused.kind === 'retry_later') return refused;
    return retryLater(refused.kind === 'account_refused' ? 'misconfigured' : 'in_progress');
  }
}

/** The list has no lag, but no filter by order. */
async function listCharge(
  stripe: Stripe,
  { orderId, customerId, sentAtMs }: Parameters<Charger['findRecentCharge']>[0],
): Promise<ChargeLookup> {
  const since = Math.floor(sentAtMs / 1_000) - LISTED_EARLIER_SECONDS;
  const page = { customer: customerId, created: { gte: since }, limit: MAX_CHARGES_SEARCHED };
  const found: Stripe.PaymentIntent[] = [];
  let listed = 0;
  for await (const intent of stripe.paymentIntents.list(page)) {
    if (++listed > MAX_CHARGES_LISTED) return retryLater('replayed_error');
    if (intent.metadata.order_id === orderId) found.push(intent);
  }
  return toldBy(found);
}

/** Whether Stripe failed before the bank was asked, and may ask it yet. */
const isUnfinished = ({ status, last_payment_error }: Stripe.PaymentIntent): boolean =>
  (status === 'requires_confirmation' || status === 'requires_payment_method') && !last_payment_error;

function toldBy(intents: readonly Stripe.PaymentIntent[]): ChargeLookup {
  const newestFirst = intents.toSorted((a, b) => b.created - a.created);
  const told =
    newestFirst.find(({ status }) => status === 'succeeded') ??
    newestFirst.find(({ status }) => status === 'processing');
  if (told) return fromIntent(told);
  const unfinished = newestFirst.filter(isUnfinished);
  if (unfinished.length > 0) return { kind: 'unfinished', paymentIntentIds: unfinished.map(({ id }) => id) };
  return newestFirst[0] ? fromIntent(newestFirst[0]) : { kind: 'not_found' };
}

/** Under no key, since Stripe would repeat a failure; a second cancellation is refused, and read. */
async function cancel(stripe: Stripe, paymentIntentId: string): Promise<CancelOutcome> {
  const outcome = await outcomeOf(async () => {
    const intent = await stripe.paymentIntents.cancel(paymentIntentId).catch((error: unknown) => {
      if (!(error instanceof Stripe.errors.StripeInvalidRequestError)) throw error;
      return stripe.paymentIntents.retrieve(paymentIntentId);
    });
    return intent.status === 'canceled' ? { kind: 'canceled' as const } : fromIntent(intent);
  });
  const isTold = outcome.kind === 'canceled' || outcome.kind === 'paid' || outcome.kind === 'retry_later';
  return isTold ? outcome : retryLater('in_progress');
}

/** Stripe gives back no more than was paid, whatever the keys, so another one is safe where a failure is repeated. */
async function createRefund(stripe: Stripe, refund: Parameters<Charger['refund']>[0]): Promise<RefundOutcome> {
  const outcome = await refundUnder(refund.idempotencyKey, stripe, refund);
  const isReplay = outcome.kind === 'retry_later' && outcome.reason === 'replayed_error';
  return isReplay ? refundUnder(`${refund.idempotencyKey}:${randomUUID()}`, stripe, refund) : outcome;
}

async function refundUnder(
  idempotencyKey: string,
  stripe: Stripe,
  { paymentIntentId }: { readonly paymentIntentId: string },
): Promise<RefundOutcome> {
  try {
    const refund = await stripe.refunds.create({ payment_intent: paymentIntentId }, { idempotencyKey });
    if (typeof refund.id !== 'string') return retryLater('bad_reply');
    if (refund.status === 'failed' || refund.status === 'canceled') {
      return { kind: 'refused', code: refund.failure_reason ?? refund.status };
    }
    return { kind: 'refunded', refundId: refund.id };
  } catch (error) {
    if (!(error instanceof Stripe.errors.StripeError)) throw error;
    if (error.code === 'charge_already_refunded') return { kind: 'refunded', refundId: null };
    const says = vendorWords(error.message);
    return withoutAnswer(error) ?? { kind: 'refused', code: error.code ?? 'invalid_request', says };
  }
}

async function outcomeOf<Outcome>(call: () => Promise<Outcome>): Promise<Outcome | ChargeOutcome> {
  try {
    return await call();
  } catch (error) {
    return toOutcome(error);
  }
}

function toOutcome(error: unknown): ChargeOutcome {
  if (error instanceof ExchangeError) return error.outcome;
  if (!(error instanceof Stripe.errors.StripeError)) throw error;
  return outcomeOfError(error);
}

/** What an error of Stripe's says of a charge. */
export function outcomeOfError(error: Stripe.errors.StripeError): ChargeOutcome {
  return withoutAnswer(error) ?? fromRefusal(error);
}

function fromIntent(intent: Stripe.PaymentIntent): ChargeOutcome {
  const paymentIntentId = intent.id;
  if (typeof paymentIntentId !== 'string') return retryLater('bad_reply');
  const refusal = intent.last_payment_error;
  switch (intent.status) {
    case 'succeeded':
      return { kind: 'paid', paymentIntentId };
    case 'processing':
      return retryLater('in_progress');
    case 'requires_action':
      return { kind: 'declined', code: NEEDS_HOLDER, retryAfterSeconds: null };
    default: {
      const code = refusal?.decline_code ?? refusal?.code ?? intent.status;
      return {
        kind: 'declined',
        code,
        says: vendorWords(refusal?.message),
        retryAfterSeconds: pauseAfter(code, refusal),
      };
    }
  }
}

function fromRefusal(error: Stripe.errors.StripeError): ChargeOutcome {
  const code = error.decline_code || error.code || 'invalid_request';
  const about = { code, says: vendorWords(error.message) };
  if (!(error instanceof Stripe.errors.StripeCardError) && error.code !== NEEDS_HOLDER) {
    // Stripe does not know the customer or the card, or the card belongs to another customer.
    const aboutCard = error.param === 'customer' || error.param === 'payment_method' || code === 'resource_missing';
    if (aboutCard) return { kind: 'declined', ...about, retryAfterSeconds: null };
    if (isOfAccount(error)) return { kind: 'account_refused', ...about };
  }
  return { kind: 'declined', ...about, retryAfterSeconds: pauseAfter(code, error) };
}

/** What codes of the card, its customer or the amount begin with; all others are the operator's to mend. */
const OF_CHARGE =
  /^(amount|card|customer|expired|incorrect|invalid_(card|cvc|expiry|number)|payment_intent|payment_method)_/;
/** Those of them that are about cards as such, which an operator allows in Stripe's dashboard. */
const OF_SETTINGS = [
  'payment_intent_invalid_parameter',
  'payment_method_configuration_failures',
  'payment_method_unactivated',
];
/** Stripe gives no code where a card was taken off its customer. */
const SAYS_CARD = /payment ?method|customer/i;

/** Whether Stripe would refuse the charge of any other card as well, such as of an account that it restricts. */
function isOfAccount({ rawType, code, decline_code, message }: Stripe.errors.StripeError): boolean {
  if (rawType !== 'invalid_request_error' || decline_code) return false;
  if (!code) return !SAYS_CARD.test(message);
  return !OF_CHARGE.test(code) || OF_SETTINGS.includes(code);
}

/** The bank asks for the cardholder, whom no machine can replace. */
const NEEDS_HOLDER = 'authentication_required';

function pauseAfter(
  code: string,
  said: { readonly code?: string; readonly advice_code?: string; readonly network_advice_code?: string } | null,
): number | null {
  if (code === NEEDS_HOLDER || said?.code === NEEDS_HOLDER) return null;
  return retryAfterSeconds({ code, advice: said?.advice_code, networkAdvice: said?.network_advice_code });
}
