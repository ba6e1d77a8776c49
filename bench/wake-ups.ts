/**
 * Measures the time from an event that frees a driver to the durable assignment of a waiting order:
 * `npm run bench:wake-ups -- [rounds] [waiting orders …]`, by default 60 rounds, with 1,000 and with 100,000.
 *
 * The tables are filled before the built service starts on them, so it has rebuilt its waiting orders from
 * them. There are as many as stated when the last sample is taken. One driver after the other goes on duty,
 * releases an order, loses one that its store cancels, returns one, and comes into reach from far away: five
 * samples a round, one at a time.
 *
 * The clock starts in this process when the request is sent, so HTTP and the write of the event itself are
 * included. It stops when the notice of the commit that assigns the next order arrives on a connection of
 * this process, as the assignment is durable then. The time until the driver's phone hears on its socket, and
 * until the request is answered, is shown as well.
 *
 * The peer, after each sample: one `update` of one order's row, sent by this process to the same Postgres,
 * until it is answered and so on disk.
 *
 * Exits with 1 where an answer is not 200, an order does not come within LOST_MS, or a target is missed.
 */
import { percentile } from './support/tap-support.ts';
import { type Driver, openWorld, type World } from './support/waiting-world.ts';

const TARGETS_P99_MS: readonly (readonly [waiting: number, ms: number])[] = [
  [1_000, 50],
  [100_000, 100],
];
const LOST_MS = 5_000;
const WARM_UP_ROUNDS = 5;
const SAMPLES_PER_ROUND = 5;

type Sample = {
  readonly event: string;
  readonly durableMs: number;
  readonly toldMs: number;
  readonly answerMs: number;
  readonly peerMs: number;
};

const [rounds = 60, ...sizes] = process.argv.slice(2).map(Number);
const problems: string[] = [];
const failed = (what: string) => void (problems.length < 20 && problems.push(what));

async function main(): Promise<void> {
  console.log(`Node ${process.version}; ${rounds} rounds each`);
  for (const waiting of sizes.length > 0 ? sizes : TARGETS_P99_MS.map(([size]) => size)) await measure(waiting);
  if (problems.length === 0) return;
  process.exitCode = 1;
  console.log(`FAILED:\n  ${problems.join('\n  ')}`);
}

async function measure(waiting: number): Promise<void> {
  const all = rounds + WARM_UP_ROUNDS;
  const world = await openWorld(waiting + all * SAMPLES_PER_ROUND, all, failed);
  try {
    const samples: Sample[] = [];
    for (const [round, driver] of world.drivers.entries()) {
      const taken = await drive(world, driver, round);
      if (round >= WARM_UP_ROUNDS) samples.push(...taken);
    }
    report(waiting, await world.waiting(), samples);
  } finally {
    await world.close();
  }
}

/** Runs one driver's events; returns the time until each assignment. */
async function drive(world: World, driver: Driver, round: number): Promise<Sample[]> {
  const must = async (what: string, answer: Promise<number>) => {
    const status = await answer;
    if (status !== 200) failed(`${what} was answered with ${status}`);
  };
  const bringBack = async (andGo: () => Promise<unknown>) => {
    await must('pick-up', driver.step('pick-up'));
    await must('undeliverable', driver.step('undeliverable'));
    await andGo();
  };
  const goHome = () =>
    bringBack(async () => {
      await must('off duty', driver.duty(false));
      await must('return', driver.step('return'));
      await until(() => driver.orderId === null);
    });
  const samples: Sample[] = [];
  const sample = async (event: string, act: () => Promise<number>) => {
    const taken = await wake(world, driver, event, () => must(event, act()));
    if (taken) samples.push(taken);
  };

  const place = (round * 211) % 5_000;
  await must('position', driver.near(place));
  await sample('a driver goes on duty', () => driver.duty(true));
  await sample('a driver gives an order back', () => driver.step('release'));
  await sample('a store cancels the order', () => world.cancel(driver.orderId ?? ''));
  await bringBack(() => sample('a driver brings an order back', () => driver.step('return')));
  await goHome();
  await must('position', driver.far());
  await must('on duty', driver.duty(true));
  await sample('a driver comes into reach', () => driver.near(place));
  await goHome();
  return samples;
}

/** Triggers an event and waits for the driver's next order; null where none came. */
async function wake(world: World, driver: Driver, event: string, act: () => Promise<void>): Promise<Sample | null> {
  const before = driver.orderId;
  world.forget();
  const startMs = performance.now();
  const answered = act().then(() => performance.now() - startMs);
  const came = () => driver.orderId !== null && driver.orderId !== before;
  await until(() => came() && world.heardMs(driver.orderId as string) !== undefined);
  const answerMs = await answered;
  const heardMs = came() ? world.heardMs(driver.orderId as string) : undefined;
  if (heardMs === undefined) {
    failed(`nothing came of this: ${event}`);
    return null;
  }
  const toldMs = driver.toldMs - startMs;
  const peerStartMs = performance.now();
  await world.sql`update orders set pickup_point_source = pickup_point_source where id = ${driver.orderId}`;
  return { event, durableMs: heardMs - startMs, toldMs, answerMs, peerMs: performance.now() - peerStartMs };
}

async function until(is: () => boolean): Promise<void> {
  const endMs = performance.now() + LOST_MS;
  while (!is() && performance.now() < endMs) await new Promise((later) => setTimeout(later, 2));
}

function report(waiting: number, left: number, samples: readonly Sample[]): void {
  const line = (name: string, values: readonly number[]) => {
    const [p50, p99, max] = [0.5, 0.99, 1].map((share) => percentile(values, share).toFixed(1).padStart(7));
    console.log(`  ${name.padEnd(44)} p50 ${p50}  p99 ${p99}  max ${max} ms`);
  };
  console.log(`\n${waiting} orders wait (${left} at the end): ${samples.length} samples`);
  line('event to durable assignment', durable(samples));
  for (const event of new Set(samples.map((sample) => sample.event))) {
    line(`  ${event}`, durable(samples.filter((sample) => sample.event === event)));
  }
  line(
    "event to the driver's phone being told",
    samples.map(({ toldMs }) => toldMs),
  );
  line(
    'event to its own HTTP answer',
    samples.map(({ answerMs }) => answerMs),
  );
  const peers = samples.map(({ peerMs }) => peerMs);
  line('peer: one update of one row, on disk', peers);
  const ratio = percentile(durable(samples), 0.5) / percentile(peers, 0.5);
  console.log(`  event to durable assignment is ${ratio.toFixed(1)} peers at the median`);
  judge(waiting, samples);
}

function judge(waiting: number, samples: readonly Sample[]): void {
  const target = TARGETS_P99_MS.find(([size]) => waiting <= size)?.[1];
  if (target === undefined) return;
  const p99 = percentile(durable(samples), 0.99);
  if (!(p99 < target))
    failed(`target missed with ${waiting} waiting: p99 ${p99.toFixed(1)} ms, not below ${target} ms`);
  else console.log(`  Target: p99 < ${target} ms: met (${p99.toFixed(1)} ms)`);
}

const durable = (samples: readonly Sample[]) => samples.map(({ durableMs }) => durableMs);

await main();
