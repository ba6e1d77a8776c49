import { MAX_WAITING_ORDERS } from '../../src/limits.ts';
import { fillDrivers } from '../../test/harness/stack-world.ts';
import { summary } from '../../test/harness/timing.ts';
import { type Bench, BURST, check, percent, sendBurst, topRate } from './orders-bench.ts';
import { addOrders } from './orders-past.ts';

/** Places left before the bound is reached; a second of orders or less. */
const ROOM = 500;
/** Orders on each connection beyond them, to be sure of reaching the bound. */
const OVER = 10;
const REFUSED_P99_MS = 50;
const HEAD = ['', 'orders/s', 'min ms', 'p50 ms', 'p99 ms', 'mean ± deviation'];

/**
 * Measures orders without a driver in reach, which are stored and wait; then the same near the bound of
 * waiting orders.
 */
export async function nobodySection(bench: Bench): Promise<void> {
  const { stack, world, report } = bench;
  const top = await topRate(bench);
  await stack.halt();
  await fillDrivers(stack.sql, { drivers: [], phones: world.phones });
  try {
    const waiting = await letWait(bench);
    const refused = await driveIntoBound(bench);
    report.table('Nobody free: every order waits', HEAD, [
      row(`stored and waiting (${percent(waiting.perSecond / top)} of the burst)`, waiting.perSecond, waiting.millis),
      row(`${MAX_WAITING_ORDERS} wait: refused with 503`, refused.perSecond, refused.millis),
    ]);
    report.atLeast('nobody free: share of the burst', waiting.perSecond / top, 0.8);
    const { p99 } = summary(Float64Array.from(refused.millis));
    report.atMost('nobody free, past the bound: p99 of the 503 in ms', p99, REFUSED_P99_MS);
  } finally {
    await stack.reset();
    await fillDrivers(stack.sql, world);
  }
}

type Taken = { readonly perSecond: number; readonly millis: readonly number[] };

async function letWait(bench: Bench): Promise<Taken> {
  const { stack, options, report } = bench;
  const started = await stack.start(BURST);
  const before = await sendBurst(bench, started, { amount: options.warmUpOrders });
  const result = await sendBurst(bench, started, {});
  await check(bench, started, [before, result]);
  const [row] = await stack.sql`select count(*)::int as taken from orders where status <> 'pending_dispatch'`;
  if (row?.taken > 0) report.failed(`${row?.taken} orders found a driver where there is none`);
  return { perSecond: result.perSecond, millis: result.millisBy.get(201) ?? [] };
}

async function driveIntoBound(bench: Bench): Promise<Taken> {
  const { stack, options, report } = bench;
  const started = await stack.start(BURST, (sql) => addOrders(sql, MAX_WAITING_ORDERS - ROOM, 'pending_dispatch'));
  const into = await sendBurst(bench, started, { amount: ROOM + OVER * options.connections, allowed: [503] });
  const result = await sendBurst(bench, started, { allowed: [503] });
  await check(bench, started, [into, result]);
  const others = [...into.codes.keys(), ...result.codes.keys()].filter((code) => code !== 'queue_full');
  if (others.length > 0) report.failed(`orders past the bound were refused as ${others.join(', ')}`);
  const [row] = await stack.sql`select count(*)::int as waiting from orders where status = 'pending_dispatch'`;
  if (row?.waiting !== MAX_WAITING_ORDERS) report.failed(`${row?.waiting} orders wait, not ${MAX_WAITING_ORDERS}`);
  const millis = result.millisBy.get(503) ?? [];
  if (result.created > 0 || millis.length === 0) report.failed('past the bound not every order was refused');
  return { perSecond: millis.length / options.seconds, millis };
}

function row(name: string, perSecond: number, millis: readonly number[]): (string | number)[] {
  const { min, p50, p99, mean, deviation } = summary(Float64Array.from(millis));
  return [name, perSecond, min, p50, p99, `${mean.toFixed(1)} ± ${deviation.toFixed(1)}`];
}
