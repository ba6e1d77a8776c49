/**
 * Measures the time from a change of an order to the frames on its customers' tracking pages:
 * `npm run bench:tracking -- [sockets]`, by default 10,000.
 *
 * The built service on its own Postgres, filled before it starts with assigned orders. Another process plays
 * the pages. First every socket watches an order of its own: single taps of drivers, one after the other, and
 * then all other drivers tap as fast as 64 connections carry. Then fifty sockets, the most that one order may
 * have, watch each of a fiftieth as many orders: single taps again, all drivers at once, and all orders
 * changed at once by another process of the service (whose commits reach this one by their notices).
 *
 * A tap's clock starts before the HTTP request and again with its answer (for another process: with its
 * commit), and stops when the pages' process has read the frame. A frame that comes before the answer counts
 * as negative.
 *
 * Beside it runs the transport alone, publishing texts of the same length to as many sockets of the same
 * clients.
 *
 * Exits with 1 where a socket ends, misses an event, gets one twice or an older state, or a tap fails.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_SOCKETS_PER_ORDER } from '../src/tracking/live.ts';
import { openReport, type Report } from '../test/harness/report.ts';
import { serveBare } from './support/sockets-bare.ts';
import { createClient } from './support/sockets-check.ts';
import { Child } from './support/sockets-child.ts';
import { driveOf } from './support/sockets-drive.ts';
import { type Act, committing, type Event, follow, happen, tapping } from './support/sockets-events.ts';
import { collectGarbage, INSPECTED } from './support/sockets-garbage.ts';
import { failIfTold } from './support/sockets-problems.ts';
import { type Memory, type PagesRow, tellPages } from './support/sockets-tables.ts';
import { serveViewers } from './support/sockets-viewers.ts';
import { readMetrics, watch } from './support/sockets-watch.ts';
import { openSocketWorld, type SocketWorld, trackingToken } from './support/sockets-world.ts';

const SINGLE_TAPS = 300;
const CONNECTIONS = 64;
const COMMITS_AT_ONCE = 64;
/** Time after an opening, or a close, until memory is measured. */
const REST_MS = 3_000;
/** A frame as the service's, with an arrival and no position. */
const FRAME_LETTERS = 900;
const WRONG = 'a page met something wrong';

const [sockets = 10_000] = process.argv
  .slice(2)
  .filter((argument) => /^\d+$/.test(argument))
  .map(Number);
const shared = Math.max(1, Math.floor(sockets / MAX_SOCKETS_PER_ORDER));

async function main(): Promise<void> {
  const report = openReport('tracking');
  try {
    needFiles(sockets + 500);
    const bare = await measureBare(report);
    const service = await measureService(report);
    tellPages(report, sockets, [...bare.rows, ...service.rows], [...bare.memory, ...service.memory]);
  } catch (error) {
    report.failed((error as Error).stack ?? 'unknown');
  }
  report.close();
}

/** Bound of open files of each process, as each end of a socket is one. */
function needFiles(count: number): void {
  if (process.platform !== 'linux') return;
  const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
  if (Number(limit) < count) throw new Error(`Only ${limit} files may be open: raise it first (ulimit -n ${count})`);
}

const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, at) => from + at);

async function measureBare(report: Report): Promise<{ rows: PagesRow[]; memory: Memory[] }> {
  const server = new Child(import.meta.filename, 'bare');
  const viewers = new Child(import.meta.filename, 'viewers');
  try {
    const port = await server.ask<number>('listen');
    const before = await server.ask<number>('rss');
    await viewers.ask('open', { port, orders: range(0, shared), each: MAX_SOCKETS_PER_ORDER });
    const rss = (await server.ask<number>('rss')) - before;
    let sequence = 1;
    const publish = async (orders: readonly number[]): Promise<Event[]> => {
      sequence += 1;
      const text = `{"type":"order","order":{"sequence":${sequence},"filling":"${'x'.repeat(FRAME_LETTERS)}"}}`;
      const startedMs = await server.ask<number>('publish', { topics: orders.map(trackingToken), text });
      return orders.map((order) => ({ order, sequence, sentMs: startedMs, doneMs: startedMs }));
    };
    await follow(viewers, await publish(range(0, shared)), MAX_SOCKETS_PER_ORDER, report.failed);
    const all = await follow(viewers, await publish(range(0, shared)), MAX_SOCKETS_PER_ORDER, report.failed);
    await failIfTold(report, viewers, WRONG);
    return {
      rows: [{ what: `transport alone, ${shared} orders of 50 at once`, watched: null, ...all }],
      memory: [
        {
          what: 'transport alone, 50 an order',
          sockets: shared * MAX_SOCKETS_PER_ORDER,
          before,
          rss,
          heap: Number.NaN,
        },
      ],
    };
  } finally {
    await viewers.stop();
    await server.stop();
  }
}

