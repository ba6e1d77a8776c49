import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { QueueBackend } from '../../src/queues/backend.ts';
import { createJobLossCheck } from '../../src/queues/job-loss.ts';
import { startWriteMarks, type WriteMarks } from '../../src/queues/write-marks.ts';
import { createLogger } from '../../src/telemetry.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { type FreshRedis, freshRedis, hasRedis } from '../harness/redis.ts';
import { storeOf } from '../harness/store.ts';

let database: FreshDatabase;
let redis: FreshRedis | undefined;
let connection: Redis;
let backend: QueueBackend;
let marks: WriteMarks;
beforeAll(async () => {
  database = await freshDatabase();
  redis = await freshRedis();
  if (!redis) return;
  connection = new Redis(redis.url, { maxRetriesPerRequest: null });
  await connection.ping();
});
beforeEach(async () => {
  if (!redis) return;
  const prefix = `${redis.prefix}-${Math.random()}`;
  backend = { kind: 'redis', connection, prefix };
  await createJobLossCheck(backend).check(async () => undefined);
  marks = startWriteMarks(backend, storeOf(database.sql), createLogger('silent'));
});
afterEach(() => marks?.close());
afterAll(async () => {
  connection?.disconnect();
  await redis?.stop();
  await database.drop();
});

const keyOf = async (): Promise<string> => {
  const { prefix } = backend as Extract<QueueBackend, { kind: 'redis' }>;
  const look = async () => (await connection.keys(`${prefix}:write-marks:*`))[0];
  await expect.poll(look).toBeDefined();
  return (await look()) as string;
};

async function recoveries(): Promise<number> {
  let times = 0;
  await createJobLossCheck(backend).check(async () => void times++);
  return times;
}

test.skipIf(!hasRedis())('a Redis that has lost its last writes is recovered from once', async () => {
  for (let i = 0; i < 3; i++) marks.mark();
  const key = await keyOf();
  await expect.poll(async () => Number(await connection.get(key))).toBeGreaterThanOrEqual(3);
  expect(await recoveries()).toBe(0);
  await connection.set(key, 1);
  marks.mark();
  await expect.poll(recoveries).toBe(1);
  for (let i = 0; i < 3; i++) marks.mark();
  await expect.poll(async () => Number(await connection.get(key))).toBeGreaterThanOrEqual(4);
  expect(await recoveries()).toBe(0);
});

test.skipIf(!hasRedis())('a loss is told again where Redis refuses the notice of it', async () => {
  for (let i = 0; i < 3; i++) marks.mark();
  const key = await keyOf();
  await expect.poll(async () => Number(await connection.get(key))).toBeGreaterThanOrEqual(3);
  await connection.set(key, 1);
  const refusal = Object.assign(new Error('OOM command not allowed'), { name: 'ReplyError' });
  const set = vi.spyOn(connection, 'set').mockRejectedValueOnce(refusal);
  onTestFinished(() => set.mockRestore());
  marks.mark();
  await expect.poll(() => set.mock.calls.length).toBe(1);
  marks.mark();
  await expect.poll(recoveries).toBe(1);
});

test.skipIf(!hasRedis())('a mark on its way when the connection is lost counts as a loss', async () => {
  marks.mark();
  await keyOf();
  marks.mark();
  connection.stream.destroy();
  await expect.poll(recoveries).toBe(1);
});

test.skipIf(!hasRedis())('a loss that is noticed during a recovery is recovered from by the next one', async () => {
  const key = await keyOf();
  await connection.set(key, 5);
  marks.mark();
  await expect.poll(async () => Number(await connection.get(key))).toBeGreaterThanOrEqual(6);
  await connection.set(key, 1);
  marks.mark();
  await expect.poll(recoveries).toBe(1);
  const { prefix } = backend as Extract<QueueBackend, { kind: 'redis' }>;
  await connection.set(`${prefix}:jobs-are`, 'lost');
  await createJobLossCheck(backend).check(async () => {
    await connection.set(key, 1);
    marks.mark();
    await expect.poll(() => connection.get(`${prefix}:jobs-are`)).not.toBe('lost');
  });
  expect(await recoveries()).toBe(1);
});
