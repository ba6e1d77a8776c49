import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { QueueBackend } from '../../src/queues/backend.ts';
import { createJobLossCheck, tellOfLoss } from '../../src/queues/job-loss.ts';
import { type FreshRedis, freshRedis, hasRedis } from '../harness/redis.ts';

let redis: FreshRedis | undefined;
let connection: Redis;
beforeAll(async () => {
  redis = await freshRedis();
  if (!redis) return;
  connection = new Redis(redis.url, { maxRetriesPerRequest: null });
  await connection.ping();
});
beforeEach(async () => void (await connection?.del(`${redis?.prefix}:jobs-are`)));
afterAll(async () => {
  connection?.disconnect();
  await redis?.stop();
});

const backend = () => ({ kind: 'redis', connection, prefix: redis?.prefix ?? '' }) satisfies QueueBackend;
const open = () => createJobLossCheck(backend());

/** Counts the recoveries. */
function counted() {
  const state = { times: 0 };
  const recover = async () => {
    state.times++;
  };
  return { state, recover };
}
const lose = () => connection.del(`${redis?.prefix}:jobs-are`);

test.skipIf(!hasRedis())(
  'a Redis that lost everything is recovered from once, whichever process checks first',
  async () => {
    const [first, second] = [open(), open()];
    const { state, recover } = counted();
    for (const memory of [first, second, first]) await memory.check(recover);
    expect(state.times).toBe(1);
    await lose();
    for (const memory of [second, first, second]) await memory.check(recover);
    expect(state.times).toBe(2);
  },
);

test.skipIf(!hasRedis())('an incomplete recovery is completed by the next check', async () => {
  const died = async () => {
    throw new Error('died');
  };
  await expect(open().check(died)).rejects.toThrow('died');
  const { state, recover } = counted();
  await open().check(recover);
  expect(state.times).toBe(1);
});

test.skipIf(!hasRedis())('a loss during a recovery is detected', async () => {
  await open().check(async () => void (await lose()));
  const { state, recover } = counted();
  await open().check(recover);
  expect(state.times).toBe(1);
});

const LOSSES = [
  ['is told of', () => tellOfLoss(backend())],
  ['takes everything', lose],
] as const;
test.skipIf(!hasRedis()).each(LOSSES)(
  'a loss that %s during two recoveries at once is detected',
  async (_how, happen) => {
    await open().check(async () => {
      await open().check(async () => void (await happen()));
    });
    const { state, recover } = counted();
    for (let i = 0; i < 2; i++) await open().check(recover);
    expect(state.times).toBe(1);
  },
);

test.skipIf(!hasRedis())('a recovery that ends does not end another one, which began later', async () => {
  const died = async () => {
    throw new Error('died');
  };
  await open().check(() => expect(open().check(died)).rejects.toThrow('died'));
  const { state, recover } = counted();
  for (let i = 0; i < 2; i++) await open().check(recover);
  expect(state.times).toBe(1);
});

test.skipIf(!hasRedis())('while Redis is away nothing is recovered, and the check ends at once', async () => {
  const away = new Redis(redis?.url ?? '', { lazyConnect: true });
  const { state, recover } = counted();
  await expect(createJobLossCheck({ kind: 'redis', connection: away, prefix: 'p' }).check(recover)).rejects.toThrow();
  expect(state.times).toBe(0);
});

test('Postgres loses nothing', async () => {
  const { state, recover } = counted();
  await createJobLossCheck({ kind: 'postgres', pool: {} as never }).check(recover);
  expect(state.times).toBe(0);
});