async function measureService(report: Report): Promise<{ rows: PagesRow[]; memory: Memory[] }> {
  const orders = sockets + 2 * shared;
  const place = driveOf(orders);
  const world = await openSocketWorld(
    orders,
    (index) => place(index, 0),
    () => 'driver_assigned',
    INSPECTED,
  );
  const viewers = new Child(import.meta.filename, 'viewers');
  const many = createClient(world.port, CONNECTIONS);
  const rows: PagesRow[] = [];
  const memory: Memory[] = [];
  const run = async (what: string, ids: readonly number[], each: number, atOnce: number, act: Act) => {
    const unwatch = await watch(world);
    const events = await happen(ids, atOnce, act);
    const followed = await follow(viewers, events, each, report.failed);
    const watched = await unwatch();
    rows.push({ what, watched, ...followed });
  };
  const pickUp = tapping(many, 'pick-up');
  try {
    memory.push(await open(world, viewers, range(0, sockets), 1));
    const stride = Math.max(2, Math.floor(sockets / SINGLE_TAPS));
    const singles = range(0, sockets).filter((index) => index % stride === 0);
    await run('an order each, single taps', singles, 1, 1, pickUp);
    const others = range(0, sockets).filter((index) => index % stride !== 0);
    await run(`an order each, all others tap on ${CONNECTIONS} connections`, others, 1, CONNECTIONS, pickUp);
    await failIfTold(report, viewers, WRONG);
    await viewers.ask('close');

    const first = range(sockets, shared);
    const second = range(sockets + shared, shared);
    memory.push(await open(world, viewers, first, MAX_SOCKETS_PER_ORDER));
    const each = MAX_SOCKETS_PER_ORDER;
    await run('50 an order, single taps', first, each, 1, pickUp);
    await run('50 an order, all taps at once', first, each, shared, tapping(many, 'undeliverable'));
    await failIfTold(report, viewers, WRONG);
    await viewers.ask('close');
    await open(world, viewers, second, each);
    await run('50 an order, all changed at once elsewhere', second, each, COMMITS_AT_ONCE, committing(world));
    await failIfTold(report, viewers, WRONG);
    return { rows, memory };
  } finally {
    many.close();
    await viewers.stop();
    await world.close();
  }
}

/** Opens the sockets, and measures the service's memory for them. */
async function open(world: SocketWorld, viewers: Child, orders: readonly number[], each: number): Promise<Memory> {
  const read = async () => {
    await sleep(REST_MS);
    await collectGarbage(world.service);
    const metrics = await readMetrics(world);
    const named = (name: string) => metrics.get(name) ?? Number.NaN;
    return { rss: named('process_resident_memory_bytes'), heap: named('nodejs_heap_size_used_bytes') };
  };
  const before = await read();
  const tookMs = await viewers.ask<number>('open', { port: world.port, orders, each });
  const after = await read();
  const count = orders.length * each;
  console.log(`${count} sockets on ${orders.length} orders opened within ${(tookMs / 1_000).toFixed(1)} s`);
  const what = `service, ${each} an order`;
  return { what, sockets: count, before: before.rss, rss: after.rss - before.rss, heap: after.heap - before.heap };
}

if (process.send && process.argv[2] === 'viewers') serveViewers();
else if (process.send && process.argv[2] === 'bare') await serveBare();
else await main();
