import { ERROR_CODES, ServiceError } from '../domain/errors.ts';
import { RETRY_AFTER_SECONDS } from '../limits.ts';
import type { Reply } from './route.ts';

type Headers = Readonly<Record<string, string>>;

/** A JSON reply. `value` has wire names (snake_case); undefined members are left out. */
export function json(status: number, value: unknown, headers: Headers = {}): Reply {
  return {
    status,
    headers: { 'Content-Type': 'application/json; charset=utf-8', ...headers },
    body: JSON.stringify(value),
  };
}

export function text(status: number, body: string, headers: Headers = {}): Reply {
  return { status, headers: { 'Content-Type': 'text/plain; charset=utf-8', ...headers }, body };
}

/** Bytes of any type, such as a photo or a script. */
export function bytes(status: number, contentType: string, body: Buffer, headers: Headers = {}): Reply {
  return { status, headers: { 'Content-Type': contentType, ...headers }, body };
}

/**
 * The reply to an error; every error is written here. Of an error that is not a `ServiceError` the caller
 * learns only that it happened, so whoever caught it logs it.
 */
export function errorReply(error: unknown, requestId: string, supportEmail: string, headers: Headers = {}): Reply {
  const known =
    error instanceof ServiceError ? error : new ServiceError('internal', INTERNAL_MESSAGE, { cause: error });
  const { status, retryable } = ERROR_CODES[known.code];
  const body = {
    success: false,
    message:
      known.code === 'unauthorized' ? `${known.message} For help with keys write to ${supportEmail}.` : known.message,
    error: { code: known.code, retryable, fields: known.fields },
    request_id: requestId,
  };
  return json(status, body, { ...headersOf(status, known.retryAfterSeconds), ...headers });
}

const INTERNAL_MESSAGE = 'Something went wrong on our side and nothing was done. It is safe to try again.';

function headersOf(status: number, retryAfterSeconds = RETRY_AFTER_SECONDS): Headers {
  if (status === 401) return { 'WWW-Authenticate': 'Bearer' };
  if (status === 429 || status === 503) return { 'Retry-After': String(retryAfterSeconds) };
  return {};
}
