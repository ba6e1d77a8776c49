import type Stripe from 'stripe';
import {
  WHOLE_CARD,
  WHOLE_CHARGE,
  WHOLE_CUSTOMER,
  WHOLE_DISPUTE,
  WHOLE_INTENT,
  WHOLE_REFUND,
  WHOLE_SESSION,
  WHOLE_SETUP,
} from './stripe-whole.ts';

/** A bank's answer to a payment. */
export type CardAnswer =
  /** `unfinished`: Stripe failed before the bank was asked, and may ask it yet; `canceled`: it asks no more. */
  | { readonly kind: 'paid' | 'processing' | 'requires_action' | 'unfinished' | 'canceled' }
  | {
      readonly kind: 'declined';
      readonly code: string;
      readonly declineCode: string;
      readonly message: string;
      /** How the bank, and the card's network by two digits, advise to go on. */
      readonly advice?: string;
      readonly networkAdvice?: string;
    };

/** The request that made an entry, by its idempotency key and a digest of it. */
export type Marks = { readonly key: string | null; readonly fingerprint: string };
/** The marks of what a person or a bank made. */
export const UNMARKED: Marks = { key: null, fingerprint: '' };

export type Made<Type extends string> = Marks & { readonly type: Type; readonly id: string };

export type Payment = Made<'payment'> & {
  readonly amount: number;
  readonly currency: string;
  readonly customer: string;
  readonly paymentMethod: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly answer: CardAnswer;
  /** Seconds since 1970, as in Stripe's API. */
  readonly created: number;
};

export type Refund = Made<'refund'> & {
  readonly paymentIntent: string;
  readonly customer: string;
  readonly amount: number;
  readonly created: number;
  /** `failed` where the bank refused it or sent the money back; undefined for one that succeeded. */
  readonly status?: 'pending' | 'failed';
};

/** A customer, a page of Checkout, a card that was taken off its customer, or a dispute. */
export type Customer = Made<'customer'> & {
  readonly name: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly created: number;
};
export type Session = Made<'session'> & {
  readonly customer: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly successUrl: string;
  readonly cancelUrl: string;
  readonly created: number;
  /** The card that was given on the page. */
  readonly paymentMethod?: string;
};
/** Under the card's id. */
export type Detached = Made<'detached'>;
/** `warning_…`: an inquiry, which takes no money. One that is lost may be appealed. */
export type DisputeStatus =
  | 'warning_needs_response'
  | 'warning_closed'
  | 'needs_response'
  | 'won'
  | 'lost'
  | 'appeal_under_review';
export type Dispute = Made<'dispute'> & {
  readonly paymentIntent: string;
  readonly amount: number;
  readonly status: DisputeStatus;
  readonly created: number;
};

/** Parts of a card's name and its bank's answer; the first match counts. Stripe's test cards match too. */
const CARDS: readonly (readonly [RegExp, CardAnswer])[] = [
  [/insufficient_?funds/i, declined('insufficient_funds', 'try_again_later', 'Your card has insufficient funds.')],
  [
    /velocity/i,
    declined(
      'card_velocity_exceeded',
      'try_again_later',
      'Your card was declined for making repeated attempts too frequently or exceeding its amount limit.',
    ),
  ],
  [/withdrawal_count/, declined('withdrawal_count_limit_exceeded', 'try_again_later')],
  [
    /needs_?auth|authenticationrequired/i,
    failed('authentication_required', 'Your card was declined. It requires authentication.'),
  ],
  [/lost/i, declined('lost_card', 'do_not_try_again')],
  [/expired/i, failed('expired_card', 'Your card has expired.', 'confirm_card_data')],
  [/processing_?error/i, failed('processing_error', 'An error occurred while processing your card.')],
  [/declined/i, declined('generic_decline')],
  [/processing/i, { kind: 'processing' }],
  [/unfinished/, { kind: 'unfinished' }],
  [/requires_action/, { kind: 'requires_action' }],
];

/**
 * The answer of a payment method's bank. `pm_card_…` and `pm_sandbox_…` exist and pay, unless their name
 * contains `declined`, `insufficient_funds`, `velocity`, `withdrawal_count`, `needs_auth`, `lost`, `expired`,
 * `processing_error`, `processing`, `requires_action` or `unfinished`, which leaves its payment open behind a 500. A
 * decline of one with `mac_` and two digits has this advice of the network. One that ends in `_once` is so once for an
 * order and then pays. One with `time_out` pays, and the first request for it gets no answer. Undefined for a method
 * that does not exist.
 */
export function cardAnswer(paymentMethod: string, wasUnpaid: () => boolean): CardAnswer | undefined {
  if (!/^pm_(card|sandbox)_/.test(paymentMethod)) return undefined;
  if (paymentMethod.endsWith('_once') && wasUnpaid()) return { kind: 'paid' };
  const answer = CARDS.find(([name]) => name.test(paymentMethod))?.[1] ?? { kind: 'paid' };
  const [, networkAdvice] = /_mac_(\d\d)/.exec(paymentMethod) ?? [];
  return answer.kind === 'declined' && networkAdvice ? { ...answer, networkAdvice } : answer;
}

function declined(
  declineCode: string,
  advice?: string,
  message = 'Your card was declined.',
  code = 'card_declined',
): CardAnswer {
  return { kind: 'declined', code, declineCode, message, ...(advice ? { advice } : {}) };
}

/** A decline whose own code is that of the error. */
function failed(code: string, message: string, advice?: string): CardAnswer {
  return declined(code, advice, message, code);
}

/** What becomes of the refund of a payment at once, by the card's name: Stripe's test cards match too. */
export function refundStatus(paymentMethod: string): { status?: 'pending' | 'failed' } {
  if (/pending_?refund/i.test(paymentMethod)) return { status: 'pending' };
  return /refund_?fail/i.test(paymentMethod) ? { status: 'failed' } : {};
}

