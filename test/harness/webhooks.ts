import { createServer, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { listen } from './listen.ts';
import { checkWebhook } from './reply-check.ts';

/**
 * Verifies a webhook as a store does: the package of Standard Webhooks checks the signature and the time.
 *
 * @returns the parsed body
 * @throws if the webhook cannot be trusted
 */
export function verifyWebhook(secret: string, headers: IncomingHttpHeaders, body: string): unknown {
  const texts = Object.entries(headers).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : []));
  return new Webhook(secret).verify(body, Object.fromEntries(texts) as Record<string, string>);
}

export type WebhookEvent = {
  readonly type: string;
  readonly timestamp: string;
  readonly data: Record<string, unknown>;
};
export type SeenWebhook = {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly event: WebhookEvent;
};

export type WebhookReceiver = {
  /** The URL without a path. */
  readonly url: string;
  /** The webhooks received, oldest first. */
  readonly seen: readonly SeenWebhook[];
  close(): void;
};

/**
 * Starts a store's server on 127.0.0.1.
 *
 * @param answer the status of the answer to a webhook; null never answers
 */
export async function startWebhookReceiver(answer: (seen: SeenWebhook) => number | null): Promise<WebhookReceiver> {
  const seen: SeenWebhook[] = [];
  const server = createServer((request, response) => {
    const heard = (body: string) => {
      const one = { path: request.url ?? '/', headers: request.headers, body, event: JSON.parse(body) };
      seen.push(one);
      void checkWebhook(one.event);
      const status = answer(one);
      if (status !== null) response.writeHead(status).end();
    };
    // A sender that is killed within its body is not heard.
    void text(request).then(heard, () => undefined);
  });
  const { url, close } = await listen(server);
  return { url, seen, close: () => void close() };
}
