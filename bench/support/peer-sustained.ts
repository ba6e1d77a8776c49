import type { OrderRequest } from '../../test/harness/order-world.ts';
import { pace } from '../../test/harness/paced.ts';
import type { Report } from '../../test/harness/report.ts';
import { load } from './load.ts';
import { check, type Round, type Side } from './peer-rounds.ts';
import { assignedShare, type OrderStack } from './peer-stack.ts';

const DRAIN_MS = 2_000;
/** Longest answer; a later one means that the service does not keep up. */
const LATE_MS = 1_000;
const BACKLOG_MS = 120_000;
const PROBE_SECONDS = 10;
const MORE = 1.15;
const LESS = 0.9;
const MOST_TRIES = 12;

export type Sizes = {
  readonly connections: number;
  readonly warmUpSeconds: number;
  readonly seconds: number;
  readonly sustainedSeconds: number;
  /** Number of higher rates tried; with none, half of the first guess is enough, however slow the machine. */
  readonly probes: number;
};

export type Sustained = Round & { readonly tries: number };

/**
 * Finds the highest rate that leaves no job by short probes, from the rate of a burst with its jobs; a whole
 * run confirms it.
 */
export async function sustain(
  side: Side,
  orders: readonly OrderRequest[],
  sizes: Sizes,
  report: Report,
): Promise<Sustained> {
  let tries = 0;
  const holds = async (perSecond: number, seconds: number): Promise<Round | undefined> => {
    tries += 1;
    return hold(side, orders, { ...sizes, perSecond, seconds }, report);
  };
  let perSecond = await rateOfBurstWithJobs(side, orders, sizes);
  if (sizes.probes === 0) perSecond /= 2;
  else if (!(await holds(perSecond, PROBE_SECONDS))) perSecond *= LESS;
  else while (tries <= sizes.probes && (await holds(perSecond * MORE, PROBE_SECONDS))) perSecond *= MORE;
  for (; tries < MOST_TRIES; perSecond *= LESS) {
    const held = await holds(perSecond, sizes.sustainedSeconds);
    if (held) return { ...held, tries };
  }
  throw new Error(`${side.name}: no rate was found that it sustains`);
}

/** Undefined where jobs are left or latencies grow. */
async function hold(
  { name, stack, setUp }: Side,
  orders: readonly OrderRequest[],
  at: Pick<Sizes, 'seconds' | 'warmUpSeconds' | 'probes'> & { readonly perSecond: number },
  report: Report,
): Promise<Round | undefined> {
  setUp();
  const url = await stack.start(true);
  const before = await pace({ url, orders, perSecond: at.perSecond / 2, seconds: at.warmUpSeconds });
  const result = await pace({ url, orders, perSecond: at.perSecond, seconds: at.seconds });
  const isJudged = at.probes > 0;
  const held = (await drained(stack, isJudged ? DRAIN_MS : BACKLOG_MS)) && (!isJudged || result.p99 < LATE_MS);
  // A rate that is too high is no failure, as long as the answers are true.
  await check(name, stack, held ? [before, result] : [{ ...result, faults: [] }], report);
  const assigned = await assignedShare(stack);
  await stack.halt();
  return held ? { ...result, assigned } : undefined;
}

async function rateOfBurstWithJobs(
  { stack, setUp }: Side,
  orders: readonly OrderRequest[],
  sizes: Sizes,
): Promise<number> {
  setUp();
  const url = await stack.start(true);
  await load({ url, orders, seconds: sizes.warmUpSeconds, connections: sizes.connections });
  await drained(stack, BACKLOG_MS);
  const startedMs = performance.now();
  const { orderIds } = await load({ url, orders, seconds: sizes.seconds, connections: sizes.connections });
  await drained(stack, BACKLOG_MS);
  return orderIds.length / ((performance.now() - startedMs) / 1_000);
}

/** Whether the last job is done in time. */
async function drained(stack: OrderStack, withinMs: number): Promise<boolean> {
  const untilMs = performance.now() + withinMs;
  while ((await stack.backlog()) > 0) {
    if (performance.now() > untilMs) return false;
    await new Promise((later) => setTimeout(later, 20));
  }
  return true;
}
