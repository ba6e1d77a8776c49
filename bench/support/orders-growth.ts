import type { Point } from '../../src/geo/point.ts';
import { ordersOf } from '../../test/harness/order-world.ts';
import type { StackWorld } from '../../test/harness/stack-world.ts';
import { driversOf, placesOf, seeded } from '../../test/harness/world.ts';
import type { Loaded } from './load.ts';
import {
  assignedShare,
  type Bench,
  BURST,
  burstOnce,
  check,
  median,
  percent,
  ratesOf,
  sendBurst,
} from './orders-bench.ts';
import { deliverAll } from './orders-free.ts';
import { addOrders } from './orders-past.ts';
import { openStack, type Stack } from './stack.ts';

const SEED = 20_263;
const CENTRE: Point = { lat: 40.75, lng: -73.98 };
/** Fewer than the smallest fleet, so that each order finds a driver; they are freed before the next batch. */
const LOT = 300;
const LOTS = 12;
const WARM_UP_LOTS = 6;
const FREE_MS = 20_000;
const FLAT = 0.8;

/** Measures a burst with more connections, more drivers and more past orders. */
export async function growthSection(bench: Bench): Promise<void> {
  await overConnections(bench);
  await overDrivers(bench);
  await overPastOrders(bench);
}

const latencies = ({ min, p50, p99, mean, deviation }: Loaded) => {
  return [min, p50, p99, `${mean.toFixed(1)} ± ${deviation.toFixed(1)}`];
};

async function overConnections(bench: Bench): Promise<void> {
  const { options, report } = bench;
  const taken: Loaded[] = [];
  for (const connections of options.growthConnections) taken.push(await burstOnce(bench, BURST, { connections }));
  const head = ['connections', 'orders/s', 'of the most', 'min ms', 'p50 ms', 'p99 ms', 'mean ± deviation'];
  const most = Math.max(...taken.map(({ perSecond }) => perSecond));
  report.table(
    'Burst over connections',
    head,
    taken.map((result, i) => {
      const connections = String(options.growthConnections[i]);
      return [connections, result.perSecond, percent(result.perSecond / most), ...latencies(result)];
    }),
  );
  const steps = taken.slice(1).map(({ perSecond }, i) => perSecond / (taken[i] as Loaded).perSecond);
  if (steps.length > 0) report.atLeast('growth: the least step over connections', Math.min(...steps), 1);
}

/** A square of 10 km with all stores in its middle, so that each order finds a driver at every size. */
async function overDrivers(bench: Bench): Promise<void> {
  const { options, report } = bench;
  const rows: (string | number)[][] = [];
  const rates: number[] = [];
  for (const drivers of options.growthDrivers) {
    const random = seeded(SEED);
    const place = placesOf('hot_spot', random);
    const stores = bench.world.stores.map((store) => ({ ...store, point: CENTRE }));
    const world = { drivers: driversOf(drivers, place, random), stores, phones: options.phones };
    const stack = await openStack(world);
    try {
      const lots = await sendLots(
        { ...bench, stack, world, orders: ordersOf(world, bench.orders.length, SEED) },
        world,
      );
      const rate = ratesOf(lots.map(({ perSecond }) => perSecond));
      rates.push(rate[0]);
      const [p50, p99] = [median(lots.map((lot) => lot.p50)), median(lots.map((lot) => lot.p99))];
      rows.push([String(drivers), ...rate, p50, p99, await assignedShare({ ...bench, stack })]);
    } finally {
      await stack.close();
    }
  }
  report.table(
    `Lots of ${LOT} orders over drivers, all in one square of 10 km`,
    ['drivers', 'orders/s (median)', 'min', 'mean ± deviation', 'p50 ms', 'p99 ms', 'driver at once'],
    rows,
  );
  report.atLeast('growth: slowest of fastest over drivers', Math.min(...rates) / Math.max(...rates), FLAT);
}

async function sendLots(bench: Bench, world: StackWorld): Promise<Loaded[]> {
  const { stack } = bench;
  const started = await stack.start(BURST);
  const lots: Loaded[] = [];
  for (let lot = 0; lot < LOTS + WARM_UP_LOTS; lot++) {
    const taken = await sendBurst(bench, started, { amount: LOT });
    await check(bench, started, [taken]);
    if (lot >= WARM_UP_LOTS) lots.push(taken);
    if (lot < LOTS + WARM_UP_LOTS - 1) await freeDrivers(stack, started.url, world.drivers.length + world.phones);
  }
  return lots;
}

/** Ends all orders in the tables and waits until the service knows. */
async function freeDrivers({ sql }: Stack, url: string, drivers: number): Promise<void> {
  await deliverAll(sql);
  const untilMs = performance.now() + FREE_MS;
  for (;;) {
    const metrics = await (await fetch(`${url}/metrics`)).text();
    if (Number(/^sameday_drivers_free (\d+)/m.exec(metrics)?.[1]) === drivers) return;
    if (performance.now() > untilMs) throw new Error('the drivers of ended orders are not free');
    await new Promise((later) => setTimeout(later, 50));
  }
}

async function overPastOrders(bench: Bench): Promise<void> {
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
