import { Redis } from 'ioredis';
import type { FreshRedis, RedisServer } from '../../harness/redis.ts';
import { startLoad } from '../clients.ts';
import { startDeliveries } from '../deliveries.ts';
import { inWorld, type Row } from '../row.ts';
import { openSentinels, type Sentinels } from '../sentinels.ts';
import { later, lookUntil, type World } from '../world.ts';
import { untilKept } from './kept.ts';
import { oweMuch } from './owed.ts';
import { startProbe } from './probe.ts';

/** Longest time from Redis's return until jobs run again. */
const WORKING_MS = 10_000;
const GIVE_UP_MS = 60_000;
const POLL_MS = 50;
const ORDERS_PER_SECOND = 60;
/** Longer than the worker needs at that rate, so that jobs wait in Redis when it goes away. */
const SLOW_CHARGE_MS = 4_000;

type Outage = Omit<Row, 'run'> & {
  /** Resolves when Redis is back; `i` counts the outages. */
  inject(redis: Away, i: number): Promise<void>;
  /** What is in the place of the one Redis. */
  open?(): Promise<Sentinels>;
  /** Time for which Redis is away in a full run, and in a short one. */
  readonly seconds?: number;
  readonly shortSeconds?: number;
  /** Whether more is owed than one statement makes owed again, and some of it is finished meanwhile. */
  readonly isMuchOwed?: true;
};

type Away = {
  /** The one server. */
  readonly server: RedisServer;
  readonly sentinels: Sentinels;
  readonly url: string;
  readonly seconds: number;
};

/**
 * Redis goes away under load and comes back: orders are accepted throughout, and jobs run soon afterwards.
 */
function outage({ inject, open, needs = [], seconds = 0, shortSeconds = seconds, isMuchOwed, ...row }: Outage): Row {
  return {
    ...row,
    needs: ['redis', ...needs],
    async run(count, random, scale) {
      const away = scale < 0.3 ? shortSeconds : seconds;
      const sentinels = await open?.();
      return inWorld(sentinels && { redis: sentinels }, async (world) => {
        const { url, server } = world.redis as FreshRedis;
        const redis = { url, server, sentinels, seconds: away } as Away;
        await untilKept(world);
        world.stripe.orderFaults({ latencyMs: SLOW_CHARGE_MS });
        const load = startLoad(world, ORDERS_PER_SECOND, random);
        const deliveries = startDeliveries(world, random);
        const recoveries: number[] = [];
        const problems: string[] = [];
        for (let i = 0; i < count; i++) {
          await later(1_500 + random() * 500);
          const owed = isMuchOwed ? await oweMuch(world) : null;
          const probe = startProbe(world, random, 'redis');
          await inject(redis, i);
          const backMs = performance.now();
          problems.push(...(await probe.stop()));
          recoveries.push(await untilWorking(world));
          problems.push(...((await owed?.untilTaken(backMs + WORKING_MS)) ?? []));
        }
        world.stripe.orderFaults({ latencyMs: 0 });
        problems.push(...(await load.stop()), ...recoveries.flatMap(tooLate));
        await deliveries.stop();
        const gentler = away < seconds ? { notes: [`away for ${away} s instead of ${seconds} in this short run`] } : {};
        return { count, orders: load.sent(), findings: problems, recoveries, ...gentler };
      });
    },
  };
}

const tooLate = (ms: number): string[] =>
  ms > WORKING_MS
    ? [`redis: it took ${ms.toFixed(0)} ms from its return until a job that began afterwards was done`]
    : [];

/** Time until the first text whose order came after this moment is sent. */
async function untilWorking({ sql }: World): Promise<number> {
  const startedMs = performance.now();
  const [since] = await sql`select now() as at`;
  const look = () => sql`select from messages where sent_at > ${since?.at} and status = 'sent' limit 1`;
  await lookUntil(look, ({ length }) => length > 0, GIVE_UP_MS, POLL_MS);
  return performance.now() - startedMs;
}

export const restartRedis = outage({
  name: 'redis-restart',
  what: 'Redis is ended, by force or in order, and starts again with its data',
  count: 30,
  async inject({ server }, i) {
    await server.kill(i % 2 === 0 ? 'SIGKILL' : 'SIGTERM');
    await later(500);
    await server.start('with its data');
  },
});

export const emptyRedis = outage({
  name: 'redis-emptied',
  what: 'Redis loses everything, with over 5,000 jobs owed: it is flushed, or starts again without its files',
  count: 20,
  isMuchOwed: true,
  async inject({ server, url }, i) {
    if (i % 2 === 0) return flush(url);
    await server.kill();
    await server.start('empty');
  },
});

export const behindRedis = outage({
  name: 'redis-behind',
  what: 'Redis loses what it has written for a second, as where a replica that lagged takes over',
  count: 20,
  async inject({ server }) {
    server.remember();
    await later(1_000);
    await server.kill();
    await server.start('as remembered');
  },
});

export const failOverRedis = outage({
  name: 'redis-failover',
  what: 'the primary of two is killed, its sentinels make the replica the primary, and HAProxy leads there',
  count: 10,
  needs: ['haproxy'],
  open: openSentinels,
  inject: ({ sentinels }) => sentinels.failOver(),
});

async function flush(url: string): Promise<void> {
  const connection = new Redis(url);
  await connection.flushall();
  connection.disconnect();
}

export const silenceRedis = outage({
  name: 'redis-unreachable',
  what: 'Redis is silent for a minute: its connections stay open and nothing answers',
  count: 3,
  seconds: 60,
  shortSeconds: 16,
  async inject({ server, seconds }) {
    process.kill(server.pid(), 'SIGSTOP');
    await later(seconds * 1_000);
    process.kill(server.pid(), 'SIGCONT');
  },
});
