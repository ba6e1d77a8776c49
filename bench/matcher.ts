/**
 * The matcher beside its alternatives:
 * `npm run bench:matcher -- [--drivers 1000,100000] [--world cities] [--queries 20000] [--no-servers]`;
 * `--no-results` keeps the report out of `bench/results`.
 *
 * The worlds are seeded (test/harness/world.ts), with the same drivers and pickups for all in a run. Each
 * world and size has a process of its own, so that one's garbage is not another's. All sets of tiers are
 * equally frequent among drivers; every query is for the nearest driver of one tier, which four drivers of
 * seven serve. The matcher searches among all drivers, as in the service; each peer has an index of only
 * those who serve the tier. rbush-knn measures on the plane and geokdbush on the sphere; geokdbush is built
 * once and cannot change. Redis and PostGIS answer over one connection from a process of their own.
 *
 * Every call is timed by itself, clock included (0.05 to 0.1 µs), in blocks that take turns. Each structure
 * is warm by then: the matcher lists a cell's neighbours on the first query there, and that first query has a
 * line of its own.
 *
 * A freed driver's order is found among WAITING orders of 1,000 stores, up to half an hour old.
 *
 * Whatever a caller has at hand (the ids of driver and order, rbush's item) is looked up before.
 *
 * A run fails if an answer of the matcher differs from a scan of all drivers.
 */
import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { around as geokdNearest } from 'geokdbush';
import KDBush from 'kdbush';
import RBush from 'rbush';
import rbushKnn from 'rbush-knn';
import { Fleet, type FleetSource } from '../src/dispatch/fleet.ts';
import { OrderEvents } from '../src/dispatch/order-events.ts';
import type { FleetDriver } from '../src/domain/driver.ts';
import { TIER_IDS, type TierId } from '../src/domain/tier.ts';
import { distanceMeters, type Point } from '../src/geo/point.ts';
import { Matcher } from '../src/matcher/matcher.ts';
import { openReport } from '../test/harness/report.ts';
import { type Timing, timeEach, timeEachAsync, timeInTurns } from '../test/harness/timing.ts';
import {
  driversOf,
  offset,
  placesOf,
  seeded,
  WORLDS,
  type WorldDriver,
  type WorldName,
} from '../test/harness/world.ts';
import { openPostgisPeer, openRedisPeer } from './support/server-peers.ts';
import { loadTestTiers } from './support/tiers.ts';

const SEED = 20_261;
const NOW = 1_700_000_000_000;
const TIER = 'standard';
const EVERYWHERE_METERS = 20_100_000;
const SERVER_QUERIES = 1_000;
const SCAN_QUERIES = 100;
const WAITING = 10_000;
const STORES = 1_000;
/** Above this, loading Redis and PostGIS takes longer than all the rest, so only one world has them. */
const SERVERS_IN_EVERY_WORLD = 100_000;

const option = (name: string): string | undefined => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
};
const queries = Number(option('queries') ?? 20_000);
const withServers = !process.argv.includes('--no-servers');

/** The figures of one world of one size. */
type Shown = {
  readonly world: WorldName;
  readonly drivers: number;
  readonly buildMs: number;
  readonly bytesADriver: number;
  readonly firstAsked: Timing;
  readonly nearest: Record<string, Timing>;
  readonly move: Record<string, Timing>;
  readonly claim: Timing;
  readonly release: Timing;
  readonly freed: Timing;
  readonly wrong: number;
};

type Item = { minX: number; minY: number; maxX: number; maxY: number };
const itemAt = ({ lat, lng }: Point): Item => ({ minX: lng, minY: lat, maxX: lng, maxY: lat });

