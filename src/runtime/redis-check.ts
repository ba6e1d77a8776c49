import { Redis } from 'ioredis';
import { withTimeout } from '../with-timeout.ts';
import { redisCode, redisRemedy } from './remedies.ts';
import { StartError } from './start-error.ts';

/** Longest wait for Redis at a start, which goes on without it. */
const REDIS_CHECK_MS = 4_000;

/** Asks Redis once what it does where its memory is full: `maxmemory-policy`. Fails with the first error. */
export async function readMemoryPolicy(url: string): Promise<string | undefined> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
  // The first one says why; a call that fails says only that the connection is closed.
  const failed = new Promise<never>((_, reject) => redis.once('error', reject));
  redis.on('error', () => undefined);
  const asked = redis.info('memory');
  asked.catch(() => undefined);
  const late = () => Object.assign(new Error('Redis does not answer'), { code: 'ETIMEDOUT' });
  try {
    const info = await withTimeout(Promise.race([asked, failed]), REDIS_CHECK_MS, late);
    return /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
  } finally {
    failed.catch(() => undefined);
    redis.disconnect();
  }
}

/**
 * Refuses a Redis that refuses the credentials, as it will do so for ever. One that is away may come back.
 *
 * @throws {StartError} naming REDIS_URL
 */
export async function refuseWrongRedis(url: string): Promise<void> {
  try {
    await readMemoryPolicy(url);
  } catch (error) {
    if (!['WRONGPASS', 'NOAUTH'].includes(redisCode(error) ?? '')) return;
    throw new StartError(redisRemedy(error) ?? '', { cause: error });
  }
}
