import type { LoadResult } from '../../test/harness/burst.ts';
import { pace } from '../../test/harness/paced.ts';
import {
  assignedShare,
  type Bench,
  check,
  drained,
  type Figure,
  knownRate,
  percent,
  sendBurst,
} from './orders-bench.ts';
import { parseRound } from './orders-burst.ts';
import { startPart } from './part.ts';
import type { Setup, Started } from './stack.ts';

/**
 * First rate of the search for the highest rate without a backlog, as a share of a burst with all its jobs.
 */
const FIRST_TRY = 0.95;
const LESS = 0.85;
const TRIES = 6;
/**
 * Time after the last order at which no job may be left, and share of the wanted rate that must be reached.
 */
const DRAIN_MS = 2_000;
const HELD = 0.97;
const LONG_DRAIN_MS = 120_000;
/** Jobs per order: a charge and a text. */
const JOBS_AN_ORDER = 2;

type Way = { readonly name: string; readonly setup: Setup; readonly figure?: Figure; readonly ofParsing: number };
type Sustained = LoadResult & {
  readonly assigned: string;
  readonly tries: number;
  /** Core-milliseconds per order, by part. */
  readonly cpu: Readonly<Record<string, number>>;
};

/** The highest tried rate that leaves no job at the end, and the cost of an order there, by part. */
export async function sustainedSection(bench: Bench): Promise<void> {
  const { report, stack, options } = bench;
  const parsing = await knownRate(bench, 'parse only', async () => (await parseRound(bench)).perSecond);
  const taken: [Way, Sustained][] = [];
  for (const way of waysOf(stack.hasRedis)) {
    const sustained = await sustain(bench, way.setup);
    taken.push([way, sustained]);
    if (way.figure) bench.known.set(way.figure, sustained.perSecond);
    if (way.setup.redis === false) await compareWithQueue(bench, sustained.perSecond);
    else report.atLeast(`sustained, ${way.name}: share of parsing alone`, sustained.perSecond / parsing, way.ofParsing);
  }
  report.table(
    `Sustained ${options.sustainedSeconds} s, no job left ${DRAIN_MS / 1_000} s after the last order`,
    ['', 'orders/s', 'of parsing alone', 'min ms', 'p50 ms', 'p99 ms', 'mean ± deviation', 'driver at once', 'tries'],
    taken.map(([{ name }, { perSecond, min, p50, p99, mean, deviation, assigned, tries }]) => {
      const spread = `${mean.toFixed(1)} ± ${deviation.toFixed(1)}`;
      return [name, perSecond, percent(perSecond / parsing), min, p50, p99, spread, assigned, String(tries)];
    }),
  );
  const parts = [...new Set(taken.flatMap(([, { cpu }]) => Object.keys(cpu)))];
  report.table(
    'Core-milliseconds an order, by part',
    ['', ...parts, 'in all'],
    taken.map(([{ name }, { cpu }]) => {
      return [name, ...parts.map((part) => cpu[part] ?? '–'), Object.values(cpu).reduce((sum, ms) => sum + ms, 0)];
    }),
  );
}

function waysOf(hasRedis: boolean): Way[] {
  const vendors = 'charged and texted through the SDKs';
  const figure = 'sustained, charged and texted';
  const alone: Way = { name: `${vendors}, without Redis`, setup: { worker: 'vendors', redis: false }, ofParsing: 0 };
  if (!hasRedis) return [{ ...alone, figure }];
  return [
    { name: 'handlers that only write the row', setup: { worker: 'rows' }, ofParsing: 0.06 },
    { name: vendors, setup: { worker: 'vendors' }, figure, ofParsing: 0.03 },
    alone,
  ];
}

/** Tries the rate of a burst with its jobs first, and lower ones until nothing is left. */
async function sustain(bench: Bench, setup: Setup): Promise<Sustained> {
  const { stack, report, options } = bench;
  let perSecond = (await capacityOf(bench, setup)) * FIRST_TRY;
  for (let tries = 1; ; tries++, perSecond *= LESS) {
    const started = await stack.start(setup);
    const { result, held, cpu } = await tryRate(bench, started, perSecond);
    const missing = setup.worker === 'vendors' && held ? await unpaid(bench) : [];
    for (const fault of missing) report.failed(fault);
    const assigned = await assignedShare(bench);
    await stack.halt();
    if (held || tries === TRIES) {
      if (!held) report.failed(`no rate was found that is sustained, the last was ${perSecond.toFixed(0)} orders/s`);
      return { ...result, assigned, tries, cpu };
    }
    report.note(`${perSecond.toFixed(0)} orders/s were not sustained for ${options.sustainedSeconds} s.`);
  }
}

async function tryRate(bench: Bench, started: Started, perSecond: number) {
  const { orders, options } = bench;
  const { url } = started;
  const before = await pace({ url, orders, perSecond: perSecond / 2, seconds: options.warmUpSeconds });
  await drained(bench, LONG_DRAIN_MS);
  const earlier = started.cpu();
  const result = await pace({ url, orders, perSecond, seconds: options.sustainedSeconds });
  const held = result.perSecond > HELD * perSecond && (await drained(bench, DRAIN_MS));
  const cpu = Object.entries(started.cpu()).map(([part, seconds]) => {
    return [part, ((seconds - (earlier[part] as number)) * 1_000) / result.orderIds.length];
  });
  await check(bench, started, [before, result]);
  return { result, held, cpu: Object.fromEntries(cpu) as Record<string, number> };
}

/** Orders a second of a burst, until its last job is done. */
export async function capacityOf(bench: Bench, setup: Setup): Promise<number> {
  const { stack, options } = bench;
  const started = await stack.start(setup);
  await sendBurst(bench, started, { seconds: options.warmUpSeconds });
  await drained(bench, LONG_DRAIN_MS);
  const startedMs = performance.now();
  const { orderIds } = await sendBurst(bench, started, {});
  if (!(await drained(bench, LONG_DRAIN_MS))) bench.report.failed('the jobs of a burst were not done in time');
  const tookMs = performance.now() - startedMs;
  await stack.halt();
  return orderIds.length / (tookMs / 1_000);
}

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

/** Compares the orders with the jobs that BullMQ carries on Postgres when handlers do nothing. */
async function compareWithQueue({ stack, options, report }: Bench, perSecond: number): Promise<void> {
  await stack.reset();
  const part = await startPart('bench/peers/queue-limit.ts', {
    DATABASE_URL: stack.databaseUrl,
    SECONDS: String(options.seconds),
  });
  await part.stop();
  const jobs = Number(part.said.replace('ready ', ''));
  const limit = jobs / JOBS_AN_ORDER;
  report.note(
    `BullMQ on Postgres carries ${jobs.toFixed(0)} jobs/s that do nothing: ${limit.toFixed(0)} orders/s of ${JOBS_AN_ORDER} jobs each.`,
  );
  report.atLeast("sustained, without Redis: share of BullMQ's own limit", perSecond / limit, 0.8);
}
