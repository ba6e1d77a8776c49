import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { below } from '../../../src/limits.ts';
import { freePort } from '../../harness/free-port.ts';
import { startHaproxy } from '../../harness/haproxy.ts';
import type { Random } from '../../harness/world.ts';
import { startLoad } from '../clients.ts';
import { startDeliveries } from '../deliveries.ts';
import { findMisread, startReaders } from '../event-readers.ts';
import type { Heard, History, Wanted } from '../history.ts';
import { startPages } from '../live-pages.ts';
import { startPhones } from '../live-phones.ts';
import { BEHIND_MS } from '../live-sockets.ts';
import { makeNextBuild, openRoll, ROOT } from '../roll.ts';
import { findings, type Row, type RowResult, SIZES } from '../row.ts';
import { later, openWorld, type Process, type World } from '../world.ts';
import { findUntold, untilRead } from './feed.ts';

const ORDERS_PER_SECOND = 10;
/** Time that a driver takes for each step, above BEHIND_MS: a stop that was never shown is seen to be missing. */
const STEP_MS = 3_000;
/** Load before the first roll, with which its longest gap is compared, and after the last one. */
const CALM_MS = 5_000;

below({ BEHIND_MS }, { STEP_MS });

export const twoBuilds: Row = {
  name: 'two-builds',
  what: 'deploy/roll.sh rolls all processes behind HAProxy to a build with one migration more, or back',
  count: 6,
  needs: ['redis', 'haproxy'],
  run: (count, random, _scale, beside) => rollToAndFro(count, random, beside ?? ROOT),
};

/** Rolls from the build before, or this one, to one like this with one migration more, back, and so on. */
async function rollToAndFro(count: number, random: Random, before: string): Promise<RowResult> {
  const folder = mkdtempSync(join(tmpdir(), 'sameday-roll-'));
  const ports = await Promise.all([freePort(), freePort(), freePort()]);
  const [a, b] = ports as [number, number, number];
  const env = { STOP_NOTICE_SECONDS: '2', TRUST_PROXY: '1' };
  const haproxy = await startHaproxy(folder, [a, b]);
  const world = await openWorld({ ...SIZES, drivers: 1_000, stores: 2, apis: 2, workers: 1, root: before, ports, env });
  const roll = await openRoll(world, folder, before, ports);
  try {
    const next = makeNextBuild(folder);
    const clients = watchClients(world.history);
    const front = behind(world, haproxy.url, clients.history);
    await front.untilReady();
    const load = startLoad(front, ORDERS_PER_SECOND, random);
    const deliveries = startDeliveries(world, random, STEP_MS);
    const readers = startReaders(front, random);
    const pages = startPages(world, haproxy.url, random);
    const phones = startPhones(world, haproxy.url, random);
    await later(CALM_MS);
    const calm = clients.longestGap();
    const rolled: string[] = [];
    const seconds: number[] = [];
    for (let i = 0; i < count && rolled.length === 0; i++) {
      const startedMs = performance.now();
      rolled.push(...(await roll.to(i % 2 === 0 ? next : before)));
      seconds.push((performance.now() - startedMs) / 1_000);
    }
    const gap = clients.longestGap();
    await later(CALM_MS);
    const gaveUp = await load.stop();
    await deliveries.stop();
    const unread = await untilRead(world, readers.seen);
    await readers.stop();
    const lost = [...(await pages.stop()), ...(await phones.stop())];
    const seen = [pages.seen(), phones.seen()];
    return {
      count,
      orders: load.sent(),
      findings: [
        ...rolled,
        ...gaveUp,
        ...clients.failed,
        ...(readers.failed() > 0 ? [`request: ${readers.failed()} readings of events failed`] : []),
        ...unread,
        ...(await findUntold(world)),
        ...readers.seen.flatMap(findMisread),
        ...lost,
        ...(await findings(world)),
      ],
      recoveries: [],
      notes: [
        `rolls of three processes took ${seconds.map((each) => each.toFixed(0)).join(', ')} s`,
        `${clients.failed.length} of ${load.sent()} orders failed`,
        `longest time between two answers of 201: ${gap} ms, and ${calm} ms before the first roll`,
        ...seen.map(({ who, sentOn, longestMs, behindMs }) => {
          const open = `open and behind the tables: ${behindMs.toFixed(0)} ms`;
          return `${who}, ${sentOn} times sent on; longest time without a socket: ${longestMs.toFixed(0)} ms; ${open}`;
        }),
      ],
    };
  } finally {
    roll.close();
    await haproxy.stop();
    await world.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The world as clients reach it: one address, behind which the processes come and go. */
function behind(world: World, url: string, history: History): World {
  const front: Process = { ...(world.apis[0] as Process), url: () => url };
  return { ...world, apis: [front], history, untilReady: () => world.untilReady([front]) };
}

/** What clients see of a roll, by what they write into the history. */
function watchClients(history: History) {
  const sent = new Map<number, { readonly isKeyed: boolean; readonly atMs: number }>();
  const failed: string[] = [];
  let lastMs: number | null = null;
  let longestMs = 0;
  return {
    /** A sentence of each attempt that brought no order. */
    failed,
    history: {
      ...history,
      wants(...wanted: readonly Wanted[]): void {
        for (const { op, key } of wanted) sent.set(op, { isKeyed: key !== null, atMs: performance.now() });
        history.wants(...wanted);
      },
      hears(heard: Heard): void {
        history.hears(heard);
        const nowMs = performance.now();
        if (heard.outcome === 'ok') {
          longestMs = Math.max(longestMs, nowMs - (lastMs ?? nowMs));
          lastMs = nowMs;
          return;
        }
        const { isKeyed = false, atMs = nowMs } = sent.get(heard.op) ?? {};
        const what = `operation ${heard.op} ${isKeyed ? 'with' : 'without'} a key`;
        const after = `${(nowMs - atMs).toFixed(0)} ms, at ${new Date().toISOString()}`;
        failed.push(`request: ${what} was answered with ${heard.status ?? 'nothing'} after ${after}`);
      },
    },
    /** The longest time between two answers of 201 since the last call, in whole milliseconds. */
    longestGap(): number {
      const taken = Math.round(longestMs);
      longestMs = 0;
      return taken;
    },
  };
}
