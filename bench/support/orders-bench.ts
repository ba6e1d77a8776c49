import type { OrderRequest } from '../../test/harness/order-world.ts';
import type { Report } from '../../test/harness/report.ts';
import type { StackWorld } from '../../test/harness/stack-world.ts';
import { summary } from '../../test/harness/timing.ts';
import { findFaults, shareWithDriver } from './answered.ts';
import { type Loaded, type LoadOptions, load } from './load.ts';
import type { Setup, Stack, Started } from './stack.ts';

export type Options = {
  readonly drivers: number;
  readonly stores: number;
  readonly phones: number;
  readonly connections: number;
  readonly rounds: number;
  readonly warmUpSeconds: number;
  readonly warmUpOrders: number;
  readonly seconds: number;
  /** Orders of a burst, in place of its seconds. */
  readonly burstOrders: number | undefined;
  readonly longSeconds: number;
  readonly growthPast: readonly number[];
};

/** The parts of every section. */
export type Bench = {
  readonly options: Options;
  readonly world: StackWorld;
  readonly orders: readonly OrderRequest[];
  readonly stack: Stack;
  readonly report: Report;
  /** Figures that later sections refer to, by name. */
  readonly known: Map<Figure, number>;
};

export type Figure = 'burst' | 'charged and texted';

export const BURST: Setup = { worker: 'none' };

const LONG_DRAIN_MS = 120_000;

/**
 * Runs one burst on a newly started service, without its warm-up, and checks the result against the tables.
 */
export async function burstOnce(
  bench: Bench,
  setup: Setup,
  changes: Partial<LoadOptions> = {},
  prepare?: Parameters<Stack['start']>[1],
): Promise<Loaded> {
  const { stack, options } = bench;
  const started = await stack.start(setup, prepare);
  const before = await sendBurst(bench, started, { ...changes, amount: options.warmUpOrders });
  const result = await sendBurst(bench, started, changes);
  await check(bench, started, [before, result]);
  return result;
}

export function sendBurst({ options, orders }: Bench, { url }: { url: string }, changes: Partial<LoadOptions>) {
  const { connections, seconds, burstOrders: amount } = options;
  return load({ url, orders, connections, seconds, amount, ...changes });
}

/** The figure of a section, or of one short burst where the section does not run. */
async function knownRate(bench: Bench, figure: Figure, measure: () => Promise<number>): Promise<number> {
  const known = bench.known.get(figure) ?? (await measure());
  bench.known.set(figure, known);
  return known;
}

export const topRate = (bench: Bench): Promise<number> =>
  knownRate(bench, 'burst', async () => (await burstOnce(bench, BURST)).perSecond);

/** Orders a second of a burst, until its last order is charged and texted. */
export const capacity = (bench: Bench, setup: Setup): Promise<number> =>
  knownRate(bench, 'charged and texted', async () => {
    const { stack, options } = bench;
    const started = await stack.start(setup);
    await sendBurst(bench, started, { seconds: options.warmUpSeconds });
    await stack.drained(LONG_DRAIN_MS);
    const startedMs = performance.now();
    const { orderIds } = await sendBurst(bench, started, {});
    if (!(await stack.drained(LONG_DRAIN_MS))) bench.report.failed('the jobs of a burst were not done in time');
    const tookMs = performance.now() - startedMs;
    await stack.halt();
    return orderIds.length / (tookMs / 1_000);
  });

/** Orders with a driver that were not charged, or whose customer was not texted. */
export async function unpaid({ stack }: Bench): Promise<string[]> {
  const [row] = await stack.sql`
    select count(*) filter (where driver_id is not null and payment_status <> 'paid')::int as uncharged,
      count(*) filter (where sms_status <> 'sent')::int as untexted,
      (select count(*)::int from payments where attempt > 1) as again
    from orders`;
  const faults = { 'are not paid': row?.uncharged, 'are not texted': row?.untexted, 'were charged anew': row?.again };
  return Object.entries(faults).flatMap(([what, count]) => (count > 0 ? [`${count} orders ${what}`] : []));
}

type Answered = { readonly orderIds: readonly string[]; readonly faults: readonly string[] };

/** Checks what must hold after every round; a violation fails the run. */
export async function check(
  { stack, report }: Bench,
  started: Pick<Started, 'ended'>,
  results: readonly Answered[],
): Promise<void> {
  for (const fault of new Set(await faultsOf(stack, started, results))) report.failed(fault);
}

/** What invalidates these results, which are all since the service was started. */
export async function faultsOf(
  stack: Pick<Stack, 'sql'>,
  started: Pick<Started, 'ended'>,
  results: readonly Answered[],
): Promise<string[]> {
  const orderIds = results.flatMap((result) => result.orderIds);
  return [...started.ended(), ...results.flatMap((result) => result.faults), ...(await findFaults(stack, orderIds))];
}

/** Share of orders that found a driver at once. */
export async function assignedShare({ stack }: Bench): Promise<string> {
  return percent(await shareWithDriver(stack));
}

export const median = (values: readonly number[]): number => summary(Float64Array.from(values)).p50;
export const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

/** Rates of several rounds: median, min, mean ± deviation. */
export function ratesOf(rates: readonly number[]): readonly [number, number, string] {
  const { p50, min, mean, deviation } = summary(Float64Array.from(rates));
  return [p50, min, `${mean.toFixed(0)} ± ${deviation.toFixed(0)}`];
}
