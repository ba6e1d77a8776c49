import type { OutgoingHttpHeaders } from 'node:http';
import Stripe from 'stripe';
import { createHttpExchange, ExchangeError, type HttpExchange } from './http-exchange.ts';
import { type RetryLater, retryLater } from './retry-later.ts';
import { mayPassLater } from './stripe-declines.ts';

export type ChargeRequest = {
  /** Given by the caller and stored before sending: the same key never charges twice (Stripe keeps it 24 hours). */
  readonly idempotencyKey: string;
  /** US cents. */
  readonly amountCents: number;
  /** The store's customer and card at Stripe: `cus_…`, `pm_…`. */
  readonly customerId: string;
  readonly paymentMethodId: string;
  readonly orderId: string;
  readonly retailerId: string;
};

export type ChargeOutcome =
  | { readonly kind: 'paid'; readonly paymentIntentId: string }
  /** A definite no. `mayPass`: a new attempt under a new key could pass. */
  | {
      readonly kind: 'declined';
      readonly code: string;
      readonly paymentIntentId?: string;
      readonly mayPass: boolean;
    }
  /** The bank wants the cardholder present; a machine can't help. */
  | { readonly kind: 'needs_authentication'; readonly code: string; readonly paymentIntentId?: string }
  /** Stripe does not know the customer or the card, or the card is not the customer's. */
  | { readonly kind: 'no_card'; readonly code: string }
  | RetryLater;

export type ChargeLookup = ChargeOutcome | { readonly kind: 'not_found' };

export type RefundOutcome =
  | { readonly kind: 'refunded'; readonly refundId: string | null }
  | { readonly kind: 'refused'; readonly code: string }
  | RetryLater;

export type StripeCharger = {
  /** Charges a stored card without its holder. Never throws for an answer of Stripe's or the lack of one. */
  charge(request: ChargeRequest): Promise<ChargeOutcome>;
  /**
   * What became of an order's charges, for keys too old to be sent again. Stripe's search lags behind its writes by
   * about a minute, longer in an outage of theirs: never ask right after a charge.
   */
  findCharge(orderId: string): Promise<ChargeLookup>;
  /** Refunds a payment in full; one that is refunded already counts as refunded. */
  refund(refund: { readonly idempotencyKey: string; readonly paymentIntentId: string }): Promise<RefundOutcome>;
  close(): void;
};

export type StripeOptions = {
  readonly secretKey: string;
  /** Base URL of another server that speaks Stripe's API. */
  readonly apiBase?: string | undefined;
  /** Longest one call may take; a connection found closed is tried once more within its own time-out. */
  readonly timeoutMs: number;
};

/** Stripe, as one store's delivery fee needs it: off-session card payments in US dollars, and their refunds. */
export function createStripeCharger(options: StripeOptions): StripeCharger {
  const http = createHttpExchange();
  const stripe = new Stripe(options.secretKey, {
    ...baseOptions(options.apiBase),
    httpClient: stripeHttpClient(http),
    maxNetworkRetries: 0,
    timeout: options.timeoutMs,
    telemetry: false,
  });
  return {
    charge: (request) => outcomeOf(() => createCharge(stripe, request)),
    findCharge: (orderId) => outcomeOf(() => searchCharge(stripe, orderId)),
    refund: (refund) => createRefund(stripe, refund),
    close: () => http.close(),
  };
}

async function createCharge(stripe: Stripe, charge: ChargeRequest): Promise<ChargeOutcome> {
  const intent = await stripe.paymentIntents.create(
    {
      amount: charge.amountCents,
      currency: 'usd',
      customer: charge.customerId,
      payment_method: charge.paymentMethodId,
      // Cards only: no other kind could ask to send a person to a page of its own.
      allowed_payment_method_types: ['card'],
      off_session: true,
      confirm: true,
      metadata: { order_id: charge.orderId, retailer_id: charge.retailerId },
    },
    { idempotencyKey: charge.idempotencyKey },
  );
  // A replayed reply is as old as the first one; only a look shows what a payment in progress has become.
  return fromIntent(intent.status === 'processing' ? await stripe.paymentIntents.retrieve(intent.id) : intent);
}

async function searchCharge(stripe: Stripe, orderId: string): Promise<ChargeLookup> {
  const query = `metadata['order_id']:'${orderId.replace(/[\\']/g, '\\$&')}'`;
  const { data } = await stripe.paymentIntents.search({ query, limit: 100 });
  const newestFirst = data.toSorted((a, b) => b.created - a.created);
  const told =
    newestFirst.find(({ status }) => status === 'succeeded') ??
    newestFirst.find(({ status }) => status === 'processing') ??
    newestFirst[0];
  return told ? fromIntent(told) : { kind: 'not_found' };
}

