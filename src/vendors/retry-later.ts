/**
 * The outcome of a call without a definite answer. `rateLimited`: the vendor asked to wait, which costs no
 * attempt. `ambiguous`: the call may have had its effect.
 */
export type RetryLater = {
  readonly kind: 'retry_later';
  readonly reason: RetryReason;
  readonly rateLimited: boolean;
  readonly ambiguous: boolean;
};

const RETRY_REASONS = {
  /** No connection was made, so nothing was sent. */
  unreachable: { rateLimited: false, ambiguous: false },
  /** The request was sent and no answer came in time. */
  timeout: { rateLimited: false, ambiguous: true },
  /** The connection broke after the request had been sent. */
  connection_lost: { rateLimited: false, ambiguous: true },
  /** A 5xx, which does not say how far the vendor got. */
  server_error: { rateLimited: false, ambiguous: true },
  /** A failure that Stripe repeats under this key for as long as it keeps it, whatever became of the request. */
  replayed_error: { rateLimited: false, ambiguous: true },
  /** A reply that cannot be the vendor's: cut short, too large or not JSON. */
  bad_reply: { rateLimited: false, ambiguous: true },
  /** An earlier request under the same idempotency key, or another one of the same store's, is in progress. */
  in_progress: { rateLimited: false, ambiguous: true },
  /** The idempotency key was used with other parameters; what became of that request has to be looked up. */
  key_reused: { rateLimited: false, ambiguous: true },
  rate_limited: { rateLimited: true, ambiguous: false },
  /** The vendor refuses the credentials. The same call can succeed once an operator has corrected them. */
  misconfigured: { rateLimited: false, ambiguous: false },
} as const satisfies Record<string, { rateLimited: boolean; ambiguous: boolean }>;

export type RetryReason = keyof typeof RETRY_REASONS;

export function retryLater(reason: RetryReason): RetryLater {
  return { kind: 'retry_later', reason, ...RETRY_REASONS[reason] };
}
