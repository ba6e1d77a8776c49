import { EventEmitter } from 'node:events';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createPositionBus, MAX_POSITION_OUTBOX, POSITION_BROADCAST_MS } from '../../src/bus/positions.ts';
import type { DriverPosition } from '../../src/domain/driver.ts';
import { createLogger } from '../../src/telemetry.ts';
import { type FreshRedis, freshRedis, hasRedis } from '../harness/redis.ts';

const logger = createLogger('silent');
const there = hasRedis();
if (!there)
  console.warn('SKIPPED: the bus of positions, since there is no Redis (REDIS_URL, or redis-server on the PATH)');

const soon = { interval: 10 };
const DRIVERS = `test-${process.pid}-`;
const at = (driver: string, lng: number, atMs = 1): DriverPosition => {
  return { driverId: DRIVERS + driver, lat: 37.5, lng, atMs };
};

describe.skipIf(!there)('positions of drivers over Redis', () => {
  let redis: FreshRedis;
  beforeAll(async () => {
    redis = (await freshRedis()) as FreshRedis;
  });
  afterAll(() => redis?.stop());

  function client(): Redis {
    const opened = new Redis(redis.url, { maxRetriesPerRequest: null, retryStrategy: () => 20 });
    opened.on('error', () => undefined);
    onTestFinished(() => opened.disconnect());
    return opened;
  }

  /** A process on the bus, with the positions that it received from others. */
  async function member(origin: string) {
    const received: DriverPosition[] = [];
    const [publisher, subscriber] = [client(), client()];
    const ids = await Promise.all([publisher.client('ID'), subscriber.client('ID')]);
    // A shared server also carries the positions of other tests.
    const take = (position: DriverPosition) => {
      if (position.driverId.startsWith(DRIVERS)) received.push(position);
    };
    const bus = await createPositionBus(publisher, subscriber, origin, take, logger);
    onTestFinished(() => bus.close());
    return { bus, received, ids };
  }

  test('a position arrives at every other process and not at its own', async () => {
    const members = [await member('a'), await member('b'), await member('c')] as const;
    members[0].bus.share(at('d1', -122));
    await expect
      .poll(() => members.map(({ received }) => received), soon)
      .toEqual([[], [at('d1', -122)], [at('d1', -122)]]);
    members[1].bus.share(at('d2', -100));
    await expect.poll(() => members[0].received, soon).toEqual([at('d2', -100)]);
    members[1].bus.share(at('d2', -101));
    members[1].bus.close();
    await expect.poll(() => members[0].received.at(-1), soon).toEqual(at('d2', -101));
  });

  test.skipIf(process.env.REDIS_URL)('a process that may not listen at its start does so once it may', async () => {
    const [admin, publisher, subscriber] = [client(), client(), client()];
    await admin.acl('SETUSER', 'default', 'resetchannels');
    const received: DriverPosition[] = [];
    const late = await createPositionBus(publisher, subscriber, 'b', (position) => received.push(position), logger);
    onTestFinished(() => late.close());
    await admin.acl('SETUSER', 'default', 'allchannels');
    await admin.client('KILL', 'ID', await subscriber.client('ID'));
    const { bus } = await member('a');
    await expect
      .poll(() => {
        bus.share(at('d1', -122));
        return received;
      }, soon)
      .toContainEqual(at('d1', -122));
  });

  test('a process whose name begins like another’s is heard by that one, and hears it', async () => {
    const [a, ab] = [await member('a'), await member('ab')];
    a.bus.share(at('d1', -122));
    ab.bus.share(at('d2', -100));
    await expect.poll(() => [a.received, ab.received], soon).toEqual([[at('d2', -100)], [at('d1', -122)]]);
  });

  test('of many positions of one driver the newest is sent, together with those of the others', async () => {
    const [a, b] = [await member('a'), await member('b')];
    for (let step = 1; step <= 100; step++) a.bus.share(at('d1', -122 + step / 1_000, step));
    a.bus.share(at('d2', -100));
    await expect.poll(() => b.received.length, soon).toBe(2);
    expect(b.received).toEqual([at('d1', -121.9, 100), at('d2', -100)]);
  });

  test('more drivers than one message holds are sent in several', async () => {
    const [a, b] = [await member('a'), await member('b')];
    const count = MAX_POSITION_OUTBOX + 10;
    for (let driver = 0; driver < count; driver++) a.bus.share(at(`d${driver}`, -122));
    await expect.poll(() => b.received.length, soon).toBe(count);
    expect(new Set(b.received.map(({ driverId }) => driverId)).size).toBe(count);
  });

  test('a message that is none of ours does not end the process, and the next is heard', async () => {
    const [a, b] = [await member('a'), await member('b')];
    const stranger = client();
    const odd = JSON.stringify({ from: 'x', positions: [null, 'd1', { driverId: 'd1' }, at('d1', 900)] });
    for (const text of ['', 'hello', '{', 'null', '[]', '{"from":"x"}', '{"from":"x","positions":7}', odd]) {
      await stranger.publish('sameday:positions', text);
    }
    a.bus.share(at('d1', -122));
    await expect.poll(() => b.received, soon).toEqual([at('d1', -122)]);
  });

  test('after a lost connection positions travel again by themselves', async () => {
    const [a, b] = [await member('a'), await member('b')];
    for (const id of [...a.ids, ...b.ids]) await client().client('KILL', 'ID', id);
    // The bus may lose a position, for which the next report makes up.
    await expect
      .poll(
        () => {
          a.bus.share(at('d1', -122));
          return b.received.length;
        },
        { interval: POSITION_BROADCAST_MS },
      )
      .toBeGreaterThan(0);
  });
});

test('a start does not wait for a Redis that is away', async () => {
  const away = { on: () => away, subscribe: () => new Promise(() => undefined), publish: () => Promise.resolve(0) };
  const bus = await createPositionBus(away as never, away as never, 'a', () => undefined, logger);
  expect(() => bus.share(at('d1', -122))).not.toThrow();
  bus.close();
});

test('while Redis is away nothing is kept for it', async () => {
  const publish = vi.fn(async () => 0);
  const away = { status: 'reconnecting', on: () => away, subscribe: async () => 1, publish };
  const bus = await createPositionBus(away as never, away as never, 'a', () => undefined, logger);
  bus.share(at('d1', -122));
  bus.close();
  expect(publish).not.toHaveBeenCalled();
});

test('what comes back to its sender is dropped unread, and read by others', async () => {
  const channel = new EventEmitter();
  const client = {
    status: 'ready',
    on: (event: string, hear: (...args: unknown[]) => void) => channel.on(event, hear),
    subscribe: async () => 1,
    publish: async (name: string, text: string) => channel.emit('message', name, text),
  };
  const received: string[] = [];
  const join = (origin: string) =>
    createPositionBus(client as never, client as never, origin, () => received.push(origin), logger);
  const sender = await join('a"');
  const parse = vi.spyOn(JSON, 'parse');
  onTestFinished(() => parse.mockRestore());
  sender.share(at('d1', -122));
  sender.close();
  expect(parse).not.toHaveBeenCalled();
  const other = await join('b');
  sender.share(at('d1', -122));
  sender.close();
  other.close();
  expect([parse.mock.calls.length, received]).toEqual([1, ['b']]);
});