async function show(world: WorldName, count: number): Promise<Shown> {
  const random = seeded(SEED);
  const place = placesOf(world, random);
  const drivers = driversOf(count, place, random);
  const { matcher, buildMs, bytesADriver } = await build(drivers);
  const points = Array.from({ length: queries }, place);
  const ask = (point: Point) => matcher.nearest({ tierId: TIER, point, radiusMeters: EVERYWHERE_METERS, nowMs: NOW });
  const ours = (i: number) => ask(points[i] as Point);

  const firstAsked = timeEach(queries, ours);
  for (let i = 0; i < count / 2; i++) ask(place());
  const { knn, geokd, scan } = peersOf(drivers, points);
  const nearest = timeInTurns(queries, { ours, 'rbush-knn': knn, geokdbush: geokd });
  const wrong = points.slice(0, SCAN_QUERIES).filter((_, i) => ours(i)?.distanceMeters !== scan(i)).length;
  nearest['a scan'] = timeEach(SCAN_QUERIES, scan);

  const walk = walkOf(drivers, random);
  const move = timeInTurns(
    queries,
    { ours: (i) => matcher.moveDriver(walk.ids[i] as string, walk.next, NOW + i), rbush: treeMover(drivers, walk) },
    walk.step,
  );
  const servers = withServers && (count <= SERVERS_IN_EVERY_WORLD || world === WORLDS[0]);
  if (servers) await askServers(drivers, points, nearest, move);

  const orderIds = Array.from({ length: queries }, () => randomUUID());
  const claimed = () => timeEach(queries, (i) => matcher.claim(walk.ids[i] as string, orderIds[i] as string));
  const released = () => timeEach(queries, (i) => matcher.release(walk.ids[i] as string, NOW, orderIds[i] as string));
  // The first calls are untimed, so that both are compiled.
  claimed();
  released();
  const claim = claimed();
  const release = released();
  const stores = Array.from({ length: STORES }, place);
  for (let i = 0; i < WAITING; i++) {
    const where = { retailerId: `store-${i % STORES}`, point: stores[i % STORES] as Point };
    const sinceMs = NOW - Math.floor(random() * 30 * 60_000);
    matcher.wait({ orderId: randomUUID(), tierId: TIER_IDS[i % 3] as TierId, sinceMs, ...where });
  }
  const freed = timeEach(queries, (i) => matcher.bestWaitingFor(walk.ids[i] as string, NOW));
  return { world, drivers: count, buildMs, bytesADriver, firstAsked, nearest, move, claim, release, freed, wrong };
}

/** Fills a matcher as the service does at start, without the database's time. */
async function build(drivers: readonly WorldDriver[]) {
  const rows: FleetDriver[] = drivers.map(({ id, point, tierIds }) => {
    return { id, tierIds, onDuty: true, position: { ...point, atMs: NOW }, freeSinceMs: NOW, carried: [] };
  });
  const before = memory();
  const matcher = new Matcher(loadTestTiers());
  const fleet = new Fleet(matcher, sourceOf(rows), new OrderEvents());
  const started = performance.now();
  await fleet.rebuild();
  const buildMs = performance.now() - started;
  const bytesADriver = (memory() - before) / drivers.length;
  // This use keeps the rows from being collected before: they are the database's, and not counted.
  if (rows.length !== matcher.driverCount()) throw new Error('drivers are missing');
  return { matcher, buildMs, bytesADriver };
}

/** A database without waiting orders. */
function sourceOf(rows: FleetDriver[]): FleetSource {
  return {
    loadFleet: async () => rows,
    loadWaiting: async () => [],
    loadOrderStates: async () => [],
    findMatchable: async () => ({ orderIds: [], driverIds: [], nextAfter: '' }),
  };
}

