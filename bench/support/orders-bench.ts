import type { OrderRequest } from '../../test/harness/order-world.ts';
import type { Report } from '../../test/harness/report.ts';
import type { StackWorld } from '../../test/harness/stack-world.ts';
import { summary } from '../../test/harness/timing.ts';
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
  readonly sustainedSeconds: number;
  readonly longSeconds: number;
  readonly growthDrivers: readonly number[];
  readonly growthPast: readonly number[];
  readonly growthConnections: readonly number[];
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

export type Figure = 'burst' | 'parse only' | 'sustained, charged and texted';

export const BURST: Setup = { worker: 'none' };

const DRAIN_POLL_MS = 20;

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
export async function knownRate(bench: Bench, figure: Figure, measure: () => Promise<number>): Promise<number> {
  const known = bench.known.get(figure) ?? (await measure());
  bench.known.set(figure, known);
  return known;
}

export const topRate = (bench: Bench): Promise<number> =>
  knownRate(bench, 'burst', async () => (await burstOnce(bench, BURST)).perSecond);

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
  return [
    ...started.ended(),
    ...results.flatMap((result) => result.faults),
    ...(new Set(orderIds).size < orderIds.length ? ['two orders were answered with the same id'] : []),
    ...(await findFaults(stack, orderIds)),
  ];
}

/** Every order answered with 201 is there, and no driver has two at once. */
async function findFaults({ sql }: Pick<Stack, 'sql'>, orderIds: readonly string[]): Promise<string[]> {
  const [row] = await sql`
    select
      (select count(*)::int from unnest(${[...orderIds]}::uuid[]) as answered (id)
        where not exists (select from orders o where o.id = answered.id)) as missing,
      (select count(*)::int from (select from orders where status = 'driver_assigned'
        group by driver_id having count(*) > 1) twice) as twice,
      (select count(*)::int from orders where (status = 'pending_dispatch') <> (driver_id is null)) as odd`;
  const faults = {
    'orders were answered with 201 and are not in the tables': row?.missing,
    'drivers have two orders': row?.twice,
    'orders have a driver and wait, or have none and do not': row?.odd,
  };
  return Object.entries(faults).flatMap(([what, count]) => (count > 0 ? [`${count} ${what}`] : []));
}

/** Whether the last job is done in time. */
export async function drained({ stack }: Bench, withinMs: number): Promise<boolean> {
  const untilMs = performance.now() + withinMs;
  while ((await stack.backlog()) > 0) {
    if (performance.now() > untilMs) return false;
    await new Promise((later) => setTimeout(later, DRAIN_POLL_MS));
  }
  return true;
}

/** Share of orders that found a driver at once. */
export async function assignedShare({ stack }: Bench): Promise<string> {
  return percent(await shareWithDriver(stack));
}

export async function shareWithDriver({ sql }: Pick<Stack, 'sql'>): Promise<number> {
  const [row] = await sql`
    select coalesce(avg((driver_id is not null)::int), 0)::float8 as share from orders where status <> 'delivered'`;
  return row?.share as number;
}

export const median = (values: readonly number[]): number => summary(Float64Array.from(values)).p50;
export const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

/** Rates of several rounds: median, min, mean ± deviation. */
export function ratesOf(rates: readonly number[]): readonly [number, number, string] {
  const { p50, min, mean, deviation } = summary(Float64Array.from(rates));
  return [p50, min, `${mean.toFixed(0)} ± ${deviation.toFixed(0)}`];
}
