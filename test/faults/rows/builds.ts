import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../harness/free-port.ts';
import { startHaproxy } from '../../harness/haproxy.ts';
import type { Random } from '../../harness/world.ts';
import { startLoad } from '../clients.ts';
import { startDeliveries } from '../deliveries.ts';
import { findMisread, startReaders } from '../event-readers.ts';
import type { Heard } from '../history.ts';
import { startPages } from '../live-pages.ts';
import { makeNextBuild, openRoll, ROOT } from '../roll.ts';
import { findings, type Row, type RowResult, SIZES } from '../row.ts';
import { later, openWorld, type Process, type World } from '../world.ts';
import { findUntold, untilRead } from './feed.ts';

const ORDERS_PER_SECOND = 20;
/** Load before the first roll, with which its longest gap is compared, and after the last one. */
const CALM_MS = 10_000;

export const twoBuilds: Row = {
  name: 'two-builds',
  what: 'deploy/roll.sh rolls all processes behind HAProxy to a build with one migration more, or back',
  count: 6,
  needsRedis: true,
  needsHaproxy: true,
  run: (count, random, _scale, beside) => rollToAndFro(count, random, beside ?? ROOT),
};

/** Rolls from the build before, or this one, to one like this with one migration more, back, and so on. */
async function rollToAndFro(count: number, random: Random, before: string): Promise<RowResult> {
  const folder = mkdtempSync(join(tmpdir(), 'sameday-roll-'));
  const ports = await Promise.all([freePort(), freePort(), freePort()]);
  const [a, b] = ports as [number, number, number];
  const env = { STOP_NOTICE_SECONDS: '2', TRUST_PROXY: '1' };
  const haproxy = await startHaproxy(folder, [a, b]);
  const world = await openWorld({ ...SIZES, drivers: 1_000, stores: 4, apis: 2, workers: 1, root: before, ports, env });
  const roll = await openRoll(world, folder, before, ports);
  try {
    const next = makeNextBuild(folder);
    const gaps = watchGaps();
    const front = behind(world, haproxy.url, gaps.hears);
    await front.untilReady();
    const load = startLoad(front, ORDERS_PER_SECOND, random);
    const deliveries = startDeliveries(world, random);
    const readers = startReaders(front, random);
    const pages = startPages(world, haproxy.url, random);
    await later(CALM_MS);
    const calm = gaps.take();
    const rolled: string[] = [];
    const seconds: number[] = [];
    for (let i = 0; i < count && rolled.length === 0; i++) {
      const startedMs = performance.now();
      rolled.push(...(await roll.to(i % 2 === 0 ? next : before)));
      seconds.push((performance.now() - startedMs) / 1_000);
    }
    const gap = gaps.take();
    await later(CALM_MS);
    const gaveUp = await load.stop();
    await deliveries.stop();
    const unread = await untilRead(world, readers.seen);
    await readers.stop();
    const lost = await pages.stop();
    const { heard } = await world.records();
    const failed = heard.filter(({ outcome }) => outcome !== 'ok');
    const seen = pages.seen();
    return {
      count,
      orders: load.sent(),
      findings: [
        ...rolled,
        ...gaveUp,
        ...failed.map(({ op, status }) => `request: operation ${op} was answered with ${status ?? 'nothing'}`),
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
        `${failed.length} of ${heard.length} requests failed; longest time between two answers of 201: ${gap} ms, and ${calm} ms before the first roll`,
        `${seen.pages} pages, ${seen.sentOn} times sent on; longest time without a socket: ${seen.longestMs.toFixed(0)} ms`,
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
function behind(world: World, url: string, hears: (heard: Heard) => void): World {
  const front: Process = { ...(world.apis[0] as Process), url: () => url };
  const history = {
    ...world.history,
    hears(heard: Heard) {
      hears(heard);
      world.history.hears(heard);
    },
  };
  return { ...world, apis: [front], history, untilReady: () => world.untilReady([front]) };
}

/** The longest time between two answers of 201, in whole milliseconds. */
function watchGaps() {
  let lastMs: number | null = null;
  let longestMs = 0;
  return {
    hears({ outcome }: Heard): void {
      if (outcome !== 'ok') return;
      const nowMs = performance.now();
      longestMs = Math.max(longestMs, nowMs - (lastMs ?? nowMs));
      lastMs = nowMs;
    },
    /** The longest since the last call. */
    take(): number {
      const taken = Math.round(longestMs);
      longestMs = 0;
      return taken;
    },
  };
}
