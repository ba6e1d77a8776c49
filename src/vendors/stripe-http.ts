import type { OutgoingHttpHeaders } from 'node:http';
import type Stripe from 'stripe';
import type { HttpExchange } from './http-exchange.ts';

/** Another server that speaks Stripe's API, as the SDK's options name it. */
export function baseOptions(apiBase: string | undefined): Stripe.StripeConfig {
  if (apiBase === undefined) return {};
  const { protocol, hostname, port } = new URL(apiBase);
  const secure = protocol === 'https:';
  return { protocol: secure ? 'https' : 'http', host: hostname, port: port || (secure ? 443 : 80) };
}

/** Puts the bounded exchange below Stripe's SDK. */
export function stripeHttpClient(http: HttpExchange): Stripe.HttpClient {
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
 * have charged.
 *
 * @throws {SyntaxError} for a success without JSON
 */
function parseReply(status: number, body: string): unknown {
  const notStripes = { error: { type: 'api_error', message: "not Stripe's" } };
  try {
    const reply = JSON.parse(body);
    return status < 400 || typeof reply?.error?.type === 'string' ? reply : notStripes;
  } catch (error) {
    if (status < 400) throw error;
    return notStripes;
  }
}
