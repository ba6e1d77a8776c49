import { Redis } from 'ioredis';
import { withTimeout } from '../with-timeout.ts';
import { redisCode, redisRemedy } from './remedies.ts';
import { StartError } from './start-error.ts';

/** Longest wait for Redis at a start, which goes on without it. */
const REDIS_CHECK_MS = 4_000;

/** What matters of a Redis; undefined where it does not say. */
export type RedisFacts = {
  /** What it does where its memory is full: `maxmemory-policy`. */
  readonly memoryPolicy: string | undefined;
  /** Whether it writes what it holds to its disk, by appendonly or a save. */
  readonly isKept: boolean | undefined;
};

/** Asks Redis once. Fails with the first error. */
export async function readRedis(url: string): Promise<RedisFacts> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
  // The first one says why; a call that fails says only that the connection is closed.
  const failed = new Promise<never>((_, reject) => redis.once('error', reject));
  redis.on('error', () => undefined);
  const ask = async (): Promise<RedisFacts> => {
    const memoryPolicy = /^maxmemory_policy:(\S+)/m.exec(await redis.info('memory'))?.[1];
    const appends = /^aof_enabled:(\d)/m.exec(await redis.info('persistence'))?.[1];
    if (appends !== '0') return { memoryPolicy, isKept: appends === undefined ? undefined : true };
    // A hosted Redis may refuse this.
    const save = await redis.config('GET', 'save').catch(() => undefined);
    const times = Array.isArray(save) ? save[1] : undefined;
    return { memoryPolicy, isKept: typeof times === 'string' ? times !== '' : undefined };
  };
  const asked = ask();
  asked.catch(() => undefined);
  const late = () => Object.assign(new Error('Redis does not answer'), { code: 'ETIMEDOUT' });
  try {
    return await withTimeout(Promise.race([asked, failed]), REDIS_CHECK_MS, late);
  } finally {
    failed.catch(() => undefined);
    redis.disconnect();
  }
}

/**
 * Refuses a Redis that refuses the credentials, or INFO, as it will do so for ever; BullMQ asks for INFO once, and
 * keeps the refusal. One that is away may come back.
 *
 * @throws {StartError} naming REDIS_URL
 */
export async function refuseWrongRedis(url: string): Promise<void> {
  try {
    await readRedis(url);
  } catch (error) {
    if (!['WRONGPASS', 'NOAUTH', 'NOPERM'].includes(redisCode(error) ?? '')) return;
    throw new StartError(redisRemedy(error) ?? '', { cause: error });
  }
}
