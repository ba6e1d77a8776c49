import { Pool } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { backendOnPostgres } from '../../src/queues/postgres-backend.ts';
import { createQueues, migrateQueues, startWorker } from '../../src/queues/queues.ts';
import { createLogger } from '../../src/telemetry.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { openLink } from '../harness/link.ts';
import { workerSettings } from './worker-settings.ts';

/** Refusals after which a pool answers, so that a worker that asks without a pause only fails its test. */
const MOST_REFUSALS = 100;

const logger = createLogger('silent');
const database = await useFreshDatabase();
const { sql } = database;

function poolAt(connectionString: string): Pool {
  const pool = new Pool({ connectionString, options: '-c search_path=bullmq', max: 4 });
  pool.setMaxListeners(0);
  pool.on('error', () => undefined);
  return pool;
}

/** Queues of a pool, which the end of the test closes, and the pool behind them. */
function openQueues(pool: Pool) {
  const queues = createQueues({ kind: 'postgres', pool }, { mark: () => undefined }, logger);
  onTestFinished(async () => {
    await Promise.all([...queues.values()].map((queue) => queue.close()));
    await pool.end();
  });
  return queues;
}

test('a queue whose first connection was refused is there when the database is', async () => {
  const setUp = poolAt(database.url);
  await migrateQueues(setUp);
  await setUp.end();
  const link = await openLink(database.url);
  const pool = poolAt(link.url);
  await link.close();
  onTestFinished(() => link.close());
  const queues = openQueues(pool);
  const waiting = () => queues.get('sms')?.countWaiting();
  await expect(waiting()).rejects.toThrow();
  await link.reopen();
  await expect.poll(waiting).toBe(0);
});

test('a worker whose first connection was refused does a job once, and the job is over', async () => {
  const pool = poolAt(database.url);
  await migrateQueues(pool);
  const backend = { kind: 'postgres', pool } as const;
  const queues = openQueues(pool);
  await queues.get('sms')?.countWaiting();
  const data = { outboxId: 1, orderId: 'order', relays: 0 };
  await queues.get('sms')?.addBulk([{ name: 'sms', data, opts: { jobId: 'sms-1' } }]);
  const connect = pool.connect.bind(pool);
  Object.assign(pool, { connect: () => Promise.reject(new Error('refused')) });
  let done = 0;
  const handle = async () => {
    done++;
    return { kind: 'done' } as const;
  };
  const worker = startWorker('sms', backend, handle, workerSettings(), logger);
  onTestFinished(() => worker.close());
  await new Promise((resolve) => setImmediate(resolve));
  Object.assign(pool, { connect });
  const left = () => sql`select from bullmq.job where queue = 'sms' and id = 'sms-1'`;
  await expect.poll(left).toHaveLength(0);
  expect(done).toBe(1);
});

test('a worker that is refused at once, when it was at work before, pauses between two tries', async () => {
  const pool = poolAt(database.url);
  await migrateQueues(pool);
  const query: (...asked: unknown[]) => unknown = pool.query.bind(pool);
  let refused = 0;
  const refuse = (...asked: unknown[]) =>
    ++refused < MOST_REFUSALS ? Promise.reject(new Error('refused')) : query(...asked);
  Object.assign(pool, { query: refuse });
  const backend = { kind: 'postgres', pool } as const;
  const worker = startWorker('sms', backend, async () => ({ kind: 'done' }), workerSettings(), logger);
  onTestFinished(async () => {
    Object.assign(pool, { query });
    await worker.close();
    await pool.end();
  });
  await expect.poll(() => refused).toBeGreaterThan(0);
  await new Promise((resolve) => setImmediate(resolve));
  expect(refused).toBeLessThan(MOST_REFUSALS);
});

// A worker asks again at once, so without the pause nothing else of its process would get a turn.
test('a queue that is refused says so after a pause, each time', async () => {
  const pool = Object.assign(poolAt(database.url), { connect: () => Promise.reject(new Error('refused')) });
  const queues = openQueues(pool);
  for (let time = 0; time < 2; time++) {
    const said = queues
      .get('sms')
      ?.countWaiting()
      .catch((error: Error) => error.message);
    const other = new Promise((resolve) => setImmediate(resolve, 'another turn'));
    expect(await Promise.race([said, other])).toBe('another turn');
    expect(await said).toBe('refused');
  }
});

test('a worker that hears of no job looks for one each 10 s, whatever its connections promise', async () => {
  const pool = new Pool({ connectionString: database.url, keepAlive: true });
  expect(backendOnPostgres('sms', { connection: pool as never }).maximumBlockTimeout).toBe(10);
  await pool.end();
});
