/**
 * Compares the service with the one that a team would write without it (bench/peers/): fastify, PostGIS for
 * the nearest free driver with `for update skip locked`, one transaction and one BullMQ job per order. Both
 * run in turns in one run, each on its own database and Redis, both durable, with the same stores, drivers
 * and orders of a seeded world of towns.
 *
 * - Burst: the most orders over a number of connections, without a worker. An order counts with its 201.
 * - Equal load: both get orders at 70 % of what the peer accepted in the burst; a latency counts from when
 *   its order was due to the last byte of its 201.
 *
 * With their workers both are compared by `npm run load`.
 *
 * The same peer with its transaction folded into one statement shows how far a rewrite goes; the targets are
 * for the peer as it would be written. The run fails on an error, a time-out, an answer other than 201, an
 * order that is not in the tables, or a driver with two orders.
 */

import { makeOrderWorld, type OrderRequest, type OrderWorld, ordersOf } from '../test/harness/order-world.ts';
import { pace } from '../test/harness/paced.ts';
import { findPostgis } from '../test/harness/postgis.ts';
import { findRedisServer } from '../test/harness/redis.ts';
import { openReport, type Report } from '../test/harness/report.ts';
import { load } from './support/load.ts';
import { median, percent, ratesOf } from './support/orders-bench.ts';
import { inTurns, type OrderStack, type Round, type Side } from './support/peer-rounds.ts';
import { type PlainStack, startPlainStack } from './support/plain-stack.ts';
import { openStack } from './support/stack.ts';

const SEED = 7;
const ORDERS = 4_000;
const EQUAL_LOAD = 0.7;

/** Orders of a burst in a small run, which a busy machine answers too, in its own time. */
const SMALL_BURST = 100;
const isSmall = process.argv.includes('--small');

const option = (name: string, full: number, small: number): number => {
  const at = process.argv.indexOf(`--${name}`);
  if (at >= 0) return Number(process.argv[at + 1]);
  return isSmall ? small : full;
};
const sizes = {
  drivers: option('drivers', 200_000, 2_000),
  stores: option('stores', 1_000, 50),
  connections: option('connections', 128, 8),
  rounds: option('rounds', 3, 1),
  warmUpSeconds: option('warm-up', 3, 1),
  seconds: option('seconds', 8, 1),
};

async function main(): Promise<void> {
  if (findRedisServer() === undefined || findPostgis() === undefined) {
    console.log('A Redis server or PostGIS is not at hand: nothing was measured.');
    return;
  }
  // Each side's Redis is emptied between rounds, so it must never be one in use.
  delete process.env.REDIS_URL;
  const world = makeOrderWorld(sizes.drivers, sizes.stores);
  const ours = await openOurs(world);
  const plain = (await startPlainStack(world).catch(async (error) => {
    await ours.close();
    throw error;
  })) as PlainStack;
  const report = openReport('peer', { ...ours.versions, ...plain.versions });
  const sides: Side[] = [
    { name: 'ours', stack: ours, setUp: () => undefined },
    { name: 'plain', stack: plain, setUp: () => plain.use({ oneStatement: false }) },
    { name: 'plain, one statement', stack: plain, setUp: () => plain.use({ oneStatement: true }) },
  ];
  const orders = ordersOf(world, ORDERS, SEED);
  try {
    const rates = await compareBursts(sides, orders, report);
    await compareEqualLoad(sides, orders, (rates[1] as number) * EQUAL_LOAD, report);
  } finally {
    await Promise.all([ours.close(), plain.close()]);
  }
  report.close();
}

/** The built service, run as the plain one: its API alone. */
async function openOurs(world: OrderWorld): Promise<OrderStack> {
  const stack = await openStack({ ...world, phones: 0 });
  return { ...stack, start: async () => (await stack.start({ worker: 'none' })).url };
}

/** Median orders a second of each side. */
async function compareBursts(sides: readonly Side[], orders: OrderRequest[], report: Report): Promise<number[]> {
  const burst = (url: string, seconds: number) => {
    return load({ url, orders, connections: sizes.connections, ...(isSmall ? { amount: SMALL_BURST } : { seconds }) });
  };
  const rounds = await inTurns(sides, sizes, burst, report);
  const rates = rounds.map((taken) => median(taken.map(({ perSecond }) => perSecond)));
  const title = `Burst: ${sizes.connections} connections, ${sizes.drivers} drivers, ${sizes.rounds} rounds of ${sizes.seconds} s`;
  const head = [
    'service',
    'orders/s (median)',
    'min',
    'mean ± deviation',
    'ours is',
    'p50 ms',
    'p99 ms',
    'driver at once',
  ];
  report.table(
    title,
    head,
    sides.map(({ name }, i) => {
      const taken = rounds[i] as Round[];
      const ratio = `${((rates[0] as number) / (rates[i] as number)).toFixed(2)} ×`;
      const latencies = [median(taken.map(({ p50 }) => p50)), median(taken.map(({ p99 }) => p99))];
      const assigned = percent(median(taken.map((round) => round.assigned)));
      return [name, ...ratesOf(taken.map(({ perSecond }) => perSecond)), ratio, ...latencies, assigned];
    }),
  );
  report.atLeast("burst: orders/s over the plain service's", (rates[0] as number) / (rates[1] as number), 8);
  return rates;
}

async function compareEqualLoad(sides: readonly Side[], orders: OrderRequest[], perSecond: number, report: Report) {
  const rounds = await inTurns(sides, sizes, (url, seconds) => pace({ url, orders, perSecond, seconds }), report);
  const p99s = rounds.map((taken) => median(taken.map(({ p99 }) => p99)));
  const title = `Latency at equal load: ${perSecond.toFixed(0)} orders/s, ${sizes.rounds} rounds of ${sizes.seconds} s, in ms`;
  report.table(
    title,
    ['service', 'orders/s', 'min', 'p50', 'p99 (median)', 'mean ± deviation', 'ours is, of its p99'],
    sides.map(({ name }, i) => {
      const taken = rounds[i] as Round[];
      const of = (pick: (round: Round) => number) => median(taken.map(pick));
      const spread = `${of(({ mean }) => mean).toFixed(1)} ± ${of(({ deviation }) => deviation).toFixed(1)}`;
      const share = `${(((p99s[0] as number) / (p99s[i] as number)) * 100).toFixed(0)} %`;
      const [rate, min, p50] = [of((r) => r.perSecond), of((r) => r.min), of((r) => r.p50)];
      return [name, rate, min, p50, p99s[i] as number, spread, share];
    }),
  );
  report.atMost("equal load: p99 over the plain service's", (p99s[0] as number) / (p99s[1] as number), 1 / 3);
}

await main();
