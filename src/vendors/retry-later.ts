/**
 * A vendor's call that had no definite answer. `rateLimited`: the vendor asked for patience, which costs no attempt.
 * `ambiguous`: what was asked for may have happened all the same.
 */
export type RetryLater = {
  readonly kind: 'retry_later';
  readonly reason: RetryReason;
  readonly rateLimited: boolean;
  readonly ambiguous: boolean;
};

const RETRY_REASONS = {
  /** Nobody answered at the vendor's address: nothing was sent. */
  unreachable: { rateLimited: false, ambiguous: false },
  /** The request was sent and no answer came in time. */
  timeout: { rateLimited: false, ambiguous: true },
  /** The connection broke after the request had been sent. */
  connection_lost: { rateLimited: false, ambiguous: true },
  /** 5xx: vendors do not say how far they got. */
  server_error: { rateLimited: false, ambiguous: true },
  /** An answer that is not the vendor's: cut short, too large or not JSON. */
  bad_reply: { rateLimited: false, ambiguous: true },
  /** An earlier request under the same idempotency key is still at work. */
  in_progress: { rateLimited: false, ambiguous: true },
  /** The idempotency key was used with other parameters: what became of that request has to be looked up. */
  key_reused: { rateLimited: false, ambiguous: true },
  rate_limited: { rateLimited: true, ambiguous: false },
  /** The vendor does not accept our credentials: an operator has to act, then the same call can pass. */
  misconfigured: { rateLimited: false, ambiguous: false },
} as const satisfies Record<string, { rateLimited: boolean; ambiguous: boolean }>;

export type RetryReason = keyof typeof RETRY_REASONS;

export function retryLater(reason: RetryReason): RetryLater {
  return { kind: 'retry_later', reason, ...RETRY_REASONS[reason] };
}
