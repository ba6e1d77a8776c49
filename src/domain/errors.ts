/**
 * Every error code that a caller can see, its HTTP status, and whether the same request can succeed later.
 */
export const ERROR_CODES = {
  malformed_json: { status: 400, retryable: false },
  invalid_request: { status: 400, retryable: false },
  unauthorized: { status: 401, retryable: false },
  forbidden: { status: 403, retryable: false },
  not_found: { status: 404, retryable: false },
  method_not_allowed: { status: 405, retryable: false },
  request_timeout: { status: 408, retryable: true },
  illegal_transition: { status: 409, retryable: false },
  idempotency_key_reused: { status: 409, retryable: false },
  gone: { status: 410, retryable: false },
  payload_too_large: { status: 413, retryable: false },
  unsupported_media_type: { status: 415, retryable: false },
  unusable_photo: { status: 422, retryable: false },
  rate_limited: { status: 429, retryable: true },
  too_many_releases: { status: 429, retryable: true },
  internal: { status: 500, retryable: true },
  unavailable: { status: 503, retryable: true },
  queue_full: { status: 503, retryable: true },
  outcome_unknown: { status: 504, retryable: true },
} as const satisfies Record<string, { status: number; retryable: boolean }>;

export type ErrorCode = keyof typeof ERROR_CODES;

/** What is wrong with one field of a request; `field` is a dotted path such as `customer.phone`. */
export type FieldError = { readonly field: string; readonly message: string };

/** An error that becomes a reply. Its message is public, its cause is not. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly fields: readonly FieldError[];
  /** Seconds after which the caller may try again, where that is known. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { fields?: readonly FieldError[]; cause?: unknown; retryAfterSeconds?: number } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'ServiceError';
    this.code = code;
    this.fields = options.fields ?? [];
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}
