/**
 * The plain service's worker: one job per order, whose handler only writes the results of charge and text.
 */
import { availableParallelism } from 'node:os';
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import postgres from 'postgres';

const CONCURRENCY = 16;

const sql = postgres(process.env.DATABASE_URL as string, { max: 2 * availableParallelism() + 1 });
const redis = new Redis(process.env.REDIS_URL as string, { maxRetriesPerRequest: null });

const worker = new Worker<{ orderId: string }>(
  'orders',
  async ({ data }) => {
    await sql`
      update orders set
        payment_status = case payment_status when 'processing' then 'paid' else payment_status end,
        charge_id = case payment_status when 'processing' then ${`ch_${data.orderId}`} end,
        sms_status = case sms_status when 'queued' then 'sent' else sms_status end
      where id = ${data.orderId}`;
  },
  { connection: redis, concurrency: CONCURRENCY },
);
worker.on('error', (error) => console.error(error));

process.once('SIGTERM', () => {
  void worker
    .close()
    .then(() => sql.end({ timeout: 5 }))
    .finally(() => process.exit(0));
});
await worker.waitUntilReady();
console.log('ready');
