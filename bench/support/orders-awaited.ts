import type { LoadResult } from '../../test/harness/burst.ts';
import { pace } from '../../test/harness/paced.ts';
import { assignedShare, type Bench, capacity, check, unpaid } from './orders-bench.ts';
import type { Setup } from './stack.ts';

const STAND_IN_MS = [0, 50, 300];
const AWAITED_EXTRA_MS = 100;
const DRAIN_MS = 60_000;
const HEAD = ['', 'orders/s', 'min ms', 'p50 ms', 'p99 ms', 'mean ± deviation', 'driver at once'];

/** Measures orders at half of the rate of a burst with its jobs, each reply waiting for its charge. */
export async function awaitedSection(bench: Bench): Promise<void> {
  const { orders, stack, options, report } = bench;
  const setup: Setup = { worker: 'vendors', redis: stack.hasRedis };
  const perSecond = (await capacity(bench, setup)) / 2;
  const rows: string[][] = [];
  for (const ms of STAND_IN_MS) {
    const started = await stack.start({ ...setup, env: { PAYMENT_WAIT_MS: '10000' } });
    await started.stripeTakes(ms);
    const { url } = started;
    const before = await pace({ url, orders, perSecond, seconds: options.warmUpSeconds });
    const result = await pace({ url, orders, perSecond, seconds: options.seconds });
    if (!(await stack.drained(DRAIN_MS))) report.failed(`stand-in ${ms} ms: jobs were left`);
    await check(bench, started, [before, result]);
    for (const fault of await unpaid(bench)) report.failed(`stand-in ${ms} ms: ${fault}`);
    if (result.p50 < ms) report.failed(`stand-in ${ms} ms: replies did not wait for their charge`);
    rows.push(row(`stand-in answers after ${ms} ms`, result, await assignedShare(bench)));
    await stack.halt();
    report.atMost(`charge awaited, stand-in ${ms} ms: p99 in ms`, result.p99, ms + AWAITED_EXTRA_MS);
  }
  report.table('Charge awaited, at half of the rate of a burst with its jobs', HEAD, rows);
}

function row(name: string, { perSecond, min, p50, p99, mean, deviation }: LoadResult, assigned: string): string[] {
  const ms = (value: number) => value.toFixed(1);
  return [name, perSecond.toFixed(0), ms(min), ms(p50), ms(p99), `${ms(mean)} ± ${ms(deviation)}`, assigned];
}
