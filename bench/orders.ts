import { makeOrderWorld, ordersOf } from './support/order-world.ts';
import type { Bench, Options } from './support/orders-bench.ts';
import { burstSection } from './support/orders-burst.ts';
import { growthSection } from './support/orders-growth.ts';
import { awaitedSection, latencySection } from './support/orders-latency.ts';
import { nobodySection } from './support/orders-nobody.ts';
import { profileSection } from './support/orders-profile.ts';
import { sustainedSection } from './support/orders-sustained.ts';
import { openReport } from './support/report.ts';
import { openStack } from './support/stack.ts';

const ORDERS = 4_000;
const SEED = 7;
const SECTIONS: Readonly<Record<string, (bench: Bench) => Promise<void>>> = {
  burst: burstSection,
  latency: latencySection,
  nobody: nobodySection,
  sustained: sustainedSection,
  awaited: awaitedSection,
  growth: growthSection,
  profile: profileSection,
};
/** Said to be run; a profile slows down what it looks at. */
const ON_DEMAND = ['profile'];
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
  seconds: number('seconds', 8, 1),
  sustainedSeconds: number('sustained', 60, 2),
  growthConnections: numbers('growth-connections', [1, 8, 64, 512], [1, 8]),
  growthDrivers: numbers('growth-drivers', [1_000, 10_000, 100_000, 1_000_000], [1_000, 2_000]),
  growthPast: numbers('growth-past', [0, 10_000, 100_000, 1_000_000], [0, 1_000]),
};

async function main(): Promise<void> {
  const only = text('only')?.split(',') ?? Object.keys(SECTIONS).filter((name) => !ON_DEMAND.includes(name));
  const unknown = only.filter((name) => !SECTIONS[name]);
  if (unknown.length > 0) throw new Error(`There are only these sections: ${Object.keys(SECTIONS).join(', ')}`);
  const world = { ...makeOrderWorld(options.drivers, options.stores), phones: options.phones };
  const stack = await openStack(world);
  const report = openReport(text('only') ? `orders-${only.join('-')}` : 'orders', stack.versions);
  const bench: Bench = { options, world, stack, report, orders: ordersOf(world, ORDERS, SEED), known: new Map() };
  try {
    for (const name of only) await SECTIONS[name]?.(bench);
  } finally {
    await stack.close();
  }
  report.close();
}

await main();
