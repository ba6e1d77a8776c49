import type { Random } from '../../harness/world.ts';
import { any, underLoad } from '../row.ts';
import { later, type Process, type World } from '../world.ts';

const THREE_AND_TWO = { apis: 3, workers: 2 };

/** Processes with a fault at the moment. */
const taken = new Set<Process>();

function take(processes: readonly Process[], random: Random): Process {
  const one = any(
    processes.filter((each) => !taken.has(each)),
    random,
  );
  taken.add(one);
  return one;
}

async function startAgain(_world: World, killed: Process): Promise<void> {
  await killed.start();
  taken.delete(killed);
}

export const killApi = underLoad({
  name: 'kill-api',
  what: 'kill -9 of one of three API processes, sometimes of two',
  count: 200,
  needs: ['redis'],
  sizes: THREE_AND_TWO,
  abreast: 2,
  async inject({ apis }, random) {
    const api = take(apis, random);
    await api.kill();
    return api;
  },
  recover: startAgain,
});

export const killWorker = underLoad({
  name: 'kill-worker',
  what: 'kill -9 of the worker',
  count: 20,
  needs: ['redis'],
  async inject({ workers }, random) {
    const worker = any(workers, random);
    await worker.kill();
    await worker.start();
  },
});

const SHORT_PAUSE_MS = 5_000;
const LONG_PAUSE_MS = 30_000;

export const pauseApi = underLoad({
  name: 'pause-api',
  what: 'one or two of five processes stand still for 5 s, some for 30 s, and go on',
  count: 20,
  needs: ['redis'],
  sizes: THREE_AND_TWO,
  abreast: 2,
  async inject({ apis, workers }, random) {
    const paused = take([...apis, ...workers], random);
    process.kill(paused.pid(), 'SIGSTOP');
    await later(random() < 0.2 ? LONG_PAUSE_MS : SHORT_PAUSE_MS);
    process.kill(paused.pid(), 'SIGCONT');
    return paused;
  },
  async recover({ apis, untilReady }, paused) {
    if (apis.includes(paused)) await untilReady([paused]);
    taken.delete(paused);
  },
});

export const restart = underLoad({
  name: 'restart',
  what: 'a process is told to stop and started again, as in an update; no client has a key or tries again',
  count: 30,
  needs: ['redis'],
  sizes: { ...THREE_AND_TWO, env: { PAYMENT_WAIT_MS: '1000' } },
  keyedShare: 0,
  async inject({ apis, workers }, random) {
    const stopped = any([...apis, ...workers], random);
    const code = await stopped.stop();
    if (code !== 0) throw new Error(`${stopped.name} ended with ${code}`);
    return stopped;
  },
  recover: startAgain,
  async check(world) {
    const { wanted, heard, orders } = await world.records();
    const broken = new Set(heard.flatMap(({ op, status }) => (status === null ? [op] : [])));
    const made = new Set(orders.flatMap(({ customer }) => customer ?? []));
    return wanted.flatMap(({ op, customer }) =>
      broken.has(op) && made.has(customer) ? [`restart: operation ${op} made an order and got no reply`] : [],
    );
  },
});

const HOUR_MS = 3_600_000;
const CLOCK_OFF = new URL('../../test/faults/clock-off.mjs', import.meta.url).href;

export const clockOff = underLoad({
  name: 'clock-off',
  what: 'the clock of one process is an hour ahead or behind, for 10 s',
  count: 5,
  needs: ['redis'],
  sizes: THREE_AND_TWO,
  async inject({ apis, workers }, random) {
    const wrong = any([...apis, ...workers], random);
    const offMs = random() < 0.5 ? HOUR_MS : -HOUR_MS;
    await wrong.stop();
    await wrong.start({ NODE_OPTIONS: `--import=${CLOCK_OFF}`, CLOCK_OFF_MS: String(offMs) });
    await later(10_000);
    return wrong;
  },
  async check({ sql }) {
    const expired = await sql`select id from orders where status = 'expired'`;
    const odd = await sql`
      select distinct order_id as id from order_events where at not between now() - interval '30 minutes' and now()`;
    return [
      ...expired.map(({ id }) => `clock: order ${id} expired`),
      ...odd.map(({ id }) => `clock: an event of order ${id} has a wrong time`),
    ];
  },
});
