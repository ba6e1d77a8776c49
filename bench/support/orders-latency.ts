import type { LoadResult } from '../../test/harness/burst.ts';
import { pace } from '../../test/harness/paced.ts';
import { assignedShare, type Bench, BURST, check, drained, knownRate, topRate } from './orders-bench.ts';
import { capacityOf, unpaid } from './orders-sustained.ts';
import type { Setup } from './stack.ts';

const STAND_IN_MS = [0, 50, 300];
const AWAITED_EXTRA_MS = 100;
const LATENCY_P99_MS = 20;
const DRAIN_MS = 60_000;
const HEAD = ['', 'orders/s', 'min ms', 'p50 ms', 'p99 ms', 'mean ± deviation', 'driver at once'];

/** Measures orders at half of the top rate, whether or not those before are answered. */
export async function latencySection(bench: Bench): Promise<void> {
  const { orders, stack, options, report } = bench;
  const perSecond = (await topRate(bench)) / 2;
  const started = await stack.start(BURST);
  const { url } = started;
  const before = await pace({ url, orders, perSecond, seconds: options.warmUpSeconds });
  const result = await pace({ url, orders, perSecond, seconds: options.seconds });
  await check(bench, started, [before, result]);
  const assigned = await assignedShare(bench);
  await stack.halt();
  report.table('Latency at half of the top rate', HEAD, [row('charge not awaited', result, assigned)]);
  report.atMost('latency at half of the top rate: p99 in ms', result.p99, LATENCY_P99_MS);
}

/** Measures orders at half of the sustained rate, each reply waiting for its charge. */
export async function awaitedSection(bench: Bench): Promise<void> {
  const { orders, stack, options, report } = bench;
  const setup: Setup = { worker: 'vendors', redis: stack.hasRedis };
  const perSecond = (await knownRate(bench, 'sustained, charged and texted', () => capacityOf(bench, setup))) / 2;
  const rows: string[][] = [];
  for (const ms of STAND_IN_MS) {
    const started = await stack.start({ ...setup, env: { PAYMENT_WAIT_MS: '10000' } });
    await started.stripeTakes(ms);
    const { url } = started;
    const before = await pace({ url, orders, perSecond, seconds: options.warmUpSeconds });
    const result = await pace({ url, orders, perSecond, seconds: options.seconds });
    if (!(await drained(bench, DRAIN_MS))) report.failed(`stand-in ${ms} ms: jobs were left`);
    await check(bench, started, [before, result]);
    for (const fault of await unpaid(bench)) report.failed(`stand-in ${ms} ms: ${fault}`);
    if (result.p50 < ms) report.failed(`stand-in ${ms} ms: replies did not wait for their charge`);
    rows.push(row(`stand-in answers after ${ms} ms`, result, await assignedShare(bench)));
    await stack.halt();
    report.atMost(`charge awaited, stand-in ${ms} ms: p99 in ms`, result.p99, ms + AWAITED_EXTRA_MS);
  }
  report.table(`Charge awaited, at half of the sustained rate`, HEAD, rows);
}

function row(name: string, { perSecond, min, p50, p99, mean, deviation }: LoadResult, assigned: string): string[] {
  const ms = (value: number) => value.toFixed(1);
  return [name, perSecond.toFixed(0), ms(min), ms(p50), ms(p99), `${ms(mean)} ± ${ms(deviation)}`, assigned];
}
