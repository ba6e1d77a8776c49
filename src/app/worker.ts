import { listenForNotices } from '../bus/notices.ts';
import { createLocateJob, LOCATE_CONCURRENCY, LOCATE_TIMEOUT_MS } from '../dispatch/locate-job.ts';
import { startEventWriter } from '../events/event-writer.ts';
import { createWebhookJob } from '../events/webhook.ts';
import { MAX_JOB_STATEMENTS, WEBHOOK_CONCURRENCY } from '../limits.ts';
import { CHARGE_CONCURRENCY, createChargeJob } from '../payments/charge.ts';
import { createRefundJob } from '../payments/refund.ts';
import { limitConcurrency } from '../postgres/batched-reads.ts';
import type { JobHandlers } from '../queues/job-handler.ts';
import { createJobLossCheck } from '../queues/job-loss.ts';
import { startWorker, type WorkerSettings } from '../queues/queues.ts';
import { startSweeper } from '../queues/sweeper.ts';
import type { ServiceParts } from '../runtime/parts.ts';
import { watchVendor } from '../runtime/vendor-watch.ts';
import { WEBHOOK_QUEUES } from '../store/events/webhook-parts.ts';
import { createSmsJob, createTextJob } from '../texts/text-jobs.ts';
import { SMS_CONCURRENCY } from '../texts/texting.ts';
import { statusUrlOf } from '../texts/twilio-calls.ts';
import { phonesOf } from '../vendors/sms-countries.ts';
import { createWebhookClient } from '../vendors/webhook-client.ts';
import { openPlaces } from './places.ts';
import { openVendors, twilioReaches, type Vendors, vendorRates } from './vendors.ts';

type Work = <Queue extends keyof JobHandlers>(
  queue: Queue,
  handle: JobHandlers[Queue],
  settings: Pick<WorkerSettings, 'concurrency'> & Partial<WorkerSettings>,
) => void;

/**
 * Opens the workers of this process, of both roles. They are closed side by side, so that each has JOB_FINISH_MS
 * of a stop.
 *
 * @returns starts the worker of a queue
 */
export function openWorkers({ database, store, backend, pace, clock, logger, closers }: ServiceParts): Work {
  const running = { database, pace, clock, putBack: store.putBack };
  const workers: { close(): Promise<void> }[] = [];
  closers.add('workers', () => Promise.all(workers.map((worker) => worker.close())));
  return (queue, handle, settings) => {
    workers.push(startWorker(queue, backend, handle, { ratePerSecond: 0, ...running, ...settings }, logger));
  };
}

/**
 * Starts the `worker` role: charges, refunds, texts, dropoffs, webhooks, event writer and outbox sweeper.
 *
 * @param apiUrl the API's address where it is in this process
 * @returns starts the worker of another queue
 */
export async function startWorkers(parts: ServiceParts, trackingUrl: string, apiUrl: string | null): Promise<Work> {
  const { config, database, store, backend, relay, pace, paymentWait, logger, closers } = parts;
  const { stripe, texts } = watched(await openVendors(config, closers), parts);
  const shared = { ...parts, orderLocks: limitConcurrency(MAX_JOB_STATEMENTS), random: Math.random };

  const work = openWorkers(parts);
  const rates = vendorRates(config);
  const charging = { concurrency: CHARGE_CONCURRENCY, ratePerSecond: rates.charges };
  work('charge', createChargeJob({ ...shared, stripe }), { ...charging, isAwaited: paymentWait.isAwaited });
  work('refund', createRefundJob({ ...shared, stripe }), charging);
  const texting = { concurrency: SMS_CONCURRENCY, ratePerSecond: rates.texts };
  const reached = twilioReaches(config, apiUrl);
  const textParts = {
    ...shared,
    texts,
    trackingUrl,
    statusUrlOf: reached === null ? undefined : statusUrlOf.bind(null, reached),
    mayText: phonesOf(config.sms.countries),
    bounds: config.sms,
  };
  work('sms', createSmsJob(textParts), texting);
  work('text', createTextJob(textParts), texting);
  const places = openPlaces(config, LOCATE_TIMEOUT_MS);
  work('locate', createLocateJob({ ...shared, places }), { concurrency: LOCATE_CONCURRENCY });
  const client = createWebhookClient({ sandbox: config.sandbox });
  const sendWebhook = createWebhookJob({ ...shared, client });
  for (const queue of WEBHOOK_QUEUES) work(queue, sendWebhook, { concurrency: WEBHOOK_CONCURRENCY });
  // Closed before the workers, so that a stop does not wait for slow receivers.
  closers.add('webhook client', async () => client.close());
  const sweeper = startSweeper(store, relay, createJobLossCheck(backend), logger);
  closers.add('sweeper', () => sweeper.close());
  const writer = startEventWriter(store, relay, pace, logger);
  closers.add('event writer', () => writer.close());
  const stop = await listenForNotices(
    database.sql,
    database.processId,
    {
      changed({ kind }) {
        if (kind === 'jobs') sweeper.sweepSoon();
        // Every change of an order has a notice, with its commit.
        else if (kind === 'order' || kind === 'details') writer.wake();
      },
      // A notice that was missed is made up for by the next sweep.
      listening: () => undefined,
    },
    logger,
  );
  closers.add("workers' notices", stop);
  return work;
}

function watched({ stripe, texts }: Vendors, parts: ServiceParts): Vendors {
  const ofStripe = watchVendor('stripe', parts);
  const ofTwilio = watchVendor('twilio', parts);
  const { charge, findCharge, findRecentCharge, cancel, refund } = stripe;
  const { send, find } = texts;
  return {
    stripe: {
      ...stripe,
      charge: ofStripe(charge),
      findCharge: ofStripe(findCharge),
      findRecentCharge: ofStripe(findRecentCharge),
      cancel: ofStripe(cancel),
      refund: ofStripe(refund),
    },
    texts: { ...texts, send: ofTwilio(send), find: ofTwilio(find) },
  };
}
