import { Redis } from 'ioredis';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openRedis } from '../../src/app/queues.ts';
import { createPositionBus } from '../../src/bus/positions.ts';
import { Closers } from '../../src/runtime/closers.ts';
import { refuseWrongRedis } from '../../src/runtime/redis-check.ts';
import { createLogger } from '../../src/telemetry.ts';
import { findRedisServer, freshRedis } from '../harness/redis.ts';

const logger = createLogger('silent');
const there = findRedisServer() !== undefined && process.env.REDIS_URL === undefined;
if (!there) console.warn('SKIPPED: a Redis that becomes a replica, since there is no redis-server of its own');

/** A Redis for the running test, and a connection of its operator. */
async function world() {
  const redis = await freshRedis();
  const closers = new Closers(logger);
  onTestFinished(async () => {
    await closers.closeAll();
    await redis?.stop();
  });
  const url = redis?.url as string;
  const admin = new Redis(url);
  closers.add('admin', () => admin.disconnect());
  return { url, admin, closers };
}

test.skipIf(!there)('a connection to a Redis that became a replica is opened anew', async () => {
  const { url, admin, closers } = await world();
  const connection = openRedis(url, logger, closers);
  await connection.set('a', '1');
  await admin.replicaof('127.0.0.1', '1');
  const again = new Promise((resolve) => connection.once('ready', resolve));
  await expect(connection.set('a', '2')).rejects.toThrow('READONLY');
  await again;
  await admin.replicaof('NO', 'ONE');
  expect(await connection.set('a', '3')).toBe('OK');
});

test.skipIf(!there)('a Redis that takes the right to subscribe away ends no process', async () => {
  const { url, admin, closers } = await world();
  const unhandled = vi.fn();
  process.on('unhandledRejection', unhandled);
  onTestFinished(() => void process.off('unhandledRejection', unhandled));
  const [publisher, subscriber] = [openRedis(url, logger, closers), openRedis(url, logger, closers)];
  const warn = vi.fn();
  const bus = await createPositionBus(publisher, subscriber, 'a', () => undefined, { ...logger, warn } as never);
  closers.add('bus', () => bus.close());
  // It ends the connections that may not subscribe any more.
  await admin.acl('SETUSER', 'default', 'resetchannels');
  await expect.poll(() => warn.mock.calls.at(-1)?.[1]).toBe('positions of other processes are not received');
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled).not.toHaveBeenCalled();
});

test.skipIf(!there)('a start with a wrong password of Redis names the setting; one without Redis goes on', async () => {
  const { url, admin } = await world();
  await admin.config('SET', 'requirepass', 'right');
  const wrong = 'Redis refuses the user or the password of REDIS_URL. Correct them. ';
  await expect(refuseWrongRedis(url.replace('//', '//:wrong@'))).rejects.toThrow(`${wrong}(WRONGPASS)`);
  await expect(refuseWrongRedis(url)).rejects.toThrow(`${wrong}(NOAUTH)`);
  await refuseWrongRedis(url.replace('//', '//:right@'));
  await refuseWrongRedis('redis://127.0.0.1:1');
});

test.skipIf(!there)('a start whose user of Redis may not call INFO says so', async () => {
  const { url, admin } = await world();
  await admin.acl('SETUSER', 'bound', 'on', '>right', '~*', '&*', '+@all', '-@dangerous');
  // The client tells of it, too.
  const warned = vi.spyOn(console, 'warn').mockReturnValue();
  onTestFinished(() => warned.mockRestore());
  const refused = refuseWrongRedis(url.replace('//', '//bound:right@'));
  await expect(refused).rejects.toThrow('may not call what the queues need, such as INFO. Grant it. (NOPERM)');
  await admin.acl('SETUSER', 'bound', '+info');
  await refuseWrongRedis(url.replace('//', '//bound:right@'));
});