async function createRefund(
  stripe: Stripe,
  { idempotencyKey, paymentIntentId }: { idempotencyKey: string; paymentIntentId: string },
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
    return withoutAnswer(error) ?? { kind: 'refused', code: error.code ?? 'invalid_request' };
  }
}

async function outcomeOf<Outcome>(call: () => Promise<Outcome>): Promise<Outcome | ChargeOutcome> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof Stripe.errors.StripeError)) throw error;
    return withoutAnswer(error) ?? fromRefusal(error);
  }
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
      return { kind: 'needs_authentication', code: 'authentication_required', paymentIntentId };
    default: {
      const code = refusal?.decline_code ?? refusal?.code ?? intent.status;
      if (code === 'authentication_required') return { kind: 'needs_authentication', code, paymentIntentId };
      return { kind: 'declined', code, paymentIntentId, mayPass: mayPassLater(code, refusal?.advice_code) };
    }
  }
}

/** The replies that decide nothing; undefined for those that do. */
function withoutAnswer(error: Stripe.errors.StripeError): RetryLater | undefined {
  if (error.detail instanceof ExchangeError) return error.detail.outcome;
  if (error instanceof Stripe.errors.StripeRateLimitError) return retryLater('rate_limited');
  if (error instanceof Stripe.errors.StripeIdempotencyError) return retryLater('key_reused');
  const { statusCode } = error;
  if (statusCode === 401 || statusCode === 403) return retryLater('misconfigured');
  if (statusCode === 409) return retryLater('in_progress');
  if (statusCode === undefined || statusCode < 400) return retryLater('bad_reply');
  if (statusCode >= 500) return retryLater('server_error');
  return error.rawType === 'api_error' ? retryLater('bad_reply') : undefined;
}

function fromRefusal(error: Stripe.errors.StripeError): ChargeOutcome {
  const intent = error.payment_intent ? { paymentIntentId: error.payment_intent.id } : {};
  const code = error.decline_code || error.code || 'invalid_request';
  if (code === 'authentication_required' || error.code === 'authentication_required') {
    return { kind: 'needs_authentication', code, ...intent };
  }
  if (error instanceof Stripe.errors.StripeCardError) {
    return { kind: 'declined', code, ...intent, mayPass: mayPassLater(code, error.advice_code) };
  }
  const aboutCard = error.param === 'customer' || error.param === 'payment_method' || code === 'resource_missing';
  return aboutCard ? { kind: 'no_card', code } : { kind: 'declined', code, ...intent, mayPass: false };
}

function baseOptions(apiBase: string | undefined): Stripe.StripeConfig {
  if (apiBase === undefined) return {};
  const { protocol, hostname, port } = new URL(apiBase);
  const secure = protocol === 'https:';
  return { protocol: secure ? 'https' : 'http', host: hostname, port: port || (secure ? 443 : 80) };
}

function stripeHttpClient(http: HttpExchange): Stripe.HttpClient {
  return {
    getClientName: () => 'node',
    async makeRequest(host, port, path, method, headers, body, protocol, timeoutMs) {
      const reply = await http.send({
        protocol: protocol === 'http' ? 'http:' : 'https:',
        host,
        port,
        path,
        method,
        headers: headers as OutgoingHttpHeaders,
        body,
        timeoutMs,
      });
      return {
        getStatusCode: () => reply.status,
        getHeaders: () => reply.headers as Record<string, string | string[]>,
        getRawResponse: () => ({ statusCode: reply.status }),
        toStream: () => {
          throw new Error('streamed replies are not used');
        },
        toJSON: async () => parseReply(reply.status, reply.body),
      };
    },
  };
}

/**
 * What a proxy says instead of Stripe, a page or JSON of its own, keeps its status and decides nothing: the charge may have
 * been made by an earlier try. @throws SyntaxError for a success without JSON.
 */
function parseReply(status: number, body: string): unknown {
  const ofAnother = { error: { type: 'api_error', message: "not Stripe's" } };
  try {
    const reply = JSON.parse(body);
    return status < 400 || typeof reply?.error?.type === 'string' ? reply : ofAnother;
  } catch (error) {
    if (status < 400) throw error;
    return ofAnother;
  }
}
