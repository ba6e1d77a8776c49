import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { JOB_ATTEMPTS, JOB_BACKOFF_MS } from '../../src/limits.ts';
import type { Clock } from '../../src/postgres/clock.ts';
import type { QueueBackend } from '../../src/queues/backend.ts';
import { fairShares } from '../../src/queues/fair-shares.ts';
import { batchOf, type JobBatch, jobsOf } from '../../src/queues/job-batch.ts';
import type { JobData, JobResult } from '../../src/queues/job-handler.ts';
import { JobPace } from '../../src/queues/job-pace.ts';
import { createQueues, migrateQueues, startWorker, type WorkerSettings } from '../../src/queues/queues.ts';
import { createRelay } from '../../src/queues/relay.ts';
import { RELAY_AHEAD_MS } from '../../src/queues/until-due.ts';
import { OUTBOX_LEASE_SECONDS } from '../../src/store/outbox.ts';
import type { OutboxRow } from '../../src/store/outbox-rows.ts';
import { createLogger } from '../../src/telemetry.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { addOrder, addStoreRow } from '../harness/orders.ts';
import { freshRedis, hasRedis } from '../harness/redis.ts';
import { storeOf } from '../harness/store.ts';
import { startTestSweeper } from './test-sweeper.ts';
import { workerSettings } from './worker-settings.ts';

const NO_MARKS = { mark: () => undefined };
/** Refusals after which Redis answers, so that a worker that asks without a pause only fails its test. */
const MOST_REFUSALS = 100;

const logger = createLogger('silent');
const pace = new JobPace(true);
const database = await useFreshDatabase();
const { sql } = database;

type Opened = { readonly backend: QueueBackend; close(): Promise<unknown> };

async function onPostgres(): Promise<Opened> {
  const pool = new Pool({ connectionString: database.url, options: '-c search_path=bullmq', max: 8 });
  pool.setMaxListeners(0);
  await migrateQueues(pool);
  return { backend: { kind: 'postgres', pool }, close: () => pool.end() };
}

async function onRedis(): Promise<Opened> {
  const redis = await freshRedis();
  if (!redis) throw new Error('no Redis');
  const connection = new Redis(redis.url, { maxRetriesPerRequest: null });
  const close = async () => {
    connection.disconnect();
    await redis.stop();
  };
  return { backend: { kind: 'redis', connection, prefix: redis.prefix }, close };
}

describe.each([
  ['Postgres', onPostgres, true],
  ['Redis', onRedis, hasRedis()],
] as const)('BullMQ on %s', (_name, open, isThere) => {
  let opened: Opened;
  let row: OutboxRow;
  beforeAll(async () => {
    if (!isThere) return;
    opened = await open();
    const { jobs } = await addOrder(sql, await addStoreRow(sql));
    row = jobs.sms as OutboxRow;
  });
  afterAll(() => opened?.close());

  /** A relay into the backend and a worker on `sms` with these results in turn, then `done`. */
  function world(results: readonly (JobResult | Promise<JobResult>)[], ratePerSecond = 0, clock: Clock = Date) {
    const queues = createQueues(opened.backend, NO_MARKS, logger);
    const relay = createRelay(queues, storeOf(sql), new Map(), pace, () => true, Date, logger);
    const seen: JobData[] = [];
    const left: { outboxId: number; pauseMs: number }[] = [];
    const putBack: WorkerSettings['putBack'] = async (jobs, _queue, pauseMs) =>
      void left.push(...jobs.map(({ outboxId }) => ({ outboxId, pauseMs })));
    const handle = async (data: JobData) => {
      seen.push(data);
      return results[seen.length - 1] ?? ({ kind: 'done' } as const);
    };
    const settings = workerSettings({ ratePerSecond, pace, clock, putBack });
    const worker = startWorker('sms', opened.backend, handle, settings, logger);
    onTestFinished(async () => {
      await worker.close();
      await relay.close();
      await Promise.all([...queues.values()].map((queue) => queue.close()));
    });
    return { relay, worker, seen, left };
  }
  const numbered = (relays: number): OutboxRow => ({ ...row, relays });

  test.skipIf(!isThere)('a relayed row becomes one job that holds ids only', async () => {
    const { relay, seen } = world([]);
    relay.relay([numbered(1)]);
    await expect.poll(() => seen.length).toBeGreaterThan(0);
    expect(seen[0]).toEqual({ outboxId: row.id, orderId: row.orderId, relays: 1 });
  });

  test.skipIf(!isThere)('a job with the result retry is run again after a pause', async () => {
    const { relay, seen } = world([{ kind: 'retry', reason: 'not_now' }]);
    relay.relay([numbered(2)]);
    await expect.poll(() => seen.length).toBe(2);
  });

  test.skipIf(!isThere)('a job that waits is run again without costing an attempt', async () => {
    const waits = Array.from({ length: JOB_ATTEMPTS + 1 }, () => ({ kind: 'wait', forMs: 10 }) as const);
    const { relay, seen } = world(waits);
    relay.relay([numbered(4)]);
    await expect.poll(() => seen.length).toBe(waits.length + 1);
  });

  // The sweeper adds a job when a row's lease has ended: a delayed one would be the second, then the third.
  test.skipIf(!isThere)('a job that waits for long is left to the sweeper', async () => {
    const pauseMs = RELAY_AHEAD_MS + 1;
    const { relay, left } = world([{ kind: 'wait', forMs: pauseMs }]);
    relay.relay([numbered(8)]);
    await expect.poll(() => left).toEqual([{ outboxId: row.id, pauseMs }]);
  });

  test.skipIf(!isThere)('where the clock is ahead, a job is left to the sweeper for its pause', async () => {
    const retry = { kind: 'retry', reason: 'not_now' } as const;
    const { relay, left } = world([{ kind: 'wait', forMs: 90_000 }, retry, retry, retry], 0, {
      now: () => Date.now() - 3_600_000,
    });
    for (const [count, relays] of [5, 0, 6, 100].entries()) {
      relay.relay([numbered(relays)]);
      await expect.poll(() => left.length).toBe(count + 1);
    }
    const pauses = [90_000, JOB_BACKOFF_MS, JOB_BACKOFF_MS * 64, OUTBOX_LEASE_SECONDS * 1_000];
    expect(left).toEqual(pauses.map((pauseMs) => ({ outboxId: row.id, pauseMs })));
  });

  test.skipIf(!isThere)('a worker that stops gives back a job that does not end, and another one does it', async () => {
    const { relay, worker, seen } = world([new Promise<JobResult>(() => undefined)]);
    relay.relay([numbered(7)]);
    await expect.poll(() => seen.length).toBe(1);
    await worker.close();
    const other = world([]);
    await expect.poll(() => other.seen).toEqual(seen);
  });

  test.skipIf(!isThere)('a rate limit puts the job back and loses nothing', async () => {
    const { relay, seen } = world([{ kind: 'rate_limited', forMs: 100 }], 100);
    relay.relay([numbered(3)]);
    await expect.poll(() => seen.length).toBe(2);
  });

  test.skipIf(!isThere)('without a rate, too, no job begins in the pause of a vendor, and none is logged', async () => {
    const lines = vi.spyOn(logger, 'info');
    onTestFinished(() => lines.mockRestore());
    const queues = createQueues(opened.backend, NO_MARKS, logger);
    const queue = queues.get('text');
    const seen: number[] = [];
    const handle = async ({ outboxId }: JobData): Promise<JobResult> => {
      seen.push(outboxId);
      return { kind: 'rate_limited', forMs: 3_600_000 };
    };
    const worker = startWorker('text', opened.backend, handle, workerSettings({ concurrency: 1 }), logger);
    onTestFinished(async () => {
      await worker.close();
      await Promise.all([...queues.values()].map((each) => each.close()));
    });
    const data = batchOf([1, 2].map((outboxId) => ({ outboxId, orderId: 'order' })));
    await queue?.addBulk([{ name: 'text', data, opts: { jobId: 'text-1' } }]);
    await expect.poll(() => seen).toContain(1);
    // Both jobs of the batch are over, and it is back in the queue.
    await expect.poll(() => queue?.countWaiting()).toBe(1);
    expect(seen).toEqual([1]);
    expect(lines).not.toHaveBeenCalled();
  });

  test.skipIf(!isThere)('the sweeper relays an unfinished job again under a new id', async () => {
    const { relay, seen } = world([]);
    await sql`update outbox set lease_until = now() - interval '1 second', done_at = null where id = ${row.id}`;
    startTestSweeper({ takeExpired: (limit) => storeOf(sql).takeExpired(limit) }, relay);
    await expect.poll(() => seen.map((job) => job.outboxId)).toContain(row.id);
    await storeOf(sql).finishJobs([{ outboxId: row.id, orderId: row.orderId }], row.queue);
  });
});

