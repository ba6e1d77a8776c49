import { around as geokdNearest } from 'geokdbush';
import KDBush from 'kdbush';
import RBush from 'rbush';
import rbushKnn from 'rbush-knn';
import { Matcher } from '../src/matcher/matcher.ts';
import { loadTestTiers } from './support/tiers.ts';
import { type Timing, timeEach } from './support/timing.ts';
import { driversOf, offset, placesOf, seeded, WORLDS, type WorldDriver, type WorldName } from './support/world.ts';

const SEED = 20_261;
const NOW = 1_700_000_000_000;
const QUERIES = 20_000;
const EVERYWHERE = 20_100_000;
const sizes = (
  process.argv.includes('--drivers')
    ? (process.argv[process.argv.indexOf('--drivers') + 1] as string)
    : '1000,100000,1000000'
)
  .split(',')
  .map(Number);
const worlds = WORLDS.filter(
  (world) => !process.argv.includes('--world') || process.argv[process.argv.indexOf('--world') + 1] === world,
);

type Item = { minX: number; minY: number; maxX: number; maxY: number; driver: WorldDriver };
const itemOf = (driver: WorldDriver): Item => {
  const { lat, lng } = driver.point;
  return { minX: lng, minY: lat, maxX: lng, maxY: lat, driver };
};
const show = (timing: Timing) =>
  [timing.min, timing.p50, timing.p99, timing.mean].map((v) => v.toFixed(2).padStart(8)).join(' ') +
  ` ± ${timing.deviation.toFixed(2)}`;

function benchWorld(world: WorldName, count: number): void {
  const random = seeded(SEED);
  const place = placesOf(world, random);
  const drivers = driversOf(count, place, random);
  const points = Array.from({ length: QUERIES }, place);
  global.gc?.();
  const before = process.memoryUsage();
  const matcher = new Matcher(loadTestTiers());
  const started = performance.now();
  for (const { id, point, tierIds } of drivers) {
    matcher.putDriver({
      id,
      tierIds,
      onDuty: true,
      position: { ...point, atMs: NOW },
      freeSinceMs: NOW,
      orderId: null,
    });
  }
  const built = performance.now() - started;
  global.gc?.();
  const after = process.memoryUsage();
  const bytes = (after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers) / count;
  console.log(`\n${world}, ${count} drivers: built in ${built.toFixed(0)} ms, ${bytes.toFixed(0)} bytes a driver`);
  const serving = drivers.filter(({ tierIds }) => tierIds.includes('standard'));
  const tree = new RBush<Item>().load(serving.map(itemOf));
  const kd = new KDBush(serving.length);
  for (const { point } of serving) kd.add(point.lng, point.lat);
  kd.finish();
  let sink = 0;
  const query = (i: number) => ({
    tierId: 'standard' as const,
    point: points[i] as (typeof points)[0],
    radiusMeters: EVERYWHERE,
    nowMs: NOW,
  });
  const ours = (i: number) => {
    sink += matcher.nearest(query(i)) ? 1 : 0;
  };
  const knn = (i: number) => {
    sink += rbushKnn(tree, (points[i] as any).lng, (points[i] as any).lat, 1).length;
  };
  const geo = (i: number) => {
    sink += geokdNearest(kd, (points[i] as any).lng, (points[i] as any).lat, 1).length;
  };
  const warm = Array.from({ length: count / 2 }, place);
  for (const point of warm) matcher.nearest({ tierId: 'standard', point, radiusMeters: EVERYWHERE, nowMs: NOW });
  for (const run of [ours, knn, geo]) timeEach(QUERIES / 2, run);
  const a = timeEach(QUERIES, ours);
  const b = timeEach(QUERIES, knn);
  const c = timeEach(QUERIES, geo);
  console.log(`nearest  ours      ${show(a)}`);
  console.log(`nearest  rbush-knn ${show(b)}  ratio ${(b.p50 / a.p50).toFixed(2)}`);
  console.log(`nearest  geokdbush ${show(c)}  ratio ${(c.p50 / a.p50).toFixed(2)}`);
  // Moves: each driver walks on from where he was.
  const walkers = drivers.map(({ id, point }) => ({ id, point }));
  const steps = Array.from({ length: QUERIES * 2 }, () => ({
    who: Math.floor(random() * count),
    north: 200 * (random() - 0.5) * 0.7,
    east: 200 * (random() - 0.5) * 0.7,
  }));
  let next = { lat: 0, lng: 0 };
  const stepTo = (i: number) => {
    const { who, north, east } = steps[i] as any;
    next = offset((walkers[who] as any).point, north, east);
    (walkers[who] as any).point = next;
  };
  const move = (i: number) => {
    matcher.moveDriver((walkers[(steps[i] as any).who] as any).id, next, NOW + i);
  };
  timeEach(QUERIES, move, stepTo);
  const d = timeEach(QUERIES * 2, move, stepTo);
  const all = new RBush<Item>();
  const items = drivers.map(itemOf);
  all.load(items);
  const moveTree = (i: number) => {
    const item = items[(steps[i] as any).who] as Item;
    all.remove(item);
    item.minX = item.maxX = next.lng;
    item.minY = item.maxY = next.lat;
    all.insert(item);
  };
  const e = timeEach(QUERIES, moveTree, stepTo);
  console.log(`move     ours      ${show(d)}`);
  console.log(`move     rbush     ${show(e)}  ratio ${(e.p50 / d.p50).toFixed(2)}`);
  const who = (i: number) => (walkers[(steps[i] as any).who] as any).id;
  const f = timeEach(QUERIES, (i) => matcher.claim(who(i), `o${i}`), undefined);
  const g = timeEach(QUERIES, (i) => matcher.release(who(i), NOW));
  console.log(`claim    ours      ${show(f)}\nrelease  ours      ${show(g)}   ${sink}`);
}

for (const count of sizes) for (const world of worlds) benchWorld(world, count);
