import type { LoadResult } from '../../test/harness/burst.ts';
import { makeOrderWorld, ordersOf } from '../../test/harness/order-world.ts';
import { shareWithDriver } from '../support/answered.ts';
import { faultsOf } from '../support/orders-bench.ts';
import type { Setup, Stack, Started } from '../support/stack.ts';
import type { Stoppable } from '../support/stop-all.ts';
import { conditionsOf } from './conditions.ts';
import {
  bestOf,
  type CostFigure,
  type Curve,
  type Figures,
  type LatencyFigure,
  measureLatency,
  measureRate,
  nameOfShare,
  plural,
  type RateFigure,
  type Run,
  SHARES,
  type Target,
  warmUpFaults,
} from './figures.ts';
import { busyShare, machineSeconds } from './machine-time.ts';
import type { Throwaway } from './options.ts';
import { measurePeers } from './peers.ts';
import { type Sizes, timePlan } from './sizes.ts';
import { closeAll, openStacks } from './stacks.ts';
import type { TimePlan } from './time-plan.ts';

const SEED = 7;
/** Longest wait for the jobs of a load at a given rate; at half of the best rate they keep up with the orders. */
const MOST_DRAIN_SECONDS = 3;
/** Share of the drivers after whose assignment the service is started anew, or orders would find nobody. */
const MOST_USED = 1 / 3;

/** The parts of a run with throwaway servers. */
type Sitting = Run & {
  readonly stack: Stack;
  readonly setup: Setup;
  readonly sizes: Sizes;
  readonly plan: TimePlan;
  readonly target: { orders: Target['orders']; urls: Target['urls'] };
  readonly costs: CostFigure[];
  started: Started | undefined;
  /** Orders that were answered since the service was started. */
  answered: { readonly orderIds: readonly string[]; readonly faults: readonly string[] }[];
};

/**
 * Measures the built service on throwaway servers, as an operator would deploy it: the worker runs in a
 * process of its own where there is Redis, and charges and texts go to the stand-ins. Afterwards nothing is
 * left.
 */
export async function loadThrowaway(
  run: Run,
  sizes: Sizes,
  { apis, build }: Pick<Throwaway, 'apis' | 'build'>,
  endMs: number,
): Promise<{ readonly figures: Omit<Figures, 'faults'>; readonly curves: readonly Curve[] }> {
  const opened: Stoppable[] = [];
  try {
    run.say(`starting servers, with ${plural(sizes.drivers, 'driver')} and ${plural(sizes.stores, 'store')}`);
    const world = makeOrderWorld(sizes.drivers, sizes.stores);
    const { stack, plain } = await openStacks(world, opened, run.signal, build);
    run.signal.throwIfAborted();
    const orders = ordersOf(world, sizes.orders, SEED);
    const sitting: Sitting = {
      ...run,
      stack,
      sizes,
      setup: { worker: 'vendors', redis: stack.hasRedis, apis },
      plan: timePlan(sizes, endMs),
      target: { orders, urls: [] },
      costs: [],
      started: undefined,
      answered: [],
    };
    const rates = await measureRates(sitting);
    const { latencies, curves } = await measureLatencies(sitting, Number(process.env.BEST) || bestOf(rates).perSecond);
    const jobs = await waitForJobs(sitting);
    await finish(sitting);
    const peers = process.env.BEST
      ? []
      : await measurePeers({ ...run, sizes, plan: sitting.plan, orders, ours: rates, plain });
    return {
      figures: { conditions: conditionsOf(sitting), rates, latencies, costs: sitting.costs, peers, jobs },
      curves,
    };
  } finally {
    run.say('removing what was started');
    await closeAll(opened);
  }
}

/**
 * Starts the service without orders and with every driver free, after the check of what was answered before.
 */
async function startAnew(sitting: Sitting): Promise<Started> {
  await finish(sitting);
  sitting.say('starting the service');
  const started = await sitting.stack.start(sitting.setup);
  sitting.started = started;
  sitting.target.urls = started.urls;
  sitting.signal.throwIfAborted();
  return started;
}

/** Checks that every order that was answered is in the tables, and stops the service. */
async function finish(sitting: Sitting): Promise<void> {
  const { stack, started, answered } = sitting;
  if (!started) return;
  sitting.say('looking up every answered order in the tables');
  sitting.blame('orders', await faultsOf(stack, started, answered));
  sitting.started = undefined;
  sitting.answered = [];
  await stack.halt();
}