test('a store with thousands of jobs waits behind one with a few', () => {
  const share = fairShares();
  for (let i = 0; i < 1_000; i++) share('sms', 'busy', 0);
  expect(share('sms', 'quiet', 0)).toBe(1);
  expect(share('sms', 'busy', 0)).toBe(1_001);
  expect(share('charge', 'busy', 0)).toBe(1);
});

test('in a fair queue a quiet store’s job comes before a busy one’s; others keep the order of arrival', async () => {
  const added = new Map<string, string[]>();
  const queue = (name: string) => ({
    addBulk: async (jobs: { data: JobBatch; opts: { priority: number } }[]) =>
      void added.set(
        name,
        jobs.map(({ data, opts }) => `${jobsOf(data).length} of ${opts.priority}`),
      ),
    countWaiting: async () => 0,
  });
  const relay = createRelay(
    new Map((['webhook', 'sms'] as const).map((name) => [name, queue(name)])),
    { extendLease: async () => undefined },
    new Map([['webhook', 0]] as const),
    pace,
    () => true,
    Date,
    logger,
  );
  const rows = (['webhook', 'sms'] as const).flatMap((name) =>
    ['busy', 'busy', 'busy', 'quiet'].map(
      (retailerId, id): OutboxRow => ({ id, queue: name, orderId: 'o', retailerId, runAt: new Date(0), relays: 0 }),
    ),
  );
  relay.relay(rows);
  await relay.close();
  expect(Object.fromEntries(added)).toEqual({
    webhook: ['1 of 1', '1 of 2', '1 of 3', '1 of 1'],
    sms: ['4 of 0'],
  });
});

test.skipIf(!hasRedis())('a worker that Redis refuses pauses between two tries', async () => {
  const { backend, close } = await onRedis();
  if (backend.kind !== 'redis') throw new Error('not on Redis');
  const { connection } = backend;
  const send = connection.sendCommand.bind(connection);
  let refused = 0;
  // Each step of BullMQ is a script.
  connection.sendCommand = (command, ...rest) => {
    if (!command.name.startsWith('eval') || ++refused >= MOST_REFUSALS) return send(command, ...rest);
    command.reject(new Error('MISCONF Errors writing to the AOF file'));
    return command.promise;
  };
  const worker = startWorker('sms', backend, async () => ({ kind: 'done' }), workerSettings(), logger);
  onTestFinished(async () => {
    connection.sendCommand = send;
    await worker.close();
    await close();
  });
  await expect.poll(() => refused).toBeGreaterThan(0);
  await new Promise((resolve) => setImmediate(resolve));
  expect(refused).toBeLessThan(MOST_REFUSALS);
});
