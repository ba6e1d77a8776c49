import { createWebhookJob } from '../jobs/webhook.ts';
import { WEBHOOK_CONCURRENCY } from '../limits.ts';
import type { Sql } from '../postgres/connect.ts';
import { type QueueBackend, startWorker } from '../queues/queues.ts';
import type { Relay } from '../queues/relay.ts';
import { finishOutbox } from '../store/outbox.ts';
import {
  openDelivery,
  putOffDelivery,
  recordDelivered,
  recordFailedTry,
  recordUndeliverable,
} from '../store/webhooks.ts';
import type { Logger } from '../telemetry.ts';
import { createWebhookClient } from '../vendors/webhook-client.ts';
import { signWebhook } from '../vendors/webhook-signature.ts';
import type { Closers } from './closers.ts';

/** The worker that tells stores what became of their orders. */
export function startWebhooks(
  parts: {
    readonly sandbox: boolean;
    readonly sql: Sql;
    readonly backend: QueueBackend;
    readonly relay: Relay;
    readonly now: () => number;
    readonly isAway: () => boolean;
  },
  logger: Logger,
  closers: Closers,
): void {
  const { sql, now } = parts;
  const client = createWebhookClient({ sandbox: parts.sandbox });
  const webhookJob = createWebhookJob({
    open: (outboxId) => openDelivery(sql, outboxId),
    send: ({ id, payload, endpoint: { url, secret } }) =>
      client.post({ url, headers: signWebhook(secret, id, now(), payload), body: payload }),
    recordDelivered: (delivery, result) => recordDelivered(sql, delivery, result),
    recordFailedTry: (delivery, failed) => recordFailedTry(sql, delivery, failed),
    recordUndeliverable: (delivery, why) => recordUndeliverable(sql, delivery, why),
    putOff: (delivery, seconds) => putOffDelivery(sql, delivery, seconds),
    relay: parts.relay.relay,
    finish: (outboxId) => finishOutbox(sql, outboxId, null),
    random: Math.random,
    logger,
  });
  const concurrency = { concurrency: WEBHOOK_CONCURRENCY, ratePerSecond: 0, isAway: parts.isAway };
  const worker = startWorker('webhook', parts.backend, webhookJob, concurrency, logger);
  closers.add('webhook worker', () => worker.close());
  // Closed before its worker, so that a stop does not wait for slow receivers.
  closers.add('webhook client', async () => client.close());
}
