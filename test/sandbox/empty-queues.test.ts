import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { QueueBackend } from '../../src/queues/backend.ts';
import { createQueues, migrateQueues, startWorker } from '../../src/queues/queues.ts';
import { emptyRedisQueues } from '../../src/sandbox/empty-queues.ts';
import { createLogger } from '../../src/telemetry.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { type FreshRedis, freshRedis, hasRedis } from '../harness/redis.ts';
import { storeOf } from '../harness/store.ts';
import { gate } from '../http/support.ts';
import { workerSettings } from '../queues/worker-settings.ts';

const NO_MARKS = { mark: () => undefined };

const logger = createLogger('silent');
const soon = { interval: 10 };
const database = await useFreshDatabase();
let redis: FreshRedis | undefined;
beforeAll(async () => {
  redis = await freshRedis();
});
afterAll(() => redis?.stop());

async function onPostgres(): Promise<{ backend: QueueBackend; close(): Promise<void> }> {
  const pool = new Pool({ connectionString: database.url, options: '-c search_path=bullmq', max: 8 });
  await migrateQueues(pool);
  return { backend: { kind: 'postgres', pool }, close: () => pool.end() };
}

async function onRedis(): Promise<{ backend: QueueBackend; close(): Promise<void> }> {
  const connection = new Redis(redis?.url ?? '', { maxRetriesPerRequest: null });
  await connection.ping();
  return { backend: { kind: 'redis', connection, prefix: 'sameday' }, close: async () => connection.disconnect() };
}

const job = (id: number, opts: object = {}) => ({
  name: 'sms',
  data: { outboxId: id, orderId: `order ${id}` },
  opts: { jobId: `${id}-0`, ...opts },
});

describe.each([
  { name: 'Postgres', open: onPostgres, isMissing: false, empty: () => storeOf(database.sql).removeAllOrders() },
  {
    name: 'Redis',
    open: onRedis,
    isMissing: !hasRedis() || process.env.REDIS_URL !== undefined,
    empty: () => emptyRedisQueues(redis?.url ?? ''),
  },
])('on $name', ({ open, isMissing, empty }) => {
  test.skipIf(isMissing)('jobs that wait are removed, the one at work ends, and a later one runs', async () => {
    const { backend, close } = await open();
    const queues = createQueues(backend, NO_MARKS, logger);
    const texts = queues.get('sms');
    if (!texts) throw new Error('there is no queue of texts');
    const run: number[] = [];
    const held = gate();
    const handle = async ({ outboxId }: { outboxId: number }) => {
      run.push(outboxId);
      if (outboxId === 1) await held.opened;
      return { kind: 'done' } as const;
    };
    const worker = startWorker('sms', backend, handle, workerSettings({ concurrency: 1 }), logger);
    onTestFinished(async () => {
      held.open();
      await worker.close();
      await Promise.all([...queues.values()].map((queue) => queue.close()));
      await close();
    });
    await texts.addBulk([job(1)]);
    await expect.poll(() => run, soon).toEqual([1]);
    await texts.addBulk([job(2), job(3, { priority: 5 }), job(4, { delay: 200 })]);
    await empty();
    expect(await texts.countWaiting()).toBe(0);
    await texts.addBulk([job(5)]);
    held.open();
    await expect.poll(() => run, soon).toEqual([1, 5]);
    // Later than the delayed one would have come.
    await texts.addBulk([job(6, { delay: 400 })]);
    await expect.poll(() => run, soon).toEqual([1, 5, 6]);
  });
});

test('a Redis that does not answer is reported', async () => {
  await expect(emptyRedisQueues('redis://127.0.0.1:1')).rejects.toThrow();
});
