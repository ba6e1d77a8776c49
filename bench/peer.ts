/**
 * The service beside the one that a team would write without it (bench/peers/): fastify, PostGIS for the nearest free
 * driver with `for update skip locked`, one transaction and one BullMQ job an order. In the same run, in turns, each on its
 * own database and Redis, both durable, with the same stores, drivers and orders of a seeded world of towns.
 *
 * - Burst: as many orders as it takes over a number of connections, its worker not running. An order counts with its 201.
 * - Equal load: both are sent orders at 70 % of what the peer took in the burst; a latency counts from when its order was
 *   due to the last byte of its 201.
 * - Sustained: the highest tried rate at which no job is left two seconds after the last order, with workers whose
 *   handlers only write the row.
 *
 * Beside the peer as it would be written stands the same with its transaction folded into one statement, to show how far a
 * rewrite goes; the targets are for the former. An error, a time-out, an answer other than 201, an order that is not in the
 * tables or a driver with two fails the run.
 */
import { hasRedis } from '../test/support/redis.ts';
import { burst, type LoadResult } from './support/burst.ts';
import { makeOrderWorld, type OrderRequest, ordersOf } from './support/order-world.ts';
import { startOurStack } from './support/ours-stack.ts';
import { pace } from './support/paced.ts';
import { assignedShare, findFaults, type OrderStack } from './support/peer-stack.ts';
import { startPlainStack } from './support/plain-stack.ts';
import { findPostgis } from './support/postgis.ts';
import { openReport, type Report } from './support/report.ts';
import { summary } from './support/timing.ts';

const SEED = 7;
const ORDERS = 4_000;
const EQUAL_LOAD = 0.7;
const DRAIN_MS = 2_000;
const HELD = 0.97;
const LESS = 0.85;
const TRIES = 6;

const option = (name: string, full: number, small: number): number => {
  const at = process.argv.indexOf(`--${name}`);
  if (at >= 0) return Number(process.argv[at + 1]);
  return process.argv.includes('--small') ? small : full;
};
const sizes = {
  drivers: option('drivers', 200_000, 2_000),
  stores: option('stores', 1_000, 50),
  connections: option('connections', 64, 8),
  rounds: option('rounds', 3, 1),
  warmUpSeconds: option('warm-up', 3, 1),
  seconds: option('seconds', 8, 1),
  sustainedSeconds: option('sustained', 60, 1),
};

/** One of those compared: a stack, set up in one of its ways. */
type Side = { readonly name: string; readonly stack: OrderStack; setUp(): void };
type Round = LoadResult & { readonly assigned: number };

async function main(): Promise<void> {
  if (!hasRedis() || findPostgis() === undefined) {
    console.log('Redis or PostGIS is not at hand: nothing was measured.');
    return;
  }
  const world = makeOrderWorld(sizes.drivers, sizes.stores);
  const ours = (await startOurStack(world)) as OrderStack;
  const plain = (await startPlainStack(world).catch(async (error) => {
    await ours.close();
    throw error;
  })) as NonNullable<Awaited<ReturnType<typeof startPlainStack>>>;
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
    await compareSustained(sides, orders, report);
  } finally {
    await Promise.all([ours.close(), plain.close()]);
  }
  report.close();
}

/** The median orders a second of each side. */
async function compareBursts(sides: readonly Side[], orders: OrderRequest[], report: Report): Promise<number[]> {
  const load = (url: string, seconds: number) => burst({ url, orders, seconds, connections: sizes.connections });
  const rounds = await inTurns(sides, load, report);
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
      const { min, mean, deviation } = summary(Float64Array.from(taken.map(({ perSecond }) => perSecond)));
      const ratio = `${((rates[0] as number) / (rates[i] as number)).toFixed(2)} ×`;
      const latencies = [median(taken.map(({ p50 }) => p50)), median(taken.map(({ p99 }) => p99))];
      const spread = `${mean.toFixed(0)} ± ${deviation.toFixed(0)}`;
      return [
        name,
        rates[i] as number,
        min,
        spread,
        ratio,
        ...latencies,
        percent(taken.map((round) => round.assigned)),
      ];
    }),
  );
  report.atLeast("burst: orders/s over the plain service's", (rates[0] as number) / (rates[1] as number), 8);
  return rates;
}

