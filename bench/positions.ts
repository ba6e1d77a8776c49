/**
 * Measures position reports over the drivers' WebSockets into one API process:
 * `npm run bench:positions -- [drivers] [seconds]`, by default 10,000 drivers and 8 s a rate.
 *
 * The built service on its own Postgres, filled before it starts: drivers in towns, all on duty, one in ten
 * with an order on the way. Another process plays their phones: a socket each, one report a write, all in
 * turn. A driver may send five messages a second, and so may ten thousand sockets, which bounds a process to
 * 50,000 reports a second; the offered rate is 2 % more, as much as the allowance for bursts permits. The
 * burst shows what the process could do beyond that: each driver's whole allowance in one write, as after a
 * dead zone.
 *
 * Reports get no answer. A ping behind every 100th gets one, and the parent then reads the driver's position
 * through the tracking page of the driver's order; it must be the reported one or the next one. The clock
 * starts with the first write and stops with the answer to the last ping, behind one of the last hundred
 * reports; the burst has a ping behind every 100th driver. Then, untimed, a ping behind every driver's last
 * report shows that all were processed. The service counts refused reports. Afterwards every driver's row
 * must hold the last reported position, and an order placed beside every 100th driver must go to the one whom
 * a look at all drivers finds nearest.
 *
 * Beside it run the transport alone under the same clients (which is what they can do), and the same drivers
 * and steps as GEOADD to Redis, 250 to a pipeline. The service does the socket, JSON, checks, allowance,
 * index and write-behind; GEOADD is the index alone.
 *
 * Exits with 1 where a report is refused, a socket ends, a position is wrong or an answer is missing.
 */

import { freshRedis } from '../test/harness/redis.ts';
import { openReport, type Report } from '../test/harness/report.ts';
import { serveBare } from './support/sockets-bare.ts';
import { allWritten, askNearest, type Checker, createChecker } from './support/sockets-check.ts';
import { Child } from './support/sockets-child.ts';
import { driveOf } from './support/sockets-drive.ts';
import { measureGeoAdd } from './support/sockets-geoadd.ts';
import { servePhones } from './support/sockets-phones.ts';
import { failIfTold } from './support/sockets-problems.ts';
import { CARRIES_EVERY, CHECK_EVERY, type Sending, type Sent, type Taken } from './support/sockets-reports.ts';
import { type ReportsRow, tellReports } from './support/sockets-tables.ts';
import { watch } from './support/sockets-watch.ts';
import { openSocketWorld, type SocketWorld } from './support/sockets-world.ts';

/** A driver's allowance is 20 messages at once; two are for pings, behind the burst and behind everything. */
const BURST = 18;
const REFILL_MS = 5_000;
const WARM_UP_ROUNDS = 3;
const REFUSED = 'a phone was refused something';

const [drivers = 10_000, seconds = 8] = process.argv
  .slice(2)
  .filter((argument) => /^\d+$/.test(argument))
  .map(Number);

async function main(): Promise<void> {
  if (drivers % CHECK_EVERY !== 0) throw new Error(`Say a multiple of ${CHECK_EVERY} drivers`);
  const report = openReport('positions');
  try {
    const bare = await measureBare(report);
    const alone = await measureService(report, 'without Redis', {});
    const redis = await freshRedis();
    const shared = redis ? await measureService(report, 'with Redis', { REDIS_URL: redis.url }) : [];
    await redis?.stop();
    const geoadd = await measureGeoAdd(drivers, seconds * 5);
    tellReports(report, [...bare, ...alone, ...shared], geoadd);
  } catch (error) {
    report.failed((error as Error).stack ?? 'unknown');
  }
  report.close();
}

/** What the phones can do alone, with a server that only counts. */
async function measureBare(report: Report): Promise<ReportsRow[]> {
  const server = new Child(import.meta.filename, 'bare');
  const phones = new Child(import.meta.filename, 'phones');
  try {
    await phones.ask('open', { port: await server.ask('listen'), drivers });
    const rows: ReportsRow[] = [];
    const measure = async (what: string, sending: Sending) => {
      await phones.ask('prepare', sending);
      const sent = await phones.ask<Sent>('go');
      await phones.ask('drain');
      rows.push({ what, sent, watched: null, checked: 0 });
    };
    await measure('warm-up', { firstStep: 1, rounds: WARM_UP_ROUNDS, perSecond: 5 });
    rows.pop();
    await measure('transport alone, 5.1 a second each', { firstStep: 10, rounds: 15, perSecond: 5.1 });
    // At a rate above any client's, to see this one's.
    await measure('transport alone, as fast as the phones can', { firstStep: 30, rounds: 25, perSecond: 1_000 });
    await measure('transport alone, burst', { firstStep: 60, rounds: BURST, perSecond: null });
    await failIfTold(report, phones, REFUSED);
    return rows;
  } finally {
    await phones.stop();
    await server.stop();
  }
}

async function measureService(
  report: Report,
  name: string,
  env: Readonly<Record<string, string>>,
): Promise<ReportsRow[]> {
  const placeOf = driveOf(drivers);
  const world = await openSocketWorld(
    drivers,
    (index) => placeOf(index, 0),
    (index) => (index % CARRIES_EVERY === 0 ? 'picked_up' : null),
    { PAYMENT_WAIT_MS: '0', ...env },
  );
  const checker = createChecker(world.port, placeOf, report.failed);
  const phones = new Child(import.meta.filename, 'phones', (event) => checker.taken(event as Taken));
  try {
    const tookMs = await phones.ask<number>('open', { port: world.port, drivers });
    report.note(`Service ${name}: ${drivers} drivers signed in within ${(tookMs / 1_000).toFixed(1)} s`);
    const rows = await runRates(report, name, { world, phones, checker });
    await failIfTold(report, phones, REFUSED);
    return rows;
  } finally {
    checker.close();
    await phones.stop();
    await world.close();
  }
}

type Parts = {
  readonly world: SocketWorld;
  readonly phones: Child;
  readonly checker: Checker;
};

async function runRates(report: Report, name: string, { world, phones, checker }: Parts): Promise<ReportsRow[]> {
  const placeOf = driveOf(drivers);
  const rows: ReportsRow[] = [];
  let step = 1;
  const measure = async (what: string, rounds: number, perSecond: number | null) => {
    await phones.ask('prepare', { firstStep: step, rounds, perSecond } satisfies Sending);
    const unwatch = await watch(world);
    const sent = await phones.ask<Sent>('go');
    const watched = await unwatch();
    await phones.ask('drain');
    const checked = await checker.finish();
    if (perSecond !== null && checked !== sent.reports / CHECK_EVERY)
      report.failed(`${checked} reports were followed up`);
    step += rounds;
    rows.push({ what: `service ${name}, ${what}`, sent, watched, checked });
  };
  await measure('warm-up', WARM_UP_ROUNDS, 1);
  await measure('1 a second each', seconds, 1);
  await measure('5.1 a second each', Math.round(seconds * 5.1), 5.1);
  await new Promise((later) => setTimeout(later, REFILL_MS));
  await measure('burst', BURST, null);
  const flushed = await allWritten(world, drivers, placeOf, step - 1);
  const asked = await askNearest(world, drivers, (index) => placeOf(index, step - 1), report.failed);
  report.note(
    `Service ${name}: every driver's last place was in its row ${flushed.toFixed(1)} s after the burst; ${asked} orders asked who is nearest.`,
  );
  return rows.slice(1);
}

if (process.send && process.argv[2] === 'phones') servePhones();
else if (process.send && process.argv[2] === 'bare') await serveBare();
else await main();
