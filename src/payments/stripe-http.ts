import type { OutgoingHttpHeaders } from 'node:http';
import Stripe from 'stripe';
import { ExchangeError, type HttpExchange } from '../vendors/http-exchange.ts';
import { type RetryLater, retryLater } from '../vendors/retry-later.ts';

export type StripeOptions = {
  readonly secretKey: string;
  /** Base URL of another server that speaks Stripe's API. */
  readonly apiBase?: string | null | undefined;
  /** Longest call. A connection found closed is tried once more, with a time-out of its own. */
  readonly timeoutMs: number;
};

/** Opens Stripe's SDK on the bounded exchange, without retries of its own. */
export function openStripe({ secretKey, apiBase, timeoutMs }: StripeOptions, http: HttpExchange): Stripe {
  const { protocol, host, port } = serverOf(apiBase);
  return new Stripe(secretKey, {
    protocol: protocol === 'https:' ? 'https' : 'http',
    host,
    port,
    httpClient: stripeHttpClient(http),
    maxNetworkRetries: 0,
    timeout: timeoutMs,
    telemetry: false,
  });
}

/** The outcome of a reply that decides nothing; undefined for one that does. */
export function withoutAnswer(error: InstanceType<typeof Stripe.errors.StripeError>): RetryLater | undefined {
  if (error.detail instanceof ExchangeError) return error.detail.outcome;
  const { statusCode } = error;
  const isReplay = error.headers?.['idempotent-replayed'] === 'true';
  // Another call holds objects of one store: no rate is reached, and other charges go on.
  if (statusCode === 429 && error.code === 'lock_timeout')
    return retryLater(isReplay ? 'replayed_error' : 'in_progress');
  if (error instanceof Stripe.errors.StripeRateLimitError) return retryLater('rate_limited');
  if (error instanceof Stripe.errors.StripeIdempotencyError) return retryLater('key_reused');
  if (statusCode === 401 || statusCode === 403) return retryLater('misconfigured');
  if (statusCode === 409) return retryLater('in_progress');
  if (statusCode === undefined || statusCode < 400) return retryLater('bad_reply');
  if (statusCode >= 500) return retryLater(isReplay ? 'replayed_error' : 'server_error');
  return error.rawType === 'api_error' ? retryLater('bad_reply') : undefined;
}

/** Where calls go: to Stripe, or to another server that speaks its API. */
export function serverOf(apiBase: StripeOptions['apiBase']) {
  const { protocol, hostname: host, port } = new URL(apiBase || 'https://api.stripe.com');
  const isSecure = protocol === 'https:';
  return { protocol: isSecure ? 'https:' : 'http:', host, port: port || (isSecure ? 443 : 80) } as const;
}

/** Puts the bounded exchange below Stripe's SDK. */
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
          throw new Error('streamed replies are not supported');
        },
        toJSON: async () => parseReply(reply.status, reply.body),
      };
    },
  };
}

/**
 * A proxy's own reply, a page or JSON, keeps its status and decides nothing, since an earlier attempt may
 * have charged. It is an object too: on another value the SDK fails where nobody catches it.
 */
export function parseReply(status: number, body: string): object {
  try {
    const reply = JSON.parse(body);
    if (typeof reply === 'object' && reply !== null && (status < 400 || typeof reply.error?.type === 'string')) {
      return reply;
    }
  } catch {
    // A page.
  }
  return { error: { type: 'api_error', message: "not Stripe's" } };
}
