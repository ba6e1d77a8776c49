import { Redis } from 'ioredis';
import type { Sql } from '../../src/postgres/connect.ts';
import { makeOrderWorld, ordersOf } from '../../test/harness/order-world.ts';
import { figure } from '../../test/harness/report.ts';
import { openProfiler, type Spent } from '../support/cpu-profile.ts';
import { load } from '../support/load.ts';
import { percent } from '../support/orders-bench.ts';
import { openStack, type Stack, type Started } from '../support/stack.ts';
import { type Stoppable, stopAll } from '../support/stop-all.ts';
import type { Run } from './figures.ts';
import { table } from './report.ts';
import type { Sizes } from './sizes.ts';

const SEED = 7;
const CONNECTIONS = 100;
const DRAIN_MS = 120_000;
/** Rows of a table: what is below them costs little. */
const MOST_ROWS = 30;
const STATEMENT_CHARS = 88;

/**
 * What one order causes, from its request until it is charged and texted: the statements with their rows and
 * WAL, the tables with their writes, Redis's commands, and the functions of API and worker. Orders come over
 * 100 connections; then every job is waited for, so that nothing comes later.
 *
 * Counting and profiling cost a third, so rates of this run say nothing.
 */
export async function measureBill(run: Pick<Run, 'signal' | 'say'>, sizes: Sizes): Promise<string> {
  run.say('starting servers that count');
  const world = makeOrderWorld(sizes.drivers, sizes.stores);
  const stack = await openStack({ ...world, phones: 0 }, run.signal, { countsStatements: true });
  const opened: Stoppable[] = [{ stop: () => stack.close() }];
  const profiler = openProfiler();
  opened.push({ stop: async () => profiler.remove() });
  try {
    await stack.sql`create extension if not exists pg_stat_statements`;
    await stack.sql`alter system set pg_stat_statements.track_planning = on`;
    await stack.sql`select pg_reload_conf()`;
    const started = await stack.start({ worker: 'vendors', redis: stack.hasRedis, env: profiler.env });
    const target = { url: started.urls, orders: ordersOf(world, sizes.orders, SEED), connections: CONNECTIONS };
    run.say('warm-up');
    await load({ ...target, seconds: sizes.warmUpSeconds, keyed: true, signal: run.signal });
    await jobsDone(stack);
    const counters = await openCounters(stack);
    await counters.reset();
    for (const pid of Object.values(started.pids)) profiler.start(pid);
    const earlier = started.cpu();
    run.say(`${CONNECTIONS} connections`);
    const { created } = await load({ ...target, seconds: sizes.latencySeconds, keyed: true, signal: run.signal });
    run.say('waiting for the jobs');
    await jobsDone(stack);
    const later = started.cpu();
    const counted = await counters.read(created);
    await stack.halt();
    const spent = Object.entries(started.pids).map(([part, pid]) => [part, profiler.read(pid)] as const);
    return [
      `What one order causes, of ${created.toLocaleString('en-US')} over ${CONNECTIONS} connections, every job done.`,
      'Counters and profilers are on, so times are longer than without.',
      '',
      ...costLines(earlier, later, created),
      ...counted,
      ...spent.flatMap(([part, one]) => spentLines(part, one, created)),
      '',
    ].join('\n');
  } finally {
    run.say('removing what was started');
    await stopAll(opened);
  }
}

async function jobsDone(stack: Stack): Promise<void> {
  if (!(await stack.drained(DRAIN_MS))) throw new Error(`jobs are still owed after ${DRAIN_MS / 1_000} s`);
}

function costLines(earlier: ReturnType<Started['cpu']>, later: ReturnType<Started['cpu']>, orders: number): string[] {
  const millis = Object.entries(later).map(([part, seconds]) => {
    return [part, ((seconds - (earlier[part] as number)) * 1_000) / orders] as const;
  });
  const all = millis.reduce((sum, [, ms]) => sum + ms, 0);
  return section('Processor milliseconds an order', [...millis.map(([part]) => part), 'in all'], '', [
    ['', ...millis.map(([, ms]) => figure(ms)), figure(all)],
  ]);
}

/** Counters of Postgres and Redis. */
async function openCounters({ sql, redisUrl }: Stack) {
  const redis = redisUrl === undefined ? undefined : new Redis(redisUrl);
  return {
    async reset(): Promise<void> {
      await sql`select pg_stat_statements_reset()`;
      await sql`select pg_stat_reset()`;
      await sql`select pg_stat_reset_shared('wal')`;
      await redis?.config('RESETSTAT');
    },
    /** The counters' tables, over so many orders. */
    async read(orders: number): Promise<string[]> {
      const commands = await redis?.info('commandstats');
      redis?.disconnect();
      return [
        ...(await walLines(sql, orders)),
        ...(await statementLines(sql, orders)),
        ...(await tableLines(sql, orders)),
        ...(await indexLines(sql, orders)),
        ...(commands === undefined ? [] : redisLines(commands, orders)),
      ];
    },
  };
}

