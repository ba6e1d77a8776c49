/**
 * The service's own queues with handlers that only write the row, as the plain service's worker does: charge and text, the
 * outbox row of each marked done by the same statement.
 */
import { Redis } from 'ioredis';
import { type JobData, type JobResult, startWorker } from '../../src/jobs/queues.ts';
import { CHARGE_CONCURRENCY, SMS_CONCURRENCY } from '../../src/limits.ts';
import { connect } from '../../src/store/connect.ts';
import { createLogger } from '../../src/telemetry.ts';

const logger = createLogger('warn');
const sql = connect({ url: process.env.DATABASE_URL as string, applicationName: 'bench worker' });
const connection = new Redis(process.env.REDIS_URL as string, { maxRetriesPerRequest: null });
const backend = { kind: 'redis', connection, prefix: 'sameday' } as const;

async function charge({ orderId, outboxId }: JobData): Promise<JobResult> {
  await sql`
    with done as (update outbox set done_at = now() where id = ${outboxId})
    update orders set payment_status = 'paid', charge_id = ${`ch_${orderId}`}
    where id = ${orderId} and payment_status = 'processing'`;
  return { kind: 'done' };
}

async function text({ orderId, outboxId }: JobData): Promise<JobResult> {
  await sql`
    with done as (update outbox set done_at = now() where id = ${outboxId})
    update orders set sms_status = 'sent' where id = ${orderId} and sms_status = 'queued'`;
  return { kind: 'done' };
}

const workers = [
  startWorker('charge', backend, charge, { concurrency: CHARGE_CONCURRENCY, ratePerSecond: 0 }, logger),
  startWorker('sms', backend, text, { concurrency: SMS_CONCURRENCY, ratePerSecond: 0 }, logger),
];

process.once('SIGTERM', () => {
  void Promise.all(workers.map((worker) => worker.close()))
    .then(() => sql.end({ timeout: 5 }))
    .finally(() => process.exit(0));
});
console.log('ready');