/** Bytes in use after a collection. The ids of the drivers belong to the world, and are counted before. */
function memory(): number {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function peersOf(drivers: readonly WorldDriver[], points: readonly Point[]) {
  const serving = drivers.filter(({ tierIds }) => tierIds.includes(TIER)).map(({ point }) => point);
  const tree = new RBush<Item>().load(serving.map(itemAt));
  const kd = new KDBush(serving.length);
  for (const { lat, lng } of serving) kd.add(lng, lat);
  kd.finish();
  const at = (i: number) => points[i] as Point;
  return {
    knn: (i: number) => rbushKnn(tree, at(i).lng, at(i).lat, 1),
    geokd: (i: number) => geokdNearest(kd, at(i).lng, at(i).lat, 1),
    scan: (i: number) => serving.reduce((least, point) => Math.min(least, distanceMeters(at(i), point)), Infinity),
  };
}

/** Drivers who walk on from where they are, 0 to 100 m a step in any direction. */
function walkOf(drivers: readonly WorldDriver[], random: () => number) {
  const places = drivers.map(({ point }) => point);
  const whose = Array.from({ length: queries }, () => Math.floor(random() * drivers.length));
  const walk = {
    next: places[0] as Point,
    whose,
    ids: whose.map((who) => (drivers[who] as WorldDriver).id),
    step(i: number) {
      const angle = 2 * Math.PI * random();
      const meters = 100 * random();
      const from = places[whose[i] as number] as Point;
      walk.next = offset(from, meters * Math.cos(angle), meters * Math.sin(angle));
      places[whose[i] as number] = walk.next;
    },
  };
  return walk;
}

function treeMover(drivers: readonly WorldDriver[], walk: ReturnType<typeof walkOf>) {
  const items = drivers.map(({ point }) => itemAt(point));
  const tree = new RBush<Item>().load(items);
  const walking = walk.whose.map((who) => items[who] as Item);
  return (i: number) => {
    const item = walking[i] as Item;
    tree.remove(item);
    Object.assign(item, itemAt(walk.next));
    tree.insert(item);
  };
}

async function askServers(
  drivers: readonly WorldDriver[],
  points: readonly Point[],
  nearest: Record<string, Timing>,
  move: Record<string, Timing>,
): Promise<void> {
  const calls = Math.min(SERVER_QUERIES, points.length);
  const redis = await openRedisPeer();
  if (redis) {
    await redis.load(drivers);
    nearest[`Redis ${redis.version}`] = await timeEachAsync(calls, (i) => redis.nearestRedis(points[i] as Point, TIER));
    const mover = (i: number) => redis.moveRedis(drivers[i % drivers.length] as WorldDriver, points[i] as Point);
    move[`Redis ${redis.version}`] = await timeEachAsync(calls, mover);
    await redis.close();
  }
  const postgis = await openPostgisPeer();
  if (postgis) {
    await postgis.load(drivers);
    const caller = (i: number) => postgis.nearestPostgis(points[i] as Point, TIER);
    nearest[`PostGIS ${postgis.version}`] = await timeEachAsync(calls, caller);
    await postgis.close();
  }
}

// --- The run: a process for each world and size, then the report -------------------------------------------

function inItsOwnProcess(world: WorldName, count: number): Promise<Shown> {
  return new Promise((resolve, reject) => {
    const args = ['--only', world, '--of', String(count), ...process.argv.slice(2)];
    const execArgv = ['--enable-source-maps', '--expose-gc', '--max-old-space-size=8000'];
    const child = fork(fileURLToPath(import.meta.url), args, { execArgv });
    child.once('message', (shown) => resolve(shown as Shown));
    child.once('exit', (code) => reject(new Error(`${world}, ${count} drivers: ended with ${code}`)));
  });
}

const LABELS = ['minimum', 'median', 'p99', 'mean', '± deviation'];
const figures = ({ min, p50, p99, mean, deviation }: Timing) => [min, p50, p99, mean, deviation];

async function main(): Promise<void> {
  const sizes = (option('drivers') ?? '1000,10000,100000,1000000').split(',').map(Number);
  const worlds = WORLDS.filter((world) => (option('world') ?? world) === world);
  const report = openReport('matcher');
  report.note('Microseconds per call. A ratio is the time of the peer divided by ours, at the median and at p99.');
  const all: Shown[] = [];
  for (const count of sizes) {
    for (const world of worlds) {
      // This size only shows the growth, for which one world is enough.
      if (count === 10_000 && world !== WORLDS[0]) continue;
      const shown = await inItsOwnProcess(world, count);
      all.push(shown);
      tell(report, shown);
    }
  }
  growth(
    report,
    all.filter(({ world }) => world === worlds[0]),
  );
  report.close();
}

type Report = ReturnType<typeof openReport>;

function tell(report: Report, shown: Shown): void {
  const { world, drivers, nearest, move, claim, release, freed } = shown;
  const rows: (string | number)[][] = [];
  const add = (what: string, timings: Record<string, Timing>) => {
    const ours = timings.ours as Timing;
    for (const [name, timing] of Object.entries(timings)) {
      const ratios = name === 'ours' ? ['', ''] : [timing.p50 / ours.p50, timing.p99 / ours.p99];
      rows.push([what, name, ...figures(timing), ...ratios]);
    }
  };
  add('nearest', nearest);
  rows.push(['nearest, first asked', 'ours', ...figures(shown.firstAsked), '', '']);
  add('move', move);
  rows.push(['claim', 'ours', ...figures(claim), '', ''], ['release', 'ours', ...figures(release), '', '']);
  rows.push(["a freed driver's order", 'ours', ...figures(freed), '', '']);
  const name = `${world}, ${drivers.toLocaleString('en')} drivers`;
  report.table(name, ['', '', ...LABELS, 'ratio', 'at p99'], rows);
  report.note(`Built in ${Math.round(shown.buildMs)} ms; ${Math.round(shown.bytesADriver)} bytes a driver.`);
  if (shown.wrong > 0) report.failed(`${name}: ${shown.wrong} of ${SCAN_QUERIES} answers were wrong`);
  judge(report, name, shown);
}

function judge(report: Report, name: string, shown: Shown): void {
  if (shown.drivers < 100_000) return;
  const { nearest, move } = shown;
  const ratio = (timings: Record<string, Timing>, peer: string, part: 'p50' | 'p99') =>
    (timings[peer] as Timing)[part] / (timings.ours as Timing)[part];
  const wanted = shown.drivers >= 1_000_000 ? 3 : 2;
  for (const part of ['p50', 'p99'] as const) {
    const faster = Math.min(ratio(nearest, 'rbush-knn', part), ratio(nearest, 'geokdbush', part));
    report.atLeast(`${name}: nearest, ${part}, times the faster of rbush-knn and geokdbush`, faster, wanted);
  }
  report.atMost(`${name}: nearest, p99, µs`, (nearest.ours as Timing).p99, 25);
  for (const peer of Object.keys(nearest)) {
    if (peer.startsWith('Redis')) report.atLeast(`${name}: nearest, times ${peer}`, ratio(nearest, peer, 'p50'), 30);
    if (peer.startsWith('PostGIS')) report.atLeast(`${name}: nearest, times ${peer}`, ratio(nearest, peer, 'p50'), 100);
  }
  report.atLeast(`${name}: move, times rbush`, ratio(move, 'rbush', 'p50'), 10);
  report.atMost(`${name}: move, p99, µs`, (move.ours as Timing).p99, 10);
  report.atMost(`${name}: claim, median, µs`, shown.claim.p50, 2);
  report.atMost(`${name}: release, median, µs`, shown.release.p50, 2);
  if (shown.drivers < 1_000_000) return;
  report.atMost(`${name}: bytes a driver`, shown.bytesADriver, 350);
  report.atMost(`${name}: build, s`, shown.buildMs / 1_000, 5);
}

/** A cost that grows with the logarithm is constant when divided by it. */
function growth(report: Report, shown: readonly Shown[]): void {
  const rows = shown.map(({ drivers, nearest, move }) => {
    const [asked, moved] = [(nearest.ours as Timing).p50, (move.ours as Timing).p50];
    return [drivers.toLocaleString('en'), asked, asked / Math.log2(drivers), moved, moved / Math.log2(drivers)];
  });
  const head = ['drivers', 'nearest, µs', 'by log₂ of drivers', 'move, µs', 'by log₂ of drivers'];
  report.table('Growth', head, rows);
}

const only = option('only');
if (only === undefined) await main();
else process.send?.(await show(only as WorldName, Number(option('of'))));
