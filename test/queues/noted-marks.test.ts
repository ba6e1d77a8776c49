import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import type { QueueBackend } from '../../src/queues/backend.ts';
import { createJobLossCheck } from '../../src/queues/job-loss.ts';
import { startWriteMarks } from '../../src/queues/write-marks.ts';
import type { RedisMark } from '../../src/store/outbox.ts';
import { createLogger } from '../../src/telemetry.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { type FreshRedis, findRedisServer, freshRedis } from '../harness/redis.ts';
import { storeOf } from '../harness/store.ts';

const there = findRedisServer() !== undefined && process.env.REDIS_URL === undefined;
if (!there) console.warn('SKIPPED: a Redis that starts again, since there is no redis-server of its own');

const { sql } = await useFreshDatabase();

async function untilNoted(isIt: (mark: RedisMark) => boolean): Promise<RedisMark> {
  const read = () => storeOf(sql).readRedisMark();
  await expect.poll(async () => isIt(await read())).toBe(true);
  return read();
}

/** What a process has of Redis. */
async function openProcess({ url, prefix }: FreshRedis, store = storeOf(sql)) {
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  await connection.ping();
  const backend = { kind: 'redis', connection, prefix } satisfies QueueBackend;
  const marks = startWriteMarks(backend, store, createLogger('silent'));
  return {
    connection,
    marks,
    async recoveries(): Promise<number> {
      let times = 0;
      await createJobLossCheck(backend).check(async () => void times++);
      return times;
    },
    async stop() {
      await marks.close();
      connection.disconnect();
    },
  };
}

test.skipIf(!there).each([
  ['with its data', 0],
  ['as remembered', 1],
  ['empty', 1],
] as const)('a Redis that starts %s while no process runs is recovered from %i times', async (how, times) => {
  const redis = (await freshRedis()) as Required<FreshRedis>;
  onTestFinished(redis.stop);
  const none = await storeOf(sql).readRedisMark();
  await storeOf(sql).noteRedisMark(none, { key: 'of no process', count: 0 });

  const first = await openProcess(redis);
  expect(await first.recoveries()).toBe(1);
  await untilNoted(({ count }) => count > 0);
  redis.server.remember();
  for (let i = 0; i < 3; i++) first.marks.mark();
  await first.marks.close();
  const last = await storeOf(sql).readRedisMark();
  // The end of a process notes what it handed over last.
  expect(await first.connection.get(last.key)).toBe(String(last.count));
  expect(last.count).toBeGreaterThan(4);
  expect(await first.recoveries()).toBe(0);
  first.connection.disconnect();
  await redis.server.kill();
  await redis.server.start(how);

  const second = await openProcess(redis);
  onTestFinished(second.stop);
  const { count } = await untilNoted(({ key }) => key !== last.key);
  expect(await second.recoveries()).toBe(times);
  await untilNoted((mark) => mark.count > count);
  expect(await second.recoveries()).toBe(0);
});

test.skipIf(!there)(
  'the end of a process notes its last mark, also where another one notes in the same moment',
  async () => {
    const redis = (await freshRedis()) as Required<FreshRedis>;
    onTestFinished(redis.stop);
    const store = storeOf(sql);
    let others = 0;
    const raced: typeof store = {
      ...store,
      async noteRedisMark(compared, own) {
        if (others < 2) await store.noteRedisMark(compared, { key: 'of another', count: -++others });
        return store.noteRedisMark(compared, own);
      },
    };
    const process = await openProcess(redis, raced);
    await process.marks.close();
    const last = await store.readRedisMark();
    expect(await process.connection.get(last.key)).toBe(String(last.count));
    process.connection.disconnect();
  },
);