async function compareEqualLoad(sides: readonly Side[], orders: OrderRequest[], perSecond: number, report: Report) {
  const rounds = await inTurns(sides, (url, seconds) => pace({ url, orders, perSecond, seconds }), report);
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

async function compareSustained(sides: readonly Side[], orders: OrderRequest[], report: Report): Promise<void> {
  const rows: [string, Sustained][] = [];
  for (const side of sides) rows.push([side.name, await sustain(side, orders, report)]);
  const [first, second] = rows.map(([, { perSecond }]) => perSecond) as [number, number];
  report.table(
    `Sustained ${sizes.sustainedSeconds} s with workers that only write the row, no backlog`,
    ['service', 'orders/s', 'ours is', 'p50 ms', 'p99 ms', 'driver at once', 'tries'],
    rows.map(([name, { perSecond, p50, p99, assigned, tries }]) => {
      return [name, perSecond, `${(first / perSecond).toFixed(2)} ×`, p50, p99, percent([assigned]), String(tries)];
    }),
  );
  report.atLeast("sustained: orders/s over the plain service's", first / second, 4);
}

/** Every side in every round, first one and then another first. */
async function inTurns(
  sides: readonly Side[],
  load: (url: string, seconds: number) => Promise<LoadResult>,
  report: Report,
): Promise<Round[][]> {
  const rounds: Round[][] = sides.map(() => []);
  for (let round = 0; round < sizes.rounds; round++) {
    for (let turn = 0; turn < sides.length; turn++) {
      const at = (round + turn) % sides.length;
      const { name, stack, setUp } = sides[at] as Side;
      setUp();
      const url = await stack.start(false);
      const before = await load(url, sizes.warmUpSeconds);
      const result = await load(url, sizes.seconds);
      await check(name, stack, [before, result], report);
      rounds[at]?.push({ ...result, assigned: await assignedShare(stack) });
      await stack.halt();
    }
  }
  return rounds;
}

type Sustained = Round & { readonly tries: number };

/** What a burst with its jobs comes to is tried first, and less until nothing is left over. */
async function sustain({ name, stack, setUp }: Side, orders: OrderRequest[], report: Report): Promise<Sustained> {
  setUp();
  const url = await stack.start(true);
  await burst({ url, orders, seconds: sizes.warmUpSeconds, connections: sizes.connections });
  await drained(stack, 120_000);
  const startedMs = performance.now();
  const { orderIds } = await burst({ url, orders, seconds: sizes.seconds, connections: sizes.connections });
  await drained(stack, 120_000);
  let perSecond = orderIds.length / ((performance.now() - startedMs) / 1_000);
  for (let tries = 1; ; tries++, perSecond *= LESS) {
    const url = await stack.start(true);
    const before = await pace({ url, orders, perSecond: perSecond / 2, seconds: sizes.warmUpSeconds });
    const result = await pace({ url, orders, perSecond, seconds: sizes.sustainedSeconds });
    const held = result.perSecond > HELD * perSecond && (await drained(stack, DRAIN_MS));
    await check(name, stack, [before, result], report);
    const assigned = await assignedShare(stack);
    await stack.halt();
    if (held) return { ...result, assigned, tries };
    if (tries === TRIES) {
      report.failed(`${name}: no rate was found that it sustains, the last was ${perSecond.toFixed(0)} orders/s`);
      return { ...result, assigned, tries };
    }
  }
}

/** Whether the last job is done within the time. */
async function drained(stack: OrderStack, withinMs: number): Promise<boolean> {
  const untilMs = performance.now() + withinMs;
  while ((await stack.backlog()) > 0) {
    if (performance.now() > untilMs) return false;
    await new Promise((later) => setTimeout(later, 20));
  }
  return true;
}

async function check(name: string, stack: OrderStack, results: readonly LoadResult[], report: Report): Promise<void> {
  const faults = [
    ...results.flatMap((result) => result.faults),
    ...(await findFaults(
      stack,
      results.flatMap(({ orderIds }) => orderIds),
    )),
  ];
  for (const fault of new Set(faults)) report.failed(`${name}: ${fault}`);
}

const median = (values: readonly number[]): number => summary(Float64Array.from(values)).p50;
const percent = (shares: readonly number[]): string => `${(median(shares) * 100).toFixed(1)} %`;

await main();
