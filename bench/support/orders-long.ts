import { readFileSync } from 'node:fs';
import { pace } from '../../test/harness/paced.ts';
import { type Bench, capacity, check, unpaid } from './orders-bench.ts';
import { deliverAll } from './orders-free.ts';
import type { Setup, Started } from './stack.ts';

const OF_CAPACITY = 0.8;
/**
 * Length of a delivery, after which drivers are free again, and interval at which deliveries of that age are
 * ended.
 */
const DELIVERY_SECONDS = 20;
const END_EACH_MS = 5_000;
const SAMPLES = 10;
const DRAIN_MS = 2_000;
/** Bound of the second half's mean against the first half's; a leak or a growing queue is far above it. */
const FLAT = 1.15;
const BYTES_PER_MB = 1024 * 1024;

type Sample = { readonly second: number; readonly mb: Readonly<Record<string, number>>; readonly owed: number };

/**
 * Runs ten minutes at four fifths of the rate of a burst with its jobs: neither the memory of each part nor the
 * owed jobs grow.
 */
export async function longSection(bench: Bench): Promise<void> {
  const { orders, stack, options, report } = bench;
  const setup: Setup = { worker: 'vendors', redis: stack.hasRedis };
  const perSecond = (await capacity(bench, setup)) * OF_CAPACITY;
  const started = await stack.start(setup);
  const { url } = started;
  const before = await pace({ url, orders, perSecond, seconds: options.warmUpSeconds });
  const samples: Sample[] = [];
  const sampling = every((options.longSeconds * 1_000) / SAMPLES, async (i) => {
    samples.push(await sample(bench, started, ((i + 1) * options.longSeconds) / SAMPLES));
  });
  const ending = every(END_EACH_MS, () => deliverAll(stack.sql, DELIVERY_SECONDS));
  const result = await pace({ url, orders, perSecond, seconds: options.longSeconds });
  await Promise.all([sampling.stop(), ending.stop()]);
  if (!(await stack.drained(DRAIN_MS))) report.failed('jobs were left after the long run');
  await check(bench, started, [before, result]);
  for (const fault of await unpaid(bench)) report.failed(fault);
  await stack.halt();
  tell(bench, result, samples);
}

async function sample({ stack }: Bench, { pids }: Started, second: number): Promise<Sample> {
  const mb = Object.entries(pids).map(([part, pid]) => [part, residentBytes(pid) / BYTES_PER_MB]);
  return { second, mb: Object.fromEntries(mb) as Record<string, number>, owed: await stack.backlog() };
}

function tell({ report, options }: Bench, result: Awaited<ReturnType<typeof pace>>, samples: readonly Sample[]): void {
  const parts = Object.keys(samples[0]?.mb ?? {});
  const { perSecond, min, p50, p99, mean, deviation } = result;
  report.table(
    `${options.longSeconds} s at ${perSecond.toFixed(0)} orders/s, charged and texted`,
    ['after s', ...parts.map((part) => `${part} MB`), 'jobs owed'],
    samples.map(({ second, mb, owed }) => [String(second), ...parts.map((part) => mb[part] as number), String(owed)]),
  );
  report.note(
    `Latency in ms: min ${min.toFixed(1)}, p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, mean ${mean.toFixed(1)} ± ${deviation.toFixed(1)}.`,
  );
  // The first samples are left out, as a heap takes its size in the first minutes.
  const steady = samples.slice(samples.length >> 2);
  for (const part of parts) {
    const growth = growthOf(steady.map(({ mb }) => mb[part] as number));
    report.atMost(`long run: memory of the ${part}, second half of first`, growth, FLAT);
  }
}

function growthOf(values: readonly number[]): number {
  const sum = (some: readonly number[]) => some.reduce((all, one) => all + one, 0) / some.length;
  return sum(values.slice(values.length >> 1)) / sum(values.slice(0, values.length >> 1));
}

/** Repeats something, one call at a time; `stop` throws the first failure. */
function every(ms: number, work: (i: number) => Promise<unknown>): { stop(): Promise<void> } {
  let i = 0;
  let running = Promise.resolve();
  const timer = setInterval(() => {
    running = running.then(async () => void (await work(i++)));
    running.catch(() => undefined);
  }, ms);
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}

function residentBytes(pid: number): number {
  const kb = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kb) * 1_024;
}
