import { ERROR_CODES, type ErrorCode } from '../../domain/errors.ts';
import type { JsonSchema } from '../../transport/operation.ts';
import { type Components, type HeaderName, RATE_HEADERS } from './components.ts';
import { BOOLEAN, choice, listOf, object, STRING } from './schema.ts';

/** What each error means to a caller. `docs/integrate.md` says the same. */
export const ERROR_TEXTS: Readonly<Record<ErrorCode, string>> = {
  malformed_json: 'The body is not a JSON object in UTF-8.',
  invalid_request:
    'Some fields are not usable, or no driver goes there; `fields` names them. Also sent for a key test.',
  unauthorized:
    'The key is missing or wrong, belongs to another store or mode, or the store is not active. ' +
    "So is a chain's key at `POST /orders/create`.",
  forbidden: "The key is good, and has no right to this: a chain's key only reads, and manages webhooks of its own.",
  not_found: 'There is no such address, or no such order or webhook of your store.',
  method_not_allowed: 'The address does not take this method; the header `Allow` says which.',
  request_timeout: 'The body did not arrive in time. Nothing happened.',
  illegal_transition:
    'The order, or its payment, is past the step you asked for, or a webhook cannot take it: `message` says why. ' +
    'Nothing was changed.',
  idempotency_key_reused: 'The key was used for something else. Nothing was changed.',
  gone: 'The tracking link has expired.',
  payload_too_large:
    "The body is larger than 64 KiB (a batch: 512 KiB, a driver's photo: 10 MB, a customer's notes: 8 KiB).",
  unsupported_media_type:
    'The `Content-Type` is not `application/json` in UTF-8, or the body has a `Content-Encoding`, such as gzip.',
  unusable_photo: 'Only for drivers: the photo cannot be used.',
  rate_limited: 'Nothing happened. Send it again after `Retry-After` seconds.',
  too_many_releases: 'Only for drivers: they gave back too many orders, and keep this one.',
  internal: 'Nothing happened. Send it again.',
  unavailable: 'Nothing happened. Send it again after `Retry-After` seconds.',
  queue_full: 'Too many orders wait for a driver. Nothing happened. Send it again later.',
  outcome_unknown:
    'It may or may not have been done. Send an order or a cancellation again with the same key; for anything else ' +
    'look at what is there first.',
};

const CODES = Object.keys(ERROR_CODES) as ErrorCode[];

/** What a program decides by. */
function failureOf(codes: readonly ErrorCode[]): JsonSchema {
  return object({
    code: choice(codes),
    retryable: BOOLEAN,
    fields: listOf(object({ field: STRING, message: STRING })),
  });
}
/** The same with every code. */
export const FAILURE = failureOf(CODES);

/** The body of an error with one of these codes (`errorReply`). */
function errorOf(codes: readonly ErrorCode[]): JsonSchema {
  return object({
    success: { type: 'boolean', const: false },
    message: STRING,
    error: failureOf(codes),
    request_id: STRING,
  });
}

const HEADERS_OF: Readonly<Record<number, readonly HeaderName[]>> = {
  405: ['Allow'],
  429: ['Retry-After', ...RATE_HEADERS],
  503: ['Retry-After'],
};

/** The replies of a route that may fail with these errors, by status. */
export function errorReplies(codes: ReadonlySet<ErrorCode>, components: Components): Record<number, object> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of CODES) {
    const { status } = ERROR_CODES[code];
    if (codes.has(code)) byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const replies = [...byStatus].map(([status, ofStatus]) => {
    const reply = components.useReply(ofStatus.join('_or_'), () => errorReply(status, ofStatus, components));
    return [status, reply] as const;
  });
  return Object.fromEntries(replies);
}

function errorReply(status: number, codes: readonly ErrorCode[], components: Components): object {
  return {
    description: codes.map((code) => `\`${code}\`: ${ERROR_TEXTS[code]}`).join('\n\n'),
    headers: components.useHeaders('X-Request-Id', ...(HEADERS_OF[status] ?? [])),
    content: {
      'application/json': {
        schema: components.use(errorOf(codes), ['Error']),
        examples: Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code) }])),
      },
    },
  };
}

function exampleOf(code: ErrorCode): object {
  const phone = { field: 'customer.phone', message: 'must be in E.164 form, like +14155550123' };
  const fields = code === 'invalid_request' ? [phone] : [];
  return {
    success: false,
    message: ERROR_TEXTS[code],
    error: { code, retryable: ERROR_CODES[code].retryable, fields },
    request_id: '01a2037f-5327-7fa7-8921-750dd4adb40f',
  };
}