async function walLines(sql: Sql, orders: number): Promise<string[]> {
  const [row] = await sql`
    select wal_records::float8 as records, wal_fpi::float8 as images, wal_bytes::float8 as bytes,
      (select sum(xact_commit)::float8 from pg_stat_database) as commits from pg_stat_wal`;
  const cells = ['records', 'images', 'bytes', 'commits'].map((name) => figure((row?.[name] as number) / orders));
  return section('WAL an order', ['records', 'page images', 'bytes', 'commits'], '', [['', ...cells]]);
}

async function statementLines(sql: Sql, orders: number): Promise<string[]> {
  const rows = await sql`
    select query, calls::float8 as calls, rows::float8 as rows, total_plan_time + total_exec_time as ms,
      total_plan_time as planned, wal_records::float8 as records, wal_bytes::float8 as bytes,
      (shared_blks_hit + shared_blks_read)::float8 as pages
    from pg_stat_statements where query not like '%pg_stat_%' order by ms desc limit ${MOST_ROWS}`;
  const cells = rows.map(({ query, calls, rows: count, ms, planned, records, bytes, pages }) => {
    const text = String(query).replace(/\s+/g, ' ').trim().slice(0, STATEMENT_CHARS);
    const each = [calls, ms * 1_000, planned * 1_000, count, pages, records, bytes].map((value) =>
      figure(Number(value) / orders),
    );
    return [text, ...each, figure(Number(ms) / Number(calls))];
  });
  const head = ['calls', 'µs', 'of it planning', 'rows', 'pages', 'WAL records', 'WAL bytes', 'ms a call'];
  return section('Statements an order, by their time in Postgres', head, '', cells);
}

async function tableLines(sql: Sql, orders: number): Promise<string[]> {
  const rows = await sql`
    select relname, n_tup_ins::float8 as inserted, n_tup_upd::float8 as updated, n_tup_hot_upd::float8 as hot,
      n_tup_del::float8 as deleted, seq_tup_read::float8 as scanned, idx_tup_fetch::float8 as fetched
    from pg_stat_user_tables
    where n_tup_ins + n_tup_upd + n_tup_del > ${orders / 100}::float8 order by n_tup_ins + n_tup_upd + n_tup_del desc`;
  const names = ['inserted', 'updated', 'hot', 'deleted', 'scanned', 'fetched'];
  const cells = rows.map((row) => [row.relname, ...names.map((name) => figure(row[name] / orders))]);
  const head = ['inserted', 'updated', 'of them HOT', 'deleted', 'read by scans', 'read by indexes'];
  return section('Rows an order, by table', head, '', cells);
}

async function indexLines(sql: Sql, orders: number): Promise<string[]> {
  const rows = await sql`
    select i.relname || ': ' || i.indexrelname as name, i.idx_scan::float8 as scans,
      pg_relation_size(i.indexrelid)::float8 as bytes
    from pg_stat_user_indexes i join pg_stat_user_tables t using (relid) where t.n_tup_ins > ${orders / 100}::float8
    order by bytes desc limit ${MOST_ROWS}`;
  const cells = rows.map(({ name, scans, bytes }) => [name, figure(bytes / orders), figure(scans / orders)]);
  return section('Indexes of these tables', ['bytes an order', 'scans an order'], '', cells);
}

/** From INFO commandstats: `cmdstat_get:calls=1,usec=2,…`. */
function redisLines(info: string, orders: number): string[] {
  const cells = [...info.matchAll(/cmdstat_([^:]+):calls=(\d+),usec=(\d+)/g)]
    .map(([, name = '', calls, usec]) => ({ name, calls: Number(calls), micros: Number(usec) }))
    .toSorted((a, b) => b.micros - a.micros)
    .slice(0, MOST_ROWS)
    .map(({ name, calls, micros }) => [name, figure(calls / orders), figure(micros / orders)]);
  return section('Redis commands an order; those of scripts count twice', ['calls', 'µs'], '', cells);
}

function spentLines(part: string, { busyMicros, byOwner, byFunction }: Spent, orders: number): string[] {
  const head = ['share', 'µs an order'];
  const rows = (times: Spent['byOwner']) => {
    return times
      .slice(0, MOST_ROWS)
      .map(([name, micros]) => [name, percent(micros / busyMicros), figure(micros / orders)]);
  };
  return [
    ...section(`${part}, by package or folder with what it calls of Node`, head, '', rows(byOwner)),
    ...section(`${part}, self time by function`, head, '', rows(byFunction)),
  ];
}

function section(title: string, head: readonly string[], corner: string, rows: readonly (readonly string[])[]) {
  return [title, ...table([corner, ...head], rows), ''];
}
