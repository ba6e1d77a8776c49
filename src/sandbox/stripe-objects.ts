/** A bank's answer to a payment. */
export type CardAnswer =
  | { readonly kind: 'paid' | 'processing' }
  | {
      readonly kind: 'declined';
      readonly code: string;
      readonly declineCode: string;
      readonly message: string;
      /** How the bank, and the card's network by two digits, advise to go on. */
      readonly advice?: string;
      readonly networkAdvice?: string;
    };

export type Payment = {
  readonly type: 'payment';
  readonly id: string;
  readonly key: string | null;
  readonly fingerprint: string;
  readonly amount: number;
  readonly currency: string;
  readonly customer: string;
  readonly paymentMethod: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly answer: CardAnswer;
  /** Seconds since 1970, as in Stripe's API. */
  readonly created: number;
};

export type Refund = {
  readonly type: 'refund';
  readonly id: string;
  readonly key: string | null;
  readonly fingerprint: string;
  readonly paymentIntent: string;
  readonly amount: number;
  readonly created: number;
  /** `failed` where the bank sent the money back; undefined for one that succeeded. */
  readonly status?: 'pending' | 'failed';
};

/** A customer, a page of Checkout, a card that was taken off its customer, or a dispute. */
export type Customer = {
  readonly type: 'customer';
  readonly id: string;
  readonly key: string | null;
  readonly fingerprint: string;
  readonly name: string | null;
};
export type Session = {
  readonly type: 'session';
  readonly id: string;
  readonly key: string | null;
  readonly fingerprint: string;
  readonly customer: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly successUrl: string;
  readonly cancelUrl: string;
  readonly created: number;
  /** The card that was given on the page. */
  readonly paymentMethod?: string;
};
export type Detached = {
  readonly type: 'detached';
  /** The card's. */
  readonly id: string;
  readonly key: null;
  readonly fingerprint: '';
};
export type Dispute = {
  readonly type: 'dispute';
  readonly id: string;
  readonly key: null;
  readonly fingerprint: '';
  readonly paymentIntent: string;
  readonly amount: number;
  readonly status: 'needs_response' | 'won' | 'lost';
  readonly created: number;
};

/** Parts of a card's name and its bank's answer; the first match counts. Stripe's test cards match too. */
const CARDS: readonly (readonly [RegExp, CardAnswer])[] = [
  [
    /insufficient_?funds/i,
    declined('card_declined', 'insufficient_funds', 'Your card has insufficient funds.', 'try_again_later'),
  ],
  [
    /velocity/i,
    declined(
      'card_declined',
      'card_velocity_exceeded',
      'Your card was declined for making repeated attempts too frequently or exceeding its amount limit.',
      'try_again_later',
    ),
  ],
  [
    /withdrawal_count/,
    declined('card_declined', 'withdrawal_count_limit_exceeded', 'Your card was declined.', 'try_again_later'),
  ],
  [
    /needs_?auth|authenticationrequired/i,
    declined(
      'authentication_required',
      'authentication_required',
      'Your card was declined. It requires authentication.',
    ),
  ],
  [/lost/i, declined('card_declined', 'lost_card', 'Your card was declined.', 'do_not_try_again')],
  [/expired/i, declined('expired_card', 'expired_card', 'Your card has expired.', 'confirm_card_data')],
  [
    /processing_?error/i,
    declined('processing_error', 'processing_error', 'An error occurred while processing your card.'),
  ],
  [/declined/i, declined('card_declined', 'generic_decline', 'Your card was declined.')],
  [/processing/i, { kind: 'processing' }],
];

/**
 * The answer of a payment method's bank. `pm_card_…` and `pm_sandbox_…` exist and pay, unless their name
 * contains `declined`, `insufficient_funds`, `velocity`, `withdrawal_count`, `needs_auth`, `lost`, `expired`,
 * `processing_error` or `processing`. A decline of one with `mac_` and two digits has this advice of the
 * network. One that ends in `_once` is declined once for an order and then pays. One with `time_out` pays, and
 * the first request for it gets no answer. Undefined for a method that does not exist.
 */
export function cardAnswer(paymentMethod: string, wasDeclined: () => boolean): CardAnswer | undefined {
  if (!/^pm_(card|sandbox)_/.test(paymentMethod)) return undefined;
  if (paymentMethod.endsWith('_once') && wasDeclined()) return { kind: 'paid' };
  const answer = CARDS.find(([name]) => name.test(paymentMethod))?.[1] ?? { kind: 'paid' };
  const [, networkAdvice] = /_mac_(\d\d)/.exec(paymentMethod) ?? [];
  return answer.kind === 'declined' && networkAdvice ? { ...answer, networkAdvice } : answer;
}

