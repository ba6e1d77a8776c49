/**
 * The service's own queues with handlers that only write the row, as the plain service's worker does: charge
 * and text, each with its outbox row marked done by the same statement.
 */
import { Redis } from 'ioredis';
import { MAX_JOB_STATEMENTS } from '../../src/limits.ts';
import { CHARGE_CONCURRENCY } from '../../src/payments/charge.ts';
import { batched, limitConcurrency } from '../../src/postgres/batched-reads.ts';
import { connect } from '../../src/postgres/connect.ts';
import { MAX_JOBS_PER_STATEMENT } from '../../src/queues/in-batches.ts';
import type { JobData, JobResult } from '../../src/queues/job-handler.ts';
import { JobPace } from '../../src/queues/job-pace.ts';
import { startWorker } from '../../src/queues/queues.ts';
import { createLogger } from '../../src/telemetry.ts';
import { SMS_CONCURRENCY } from '../../src/texts/texting.ts';

const logger = createLogger('warn');
const sql = connect({ url: process.env.DATABASE_URL as string, applicationName: 'bench worker' });
const connection = new Redis(process.env.REDIS_URL as string, { maxRetriesPerRequest: null });
const backend = { kind: 'redis', connection, prefix: 'sameday' } as const;

const DONE: JobResult = { kind: 'done' };
const limit = limitConcurrency(MAX_JOB_STATEMENTS);

/** A handler whose concurrent jobs share a statement, as the service's do. */
function handler(
  write: (orderIds: string[], outboxIds: number[]) => Promise<unknown>,
): (job: JobData) => Promise<JobResult> {
  const run = batched(
    async (jobs: readonly JobData[]) => {
      await write(
        jobs.map(({ orderId }) => orderId),
        jobs.map(({ outboxId }) => outboxId),
      );
      return new Map(jobs.map(({ orderId }) => [orderId, DONE]));
    },
    ({ orderId }) => orderId,
    MAX_JOBS_PER_STATEMENT,
    limit,
  );
  return async (job) => (await run(job)) ?? DONE;
}

const charge = handler(
  (orderIds, outboxIds) => sql`
    with done as (update outbox set done_at = now() where id = any(${outboxIds}::int8[]))
    update orders set payment_status = 'paid', charge_id = 'ch_' || id
    where id = any(${orderIds}::uuid[]) and payment_status = 'processing'`,
);
const text = handler(
  (orderIds, outboxIds) => sql`
    with done as (update outbox set done_at = now() where id = any(${outboxIds}::int8[]))
    update orders set sms_status = 'sent' where id = any(${orderIds}::uuid[]) and sms_status = 'queued'`,
);

const settings = {
  ratePerSecond: 0,
  database: { isAway: () => false },
  pace: new JobPace(false),
  clock: Date,
  putBack: async () => undefined,
};
const workers = [
  startWorker('charge', backend, charge, { ...settings, concurrency: CHARGE_CONCURRENCY }, logger),
  startWorker('sms', backend, text, { ...settings, concurrency: SMS_CONCURRENCY }, logger),
];

process.once('SIGTERM', () => {
  void Promise.all(workers.map((worker) => worker.close()))
    .then(() => sql.end({ timeout: 5 }))
    .finally(() => process.exit(0));
});
console.log('ready');
