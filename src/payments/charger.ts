import type { RetryLater } from '../vendors/retry-later.ts';

export type ChargeRequest = {
  /** Stored before sending. The same key never charges twice; Stripe keeps it for 24 hours. */
  readonly idempotencyKey: string;
  /** US cents. */
  readonly amountCents: number;
  /** The store's customer and card at Stripe: `cus_…`, `pm_…`. */
  readonly customerId: string;
  readonly paymentMethodId: string;
  readonly orderId: string;
  readonly retailerId: string;
};

/** `says`: the provider's own words. */
export type ChargeOutcome =
  | { readonly kind: 'paid'; readonly paymentIntentId: string }
  /** A definite refusal. A new attempt under a new key could succeed so much later: 0 at once, null never. */
  | {
      readonly kind: 'declined';
      readonly code: string;
      readonly says?: string | undefined;
      readonly retryAfterSeconds: number | null;
    }
  /**
   * Stripe refuses what is neither the store's nor its card's matter, such as every charge of an account that it
   * restricts. It repeats that under the key, so a charge that is sent again needs another one.
   */
  | { readonly kind: 'account_refused'; readonly code: string; readonly says?: string | undefined }
  | RetryLater;

/** `unfinished`: payments that Stripe may still finish. Each has to be cancelled before another one is asked for. */
export type ChargeLookup =
  | ChargeOutcome
  | { readonly kind: 'not_found' }
  | { readonly kind: 'unfinished'; readonly paymentIntentIds: readonly string[] };

/** `canceled`: it is never made. */
export type CancelOutcome = { readonly kind: 'canceled' } | Extract<ChargeOutcome, { kind: 'paid' }> | RetryLater;

export type RefundOutcome =
  | { readonly kind: 'refunded'; readonly refundId: string | null }
  | { readonly kind: 'refused'; readonly code: string; readonly says?: string | undefined }
  | RetryLater;

/** A payment provider. No method throws for an answer of the provider or the lack of one. */
export type Charger = {
  /** Charges a stored card without its holder. */
  charge(request: ChargeRequest): Promise<ChargeOutcome>;
  /**
   * What became of an order's charges, for keys too old to be sent again. Never call it right after a charge:
   * Stripe's search lags behind its writes by about a minute, or longer in an outage of theirs.
   */
  findCharge(orderId: string): Promise<ChargeLookup>;
  /**
   * The same for an attempt first sent at a time of the database's clock, without a lag, from the payments of its
   * customer since then. For a key under which only a failure is repeated.
   */
  findRecentCharge(attempt: {
    readonly orderId: string;
    readonly customerId: string;
    readonly sentAtMs: number;
  }): Promise<ChargeLookup>;
  /** Cancels a payment without a result, unless it was paid meanwhile. */
  cancel(paymentIntentId: string): Promise<CancelOutcome>;
  /** Refunds a payment in full. A payment that is refunded already counts as refunded. */
  refund(refund: { readonly idempotencyKey: string; readonly paymentIntentId: string }): Promise<RefundOutcome>;
  close(): void;
};
