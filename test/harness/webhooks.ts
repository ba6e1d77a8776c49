import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Webhook } from 'standardwebhooks';
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
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      const one = { path: request.url ?? '/', headers: request.headers, body, event: JSON.parse(body) };
      seen.push(one);
      void checkWebhook(one.event);
      const status = answer(one);
      if (status !== null) response.writeHead(status).end();
    });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
