import { machineSeconds } from '../load/machine-time.ts';
import { coreSeconds } from './orders-cpu.ts';
import type { SocketWorld } from './sockets-world.ts';

const SAMPLE_MS = 1_000;
const REQUEST_MS = 5_000;
/** The loop's delay is measured with a timer of 10 ms, which an idle loop shows. */
const TIMER_SECONDS = 0.01;

/** The load of a running service and its database. */
export type Watched = {
  readonly seconds: number;
  /** Cores in use; above 1 with several threads. */
  readonly apiCores: number;
  readonly postgresCores: number;
  readonly loopDelayP99Ms: number;
  readonly loopDelayMaxMs: number;
  /** Load of the whole machine. */
  readonly machineCores: number;
  /** Largest and median age of the written positions at the end. */
  readonly oldestRowSeconds: number;
  readonly middleRowSeconds: number;
  readonly rowsPerSecond: number;
  readonly commitsPerSecond: number;
  readonly walPerSecond: number;
};

type Database = { commits: number; wal: number; cpuMs: number };
export type Metrics = ReadonlyMap<string, number>;

/** The service's own metrics, by name with labels. */
export async function readMetrics({ service }: SocketWorld): Promise<Metrics> {
  const answer = await fetch(`${service.url}/metrics`, { signal: AbortSignal.timeout(REQUEST_MS) });
  if (answer.status !== 200) throw new Error(`/metrics was answered with ${answer.status}`);
  const lines = (await answer.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}

/** Samples once a second until the returned function is called, at the cost of one request each. */
export async function watch(world: SocketWorld): Promise<() => Promise<Watched>> {
  const before = await readDatabase(world);
  // The service measures its loop's delay from one scrape to the next.
  const first = await readMetrics(world);
  const startedMs = performance.now();
  const machine = machineSeconds();
  const worst = { p99: 0, max: 0 };
  const written: number[] = [];
  let ages = { oldest: Number.NaN, middle: Number.NaN, lastSecond: 0 };
  const look = async () => {
    const metrics = await readMetrics(world);
    ages = await readAges(world);
    written.push(ages.lastSecond);
    worst.p99 = Math.max(worst.p99, (metrics.get('nodejs_eventloop_lag_p99_seconds') ?? 0) - TIMER_SECONDS);
    worst.max = Math.max(worst.max, (metrics.get('nodejs_eventloop_lag_max_seconds') ?? 0) - TIMER_SECONDS);
    return metrics;
  };
  let looking: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    looking = looking.then(look);
    // The function that ends the watch rejects with it.
    looking.catch(() => undefined);
  }, SAMPLE_MS);
  return async () => {
    clearInterval(timer);
    await looking;
    const last = await look();
    const seconds = (performance.now() - startedMs) / 1_000;
    const after = await readDatabase(world);
    const cpu = 'process_cpu_seconds_total';
    const rate = (name: keyof Database) => (after[name] - before[name]) / seconds;
    return {
      seconds,
      apiCores: ((last.get(cpu) ?? Number.NaN) - (first.get(cpu) ?? Number.NaN)) / seconds,
      postgresCores: rate('cpuMs') / 1_000,
      loopDelayP99Ms: worst.p99 * 1_000,
      loopDelayMaxMs: worst.max * 1_000,
      machineCores: (machineSeconds().busy - machine.busy) / seconds,
      oldestRowSeconds: ages.oldest,
      middleRowSeconds: ages.middle,
      rowsPerSecond: written.reduce((sum, rows) => sum + rows, 0) / written.length,
      commitsPerSecond: rate('commits'),
      walPerSecond: rate('wal'),
    };
  };
}

type Ages = { readonly oldest: number; readonly middle: number; readonly lastSecond: number };

async function readAges({ sql }: SocketWorld): Promise<Ages> {
  const [row] = await sql`
    select extract(epoch from now() - min(captured_at))::float8 as oldest,
      percentile_cont(0.5) within group (order by extract(epoch from now() - captured_at))::float8 as middle,
      count(*) filter (where received_at > now() - interval '1 second')::int as written
    from driver_positions`;
  return { oldest: row?.oldest ?? Number.NaN, middle: row?.middle ?? Number.NaN, lastSecond: row?.written ?? 0 };
}

async function readDatabase({ sql }: SocketWorld): Promise<Database> {
  const [row] = await sql`
    select (select xact_commit from pg_stat_database where datname = current_database())::float8 as commits,
      pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as wal,
      array(select pid from pg_stat_activity) as pids`;
  const cpuMs = ((row?.pids ?? []) as number[]).reduce((sum, pid) => sum + cpuMsOf(pid), 0);
  return { commits: row?.commits ?? 0, wal: row?.wal ?? 0, cpuMs };
}

/** Processor time of a process so far, 0 for one that has ended; NaN without /proc. */
export function cpuMsOf(pid: number): number {
  const seconds = coreSeconds(pid);
  return Number.isNaN(seconds) && process.platform === 'linux' ? 0 : seconds * 1_000;
}
