import type { Config } from '../config.ts';
import type { PaymentStatus } from '../domain/order.ts';
import { createRefundJob } from '../jobs/refund.ts';
import {
  CHARGE_CONCURRENCY,
  DRIVER_ACTIONS_KEPT_DAYS,
  MAX_JOB_STATEMENTS,
  OUTBOX_KEPT_DAYS,
  SMS_CONCURRENCY,
  WEBHOOK_KEPT_DAYS,
} from '../limits.ts';
import { limitConcurrency } from '../postgres/batched-reads.ts';
import { createQueueMemory } from '../queues/memory.ts';
import { type QueueBackend, startWorker } from '../queues/queues.ts';
import type { Relay } from '../queues/relay.ts';
import { startSweeper } from '../queues/sweeper.ts';
import type { ChangedOrder } from '../store/changes.ts';
import { endLeases, finishOutbox, pruneOutbox, takeExpired } from '../store/outbox.ts';
import { readRefundState, recordRefund, recordRefundRefused, recordUncharged } from '../store/refunds.ts';
import { pruneRequests } from '../store/request-dedup.ts';
import { pruneDriverActions } from '../store/upkeep.ts';
import { pruneDeliveries } from '../store/webhook-endpoints.ts';
import type { Logger } from '../telemetry.ts';
import type { Closers } from './closers.ts';
import type { Database } from './database.ts';
import { startLocating } from './locate.ts';
import { buildChargeJob, buildSmsJob } from './vendor-jobs.ts';
import { openVendors } from './vendors.ts';
import { startWebhooks } from './webhooks.ts';

/**
 * The `worker` role: charges, texts, refunds, webhooks and the outbox sweeper.
 *
 * @param settled tells an API in the same process; another process hears it by the notice
 */
export async function startWorkers(
  parts: {
    readonly config: Config;
    readonly database: Database;
    readonly backend: QueueBackend;
    readonly relay: Relay;
    readonly origin: string;
    readonly now: () => number;
    readonly trackingUrl: string;
    readonly settled: (orderId: string, payment: PaymentStatus | null) => void;
  },
  logger: Logger,
  closers: Closers,
): Promise<void> {
  const { config, backend, origin } = parts;
  const { sql } = parts.database;
  const { stripe, twilio } = await openVendors(config, closers);
  const finish = (outboxId: number) => finishOutbox(sql, outboxId, null);
  /** What a settled charge or refund makes owed (the store is told of it) is handed over like any other commit's. */
  const relayed = async (settling: Promise<ChangedOrder | null>) => {
    const changed = await settling;
    if (changed) parts.relay.relay(changed.outbox);
    return changed;
  };

  const common = { sql, origin, finish, lane: limitConcurrency(MAX_JOB_STATEMENTS) };
  const { trackingUrl, now } = parts;
  const chargeJob = buildChargeJob({ ...common, stripe, relayed, now }, parts.settled);
  const smsJob = buildSmsJob({ ...common, twilio, trackingUrl, now }, (orderId) => parts.settled(orderId, null));

  const refundJob = createRefundJob({
    read: (orderId) => readRefundState(sql, orderId),
    refund: stripe.refund,
    recordRefund: (orderId, refundId, outboxId) => relayed(recordRefund(sql, orderId, refundId, outboxId, origin)),
    recordRefused: (orderId, code, outboxId) => relayed(recordRefundRefused(sql, orderId, code, outboxId, origin)),
    recordUncharged: (orderId, outboxId) => relayed(recordUncharged(sql, orderId, outboxId, origin)),
    finish,
    settled: (orderId) => parts.settled(orderId, null),
    logger,
  });

  const { isAway } = parts.database;
  const stripeRate = { concurrency: CHARGE_CONCURRENCY, ratePerSecond: config.stripe?.rate ?? 0, isAway };
  const charges = startWorker('charge', backend, chargeJob, stripeRate, logger);
  const twilioRate = { concurrency: SMS_CONCURRENCY, ratePerSecond: config.twilio?.rate ?? 0, isAway };
  const texts = startWorker('sms', backend, smsJob, twilioRate, logger);
  const refunds = startWorker('refund', backend, refundJob, stripeRate, logger);
  closers.add('workers', () => Promise.all([charges.close(), texts.close(), refunds.close()]));
  startWebhooks({ ...parts, sandbox: config.sandbox, sql, isAway }, logger, closers);
  startLocating({ ...parts, sql, isAway, located: (orderId) => parts.settled(orderId, null) }, logger, closers);
  const sweeper = startSweeper(
    {
      takeExpired: (limit, queues) => takeExpired(sql, limit, queues),
      endLeases: (limit) => endLeases(sql, limit),
      prunes: {
        'done jobs': (limit) => pruneOutbox(sql, OUTBOX_KEPT_DAYS, limit),
        'webhook deliveries': (limit) => pruneDeliveries(sql, WEBHOOK_KEPT_DAYS, limit),
        'driver actions': (limit) => pruneDriverActions(sql, DRIVER_ACTIONS_KEPT_DAYS, limit),
        'unheard requests': (limit) => pruneRequests(sql, limit),
      },
    },
    parts.relay,
    createQueueMemory(backend),
    logger,
  );
  closers.add('sweeper', () => sweeper.close());
}
