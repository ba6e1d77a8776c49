/**
 * Measures how many orders the service accepts, and how long each takes:
 * `npm run bench:orders -- [--only burst,awaited] [--seconds 8] [--drivers 200000] [--small]`. autocannon
 * (for bursts) or a Poisson process (for given rates) posts orders of a seeded world of towns to the built
 * service, with API and worker in separate processes, on an embedded Postgres with every commit on disk and a
 * Redis of its own. Meanwhile 500 drivers report positions each second. Without Redis, one process does both.
 *
 * - burst: orders answered with 201 a second, without a wait for charges and without a worker: the warm-up
 *   fills the queues, and the jobs of what is measured stay in the outbox. In turns with it run the same
 *   server that only parses, validates and replies (bench/peers/parse-only.ts), and the service's insert in a
 *   bare loop of the same batches with one commit in flight (bench/peers/bare-inserts.ts).
 * - nobody: no driver in reach, so that every order waits; then the same at the bound of waiting orders,
 *   where 503 is the answer.
 * - awaited: at half of the rate of a burst that is charged and texted, each reply waiting for its charge, which
 *   takes Stripe's stand-in 0, 50 and 300 ms.
 * - growth: the burst by past orders.
 * - long: ten minutes at four fifths of that rate, every order charged, texted and delivered: neither the
 *   service's memory nor the owed jobs grow.
 *
 * What an order costs with all its jobs, by part, by connections and at given rates, says `npm run load`.
 *
 * The run fails on an error, a time-out, a status other than 201 (beyond the bound: other than 503
 * `queue_full`), an answered order that is not in the tables, a driver with two orders, or an order not
 * charged or texted exactly once.
 */

import { MAX_QUEUED_JOBS } from '../src/queues/room.ts';
import { makeOrderWorld, ordersOf } from '../test/harness/order-world.ts';
import { openReport } from '../test/harness/report.ts';
import { awaitedSection } from './support/orders-awaited.ts';
import type { Bench, Options } from './support/orders-bench.ts';
import { burstSection } from './support/orders-burst.ts';
import { growthSection } from './support/orders-growth.ts';
import { longSection } from './support/orders-long.ts';
import { nobodySection } from './support/orders-nobody.ts';
import { openStack } from './support/stack.ts';

const ORDERS = 4_000;
const SEED = 7;
const SECTIONS: Readonly<Record<string, (bench: Bench) => Promise<void>>> = {
  burst: burstSection,
  nobody: nobodySection,
  awaited: awaitedSection,
  growth: growthSection,
  long: longSection,
};
const isSmall = process.argv.includes('--small');

function text(name: string): string | undefined {
  const at = process.argv.indexOf(`--${name}`);
  return at >= 0 ? process.argv[at + 1] : undefined;
}
const number = (name: string, full: number, small: number): number => Number(text(name) ?? (isSmall ? small : full));
const numbers = (name: string, full: readonly number[], small: readonly number[]): number[] =>
  text(name)?.split(',').map(Number) ?? [...(isSmall ? small : full)];

const options: Options = {
  drivers: number('drivers', 200_000, 2_000),
  stores: number('stores', 1_000, 50),
  phones: number('phones', 500, 10),
  connections: number('connections', 64, 8),
  rounds: number('rounds', 3, 1),
  warmUpSeconds: number('warm-up', 3, 1),
  warmUpOrders: number('warm-up-orders', MAX_QUEUED_JOBS + 1_000, 100),
  seconds: number('seconds', 8, 1),
  // A busy machine answers these too, in its own time.
  burstOrders: isSmall ? 200 : undefined,
  longSeconds: number('long', 600, 5),
  growthPast: numbers('growth-past', [0, 10_000, 100_000, 1_000_000], [0, 1_000]),
};

async function main(): Promise<void> {
  const only = text('only')?.split(',') ?? Object.keys(SECTIONS);
  const unknown = only.filter((name) => !SECTIONS[name]);
  if (unknown.length > 0) throw new Error(`There are only these sections: ${Object.keys(SECTIONS).join(', ')}`);
  const world = { ...makeOrderWorld(options.drivers, options.stores), phones: options.phones };
  const stack = await openStack(world);
  const report = openReport(text('only') ? `orders-${only.join('-')}` : 'orders', stack.versions);
  const bench: Bench = { options, world, stack, report, orders: ordersOf(world, ORDERS, SEED), known: new Map() };
  try {
    for (const name of only) await runSection(bench, name);
  } finally {
    await stack.close();
  }
  report.close();
}

/** Runs a section. One that breaks fails the run, and the others' figures are kept. */
async function runSection(bench: Bench, name: string): Promise<void> {
  try {
    await SECTIONS[name]?.(bench);
  } catch (error) {
    bench.report.failed(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    await bench.stack.halt();
  }
}

await main();
