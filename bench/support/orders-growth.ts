import type { Loaded } from './load.ts';
import { type Bench, BURST, burstOnce } from './orders-bench.ts';
import { addOrders } from './orders-past.ts';

const FLAT = 0.8;

const latencies = ({ min, p50, p99, mean, deviation }: Loaded) => {
  return [min, p50, p99, `${mean.toFixed(1)} ± ${deviation.toFixed(1)}`];
};

/** Measures a burst with more past orders in the tables. */
export async function growthSection(bench: Bench): Promise<void> {
  const { options, report } = bench;
  const taken: Loaded[] = [];
  for (const past of options.growthPast) {
    taken.push(await burstOnce(bench, BURST, {}, (sql) => addOrders(sql, past, 'delivered')));
  }
  report.table(
    'Burst over past orders in the tables',
    ['past orders', 'orders/s', 'min ms', 'p50 ms', 'p99 ms', 'mean ± deviation'],
    taken.map((result, i) => [String(options.growthPast[i]), result.perSecond, ...latencies(result)]),
  );
  const rates = taken.map(({ perSecond }) => perSecond);
  report.atLeast('growth: slowest of fastest over past orders', Math.min(...rates) / Math.max(...rates), FLAT);
}