function declined(code: string, declineCode: string, message: string, advice?: string): CardAnswer {
  return { kind: 'declined', code, declineCode, message, ...(advice ? { advice } : {}) };
}

const STATUS = { paid: 'succeeded', processing: 'processing', declined: 'requires_payment_method' } as const;

/** A payment in Stripe's form. */
export function paymentIntentBody(payment: Payment) {
  const { id, amount, currency, customer, paymentMethod, metadata, answer, created } = payment;
  const charge = id.replace(/^pi/, 'ch');
  return {
    id,
    object: 'payment_intent',
    amount,
    amount_received: answer.kind === 'paid' ? amount : 0,
    created,
    currency,
    customer,
    last_payment_error:
      answer.kind === 'declined'
        ? {
            type: 'card_error',
            code: answer.code,
            decline_code: answer.declineCode,
            ...(answer.advice ? { advice_code: answer.advice } : {}),
            ...(answer.networkAdvice ? { network_advice_code: answer.networkAdvice } : {}),
            message: answer.message,
            charge,
            doc_url: `https://docs.stripe.com/error-codes/${answer.code.replaceAll('_', '-')}`,
          }
        : null,
    latest_charge: charge,
    livemode: false,
    metadata,
    payment_method: answer.kind === 'declined' ? null : paymentMethod,
    payment_method_types: ['card'],
    status: STATUS[answer.kind],
  };
}

/** A refund in Stripe's form. */
export function refundBody({ id, paymentIntent, amount, created, status }: Refund) {
  return {
    id,
    object: 'refund',
    amount,
    charge: paymentIntent.replace(/^pi/, 'ch'),
    created,
    currency: 'usd',
    payment_intent: paymentIntent,
    status: status ?? 'succeeded',
  };
}

/** The charge of a payment with the sum of its refunds, as an event shows it. */
export function chargeBody(payment: Payment, refunds: readonly Refund[]) {
  const { id, amount, currency, customer, metadata, created } = payment;
  const refunded = sumOf(refunds);
  return {
    id: id.replace(/^pi/, 'ch'),
    object: 'charge',
    amount,
    amount_refunded: refunded,
    created,
    currency,
    customer,
    livemode: false,
    metadata,
    payment_intent: id,
    refunded: refunded >= amount,
    status: 'succeeded',
  };
}

/** What refunds give back; one that failed gives nothing. */
export const sumOf = (refunds: readonly Refund[]): number =>
  refunds.reduce((sum, { amount, status }) => sum + (status === 'failed' ? 0 : amount), 0);

/** A dispute in Stripe's form. */
export function disputeBody({ id, paymentIntent, amount, status, created }: Dispute) {
  return {
    id,
    object: 'dispute',
    amount,
    charge: paymentIntent.replace(/^pi/, 'ch'),
    created,
    currency: 'usd',
    livemode: false,
    metadata: {},
    payment_intent: paymentIntent,
    reason: 'fraudulent',
    status,
  };
}

/** A page of Checkout in Stripe's form. */
export function sessionBody(session: Session, baseUrl: string) {
  const { id, customer, metadata, created, successUrl, cancelUrl, paymentMethod } = session;
  return {
    id,
    object: 'checkout.session',
    cancel_url: cancelUrl,
    created,
    customer,
    expires_at: created + 86_400,
    livemode: false,
    metadata,
    mode: 'setup',
    setup_intent: setupIntentOf(id),
    status: paymentMethod ? 'complete' : 'open',
    success_url: successUrl,
    url: paymentMethod ? null : `${baseUrl}/c/pay/${id}`,
  };
}

const setupIntentOf = (sessionId: string): string => sessionId.replace(/^cs_test/, 'seti');
export const sessionOf = (setupIntentId: string): string => setupIntentId.replace(/^seti/, 'cs_test');

/** The setup of a page of Checkout, with its card whole. */
export function setupIntentBody({ id, customer, paymentMethod }: Session, isDetached: boolean) {
  return {
    id: setupIntentOf(id),
    object: 'setup_intent',
    customer,
    livemode: false,
    payment_method: paymentMethod ? paymentMethodBody(paymentMethod, isDetached ? null : customer) : null,
    status: paymentMethod ? 'succeeded' : 'requires_payment_method',
  };
}

export function paymentMethodBody(id: string, customer: string | null) {
  return { id, object: 'payment_method', customer, livemode: false, type: 'card' };
}
