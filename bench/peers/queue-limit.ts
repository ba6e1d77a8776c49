/**
 * Measures how many jobs a second BullMQ's Postgres backend carries: added as the relay adds them, with
 * handlers that do nothing.
 */
import { Pool } from 'pg';
import { QUEUE_DB_CONNECTIONS } from '../../src/limits.ts';
import { CHARGE_CONCURRENCY } from '../../src/payments/charge.ts';
import { RELAY_BATCH } from '../../src/queues/hand-over-marks.ts';
import { JobPace } from '../../src/queues/job-pace.ts';
import { createQueues, migrateQueues, startWorker } from '../../src/queues/queues.ts';
import { createLogger } from '../../src/telemetry.ts';
import { SMS_CONCURRENCY } from '../../src/texts/texting.ts';

const JOBS_AHEAD = 4 * RELAY_BATCH;
const seconds = Number(process.env.SECONDS);
const logger = createLogger('warn');
const pool = new Pool({
  connectionString: process.env.DATABASE_URL as string,
  options: '-c search_path=bullmq',
  max: QUEUE_DB_CONNECTIONS,
});
pool.setMaxListeners(0);
await migrateQueues(pool);
const backend = { kind: 'postgres', pool } as const;
const queues = createQueues(backend, { mark: () => undefined }, logger);
let done = 0;
const handle = async (): Promise<{ kind: 'done' }> => {
  done += 1;
  return { kind: 'done' };
};
const settings = {
  ratePerSecond: 0,
  database: { isAway: () => false },
  pace: new JobPace(false),
  clock: Date,
  putBack: async () => undefined,
};
const workers = [
  startWorker('charge', backend, handle, { ...settings, concurrency: CHARGE_CONCURRENCY }, logger),
  startWorker('sms', backend, handle, { ...settings, concurrency: SMS_CONCURRENCY }, logger),
];

let added = 0;
const endMs = performance.now() + seconds * 1_000;
const startedMs = performance.now();
while (performance.now() < endMs) {
  if (added - done >= JOBS_AHEAD) {
    await new Promise((later) => setTimeout(later, 1));
    continue;
  }
  for (const name of ['charge', 'sms'] as const) {
    const jobs = Array.from({ length: RELAY_BATCH / 2 }, (_, i) => {
      return {
        name,
        data: { outboxId: added + i, orderId: 'bench', relays: 0 },
        opts: { jobId: `${name}-${added + i}` },
      };
    });
    await queues.get(name)?.addBulk(jobs);
    added += jobs.length;
  }
}
const perSecond = done / ((performance.now() - startedMs) / 1_000);
console.log(`ready ${perSecond}`);
for (const worker of workers) await worker.close();
for (const queue of queues.values()) await queue.close();
await pool.end();