async function measureRates(sitting: Sitting): Promise<RateFigure[]> {
  const { sizes, plan, target } = sitting;
  await startAnew(sitting);
  await warmUp(sitting, plan.take('warm-up'));
  const rates: RateFigure[] = [];
  for (const connections of sizes.connections) {
    await renewWhereUsedUp(sitting);
    const seconds = plan.take(`${connections}`);
    const name = plural(connections, 'connection');
    const figure = await costed(sitting, name, () => measureRate(sitting, target, connections, seconds));
    rates.push({ ...figure, withDriver: await shareWithDriver(sitting.stack) });
  }
  if (rates.every(({ created }) => created === 0)) throw new Error('no order was answered with 201');
  return rates;
}

/** Orders that are not measured, and time for their jobs. */
async function warmUp(sitting: Sitting, seconds: number): Promise<void> {
  const { sizes, target } = sitting;
  const { result } = await measureRate(sitting, target, sizes.peerConnections, seconds);
  note(sitting, 'warm-up', { ...result, faults: warmUpFaults(result) });
  await drained(sitting, sizes.warmUpDrainSeconds);
}

async function renewWhereUsedUp(sitting: Sitting): Promise<void> {
  const { stack, sizes } = sitting;
  const [row] = await stack.sql`select count(*)::int as used from orders where driver_id is not null`;
  if (row?.used <= sizes.drivers * MOST_USED) return;
  await startAnew(sitting);
  await warmUp(sitting, sizes.warmUpSeconds);
}

/**
 * On the service that took the rates before, once their jobs are done. A new one would spend a fifth of the
 * processor's time on compiling: an order's price would be that of a start.
 */
async function measureLatencies(sitting: Sitting, best: number) {
  const { plan, target } = sitting;
  await renewWhereUsedUp(sitting);
  await drained(sitting, plan.take('jobs of the rates'));
  const latencies: LatencyFigure[] = [];
  const curves: Curve[] = [];
  for (const share of SHARES) {
    const seconds = plan.take(`${share}`);
    const latency = async () => {
      const taken = await measureLatency(sitting, target, best, share, seconds);
      curves.push({ name: `${taken.figure.duePerSecond.toFixed(0)} orders/s`, millis: taken.result.millis });
      return taken;
    };
    latencies.push(await costed(sitting, `${nameOfShare(share)} of the best rate`, latency));
  }
  return { latencies, curves };
}

/**
 * Adds the processor time of each part, and of the jobs that were done meanwhile, over the orders answered. At a
 * given rate the jobs are waited for, so that an order's whole cost is counted.
 */
async function costed<Figure extends { readonly created: number }>(
  sitting: Sitting,
  name: string,
  measure: () => Promise<{ readonly figure: Figure; readonly result: LoadResult }>,
): Promise<Figure> {
  const { stack, costs } = sitting;
  const started = sitting.started as Started;
  const [jobs, earlier, machine] = [await stack.jobs(), started.cpu(), machineSeconds()];
  const { figure, result } = await measure();
  note(sitting, name, result);
  if ('share' in figure) await drained(sitting, MOST_DRAIN_SECONDS);
  const [later, busy] = [started.cpu(), busyShare(machine)];
  const millis = Object.entries(later).map(([part, seconds]) => {
    return [part, ((seconds - (earlier[part] as number)) * 1_000) / figure.created] as const;
  });
  const done = (await stack.jobs()).done - jobs.done;
  const own = sum(Object.values(later)) - sum(Object.values(earlier));
  const others = Math.max(0, busy.share - own / busy.inAll);
  costs.push({ load: name, millis: Object.fromEntries(millis), jobs: done / figure.created, others });
  return figure;
}

/** Keeps the orders for the check, and blames this part of the run for its faults. */
function note(sitting: Sitting, name: string, { orderIds, faults }: LoadResult): void {
  sitting.blame(name, faults);
  sitting.answered.push({ orderIds, faults: [] });
}

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);

/** What is owed after the last reply, and whether it is done within the time that is left for it. */
async function waitForJobs(sitting: Sitting): Promise<NonNullable<Figures['jobs']>> {
  const { owed } = await sitting.stack.jobs();
  sitting.say(`${plural(owed, 'job')} owed`);
  const fromMs = performance.now();
  await drained(sitting, sitting.plan.take('jobs'));
  const waitedSeconds = (performance.now() - fromMs) / 1_000;
  return { owed, leftOver: await sitting.stack.backlog(), waitedSeconds };
}

async function drained({ stack, signal }: Sitting, seconds: number): Promise<void> {
  await stack.drained(seconds * 1_000);
  signal.throwIfAborted();
}