const STATUS = {
  paid: 'succeeded',
  processing: 'processing',
  requires_action: 'requires_action',
  declined: 'requires_payment_method',
  unfinished: 'requires_confirmation',
  canceled: 'canceled',
} as const;

const chargeOf = (paymentIntent: string): string => paymentIntent.replace(/^pi/, 'ch');

const WITHOUT_CHARGE: readonly string[] = ['requires_action', 'unfinished', 'canceled'];

/** A payment in Stripe's form. */
export function paymentIntentBody(payment: Payment): Stripe.PaymentIntent {
  const { id, amount, currency, customer, paymentMethod, metadata, answer, created } = payment;
  return {
    ...WHOLE_INTENT,
    id,
    amount,
    amount_received: answer.kind === 'paid' ? amount : 0,
    client_secret: `${id}_secret_sandbox`,
    created,
    currency,
    customer,
    last_payment_error: answer.kind === 'declined' ? paymentError(payment, answer) : null,
    latest_charge: WITHOUT_CHARGE.includes(answer.kind) ? null : chargeOf(id),
    metadata,
    ...(answer.kind === 'requires_action'
      ? { next_action: { type: 'use_stripe_sdk', use_stripe_sdk: {} } satisfies Stripe.PaymentIntent.NextAction }
      : {}),
    payment_method: answer.kind === 'declined' ? null : paymentMethod,
    status: STATUS[answer.kind],
  };
}

function paymentError(
  { id, paymentMethod, customer }: Payment,
  answer: Extract<CardAnswer, { kind: 'declined' }>,
): Stripe.PaymentIntent.LastPaymentError {
  return {
    type: 'card_error',
    code: answer.code,
    decline_code: answer.declineCode,
    ...(answer.advice ? { advice_code: answer.advice } : {}),
    ...(answer.networkAdvice ? { network_advice_code: answer.networkAdvice } : {}),
    message: answer.message,
    charge: chargeOf(id),
    doc_url: `https://docs.stripe.com/error-codes/${answer.code.replaceAll('_', '-')}`,
    payment_method: paymentMethodBody(paymentMethod, customer),
  };
}

/** A refund in Stripe's form. */
export function refundBody({ id, paymentIntent, amount, created, status, customer }: Refund): Stripe.Refund {
  return {
    ...WHOLE_REFUND,
    id,
    amount,
    charge: chargeOf(paymentIntent),
    created,
    customer,
    ...(status === 'failed' ? { failure_reason: 'expired_or_canceled_card' } : {}),
    payment_intent: paymentIntent,
    ...(status === 'pending' ? { pending_reason: 'processing' } : {}),
    status: status ?? 'succeeded',
  };
}

/** The charge of a payment with the sum of its refunds, as an event shows it. */
export function chargeBody(payment: Payment, refunds: readonly Refund[]): Stripe.Charge {
  const { id, amount, currency, customer, metadata, created, paymentMethod } = payment;
  const refunded = sumOf(refunds);
  return {
    ...WHOLE_CHARGE,
    id: chargeOf(id),
    amount,
    amount_captured: amount,
    amount_refunded: refunded,
    created,
    currency,
    customer,
    metadata,
    payment_intent: id,
    payment_method: paymentMethod,
    refunded: refunded >= amount,
  };
}

/** What refunds give back; one that failed gives nothing. */
export const sumOf = (refunds: readonly Refund[]): number =>
  refunds.reduce((sum, { amount, status }) => sum + (status === 'failed' ? 0 : amount), 0);

/** A dispute in Stripe's form. */
export function disputeBody({ id, paymentIntent, amount, status, created }: Dispute): Stripe.Dispute {
  return {
    ...WHOLE_DISPUTE,
    id,
    amount,
    charge: chargeOf(paymentIntent),
    created,
    is_charge_refundable: status.startsWith('warning_'),
    payment_intent: paymentIntent,
    status,
  };
}

/** A customer in Stripe's form. */
export function customerBody({ id, name, metadata, created }: Customer): Stripe.Customer {
  return { ...WHOLE_CUSTOMER, id, created, metadata, name };
}

/** A page of Checkout in Stripe's form. */
export function sessionBody(session: Session, baseUrl: string): Stripe.Checkout.Session {
  const { id, customer, metadata, created, successUrl, cancelUrl, paymentMethod } = session;
  return {
    ...WHOLE_SESSION,
    id,
    cancel_url: cancelUrl,
    created,
    customer,
    expires_at: created + 86_400,
    metadata,
    setup_intent: setupIntentOf(id),
    status: paymentMethod ? 'complete' : 'open',
    success_url: successUrl,
    url: paymentMethod ? null : `${baseUrl}/c/pay/${id}`,
  };
}

const setupIntentOf = (sessionId: string): string => sessionId.replace(/^cs_test/, 'seti');
export const sessionOf = (setupIntentId: string): string => setupIntentId.replace(/^seti/, 'cs_test');

/** The setup of a page of Checkout, with its card whole. */
export function setupIntentBody(session: Session, isDetached: boolean): Stripe.SetupIntent {
  const { id, created, customer, paymentMethod } = session;
  return {
    ...WHOLE_SETUP,
    id: setupIntentOf(id),
    created,
    customer,
    payment_method: paymentMethod ? paymentMethodBody(paymentMethod, isDetached ? null : customer) : null,
    status: paymentMethod ? 'succeeded' : 'requires_payment_method',
  };
}

export function paymentMethodBody(id: string, customer: string | null): Stripe.PaymentMethod {
  return { ...WHOLE_CARD, id, customer };
}
