import { READINESS_DEADLINE_MS } from '../../../src/http/routes/readyz.ts';
import type { Random } from '../../harness/world.ts';
import { anyOrder, note, send } from '../clients.ts';
import { type Cluster, type ClusterNode, openCluster } from '../cluster.ts';
import { ask } from '../phones.ts';
import { type Row, underLoad } from '../row.ts';
import { keepOn, later, type World } from '../world.ts';

/** The promise: orders are accepted again, from when there is a new primary. */
const FAILED_OVER_MS = 10_000;
/**
 * The same after a switchover, which the operator chose. It counts from when the new primary commits: until then that
 * one waits for a standby of its own, 2 s and more on a busy machine.
 */
const SWITCHED_OVER_MS = 2_000;
/** Above the time-to-live of the leader's key, so that another node leads before these processes go on. */
const FROZEN_MS = 30_000;
/** Above the time in which Patroni finds another primary on a busy machine, for which clients have to wait. */
const PATIENCE_MS = 180_000;
/** From one new order to the next, whether the one before is answered or not: what hangs holds up nobody else. */
const TRY_MS = 50;
/** Time without a primary from which on each process has to say that it is not ready, with a half to be heard. */
const UNREADY_MS = READINESS_DEADLINE_MS + 500;

/** Puts a fault upon the primary; returns what the fault goes on with. */
type Fault = (cluster: Cluster, primary: ClusterNode) => Promise<unknown>;
type Left = {
  readonly over: Promise<unknown>;
  readonly asked: Promise<Unready>;
  /** Whether the primary did not go on purpose. */
  readonly isSudden: boolean;
  /** Whether each process was to be unready. */
  readonly isLong: boolean;
  readonly electedMs: number;
  readonly words: string;
};

const killed: Fault = async (cluster, primary) => cluster.kill(primary);

const frozen: Fault = async (cluster, primary) => {
  const goOn = cluster.freeze(primary);
  await later(FROZEN_MS);
  goOn();
};

const cutOff: Fault = async (cluster, primary) => {
  const plugIn = cluster.cut(primary);
  await later(FROZEN_MS);
  plugIn();
};

const switchedOver: Fault = (cluster, primary) => cluster.switchOver(primary);

/** Faults in turn, upon a service that knows the cluster by HAProxy, or by its hosts. */
function failover(
  row: Omit<Row, 'run'>,
  faults: readonly [Fault, ...Fault[]],
  withinMs: number,
  way?: (cluster: Cluster) => Promise<string>,
): Row {
  const { needs = [] } = row;
  return {
    ...row,
    needs: ['cluster', ...needs],
    async run(count, random, scale) {
      const cluster = await openCluster(needs.includes('network'));
      let injected = 0;
      const notes: string[] = [];
      const found: string[] = [];
      const tries: Promise<void>[] = [];
      const loaded = underLoad<Left>({
        ...row,
        keyedShare: 1,
        patienceMs: PATIENCE_MS,
        sizes: {
          databaseUrl: cluster.url,
          withoutRedis: !needs.includes('redis'),
          ...(way ? { way: () => way(cluster) } : {}),
        },
        withinMs,
        async inject(world) {
          const fault = faults[injected++ % faults.length] as Fault;
          const primary = await cluster.primary();
          const startedMs = performance.now();
          const over = fault(cluster, primary);
          const readiness = askReadiness(world);
          const next = await Promise.race([cluster.primary(primary), over.then(() => cluster.primary(primary))]);
          const electedMs = performance.now();
          const asked = readiness.stop();
          await cluster.untilCommits(next);
          const [elected, commits] = [electedMs - startedMs, performance.now() - electedMs].map(inSeconds);
          const words = `another primary after ${elected} s, which commits ${commits} s later`;
          // One that is replaced on purpose goes on as the primary for a part of that time.
          const isSudden = fault !== switchedOver;
          const isLong = isSudden && electedMs - startedMs > UNREADY_MS;
          return { over, asked, isSudden, isLong, electedMs, words };
        },
        async recover(world, { asked, isSudden, isLong, electedMs, words }) {
          await Promise.all(world.apis.map((api) => untilAccepted(world, api, random, tries)));
          const tookMs = performance.now() - electedMs;
          const { after, never } = await asked;
          if (isLong) found.push(...never);
          const took = `each process took an order ${inSeconds(tookMs)} s after there was another primary`;
          if (isSudden && tookMs > FAILED_OVER_MS) found.push(`recovery: ${took}`);
          notes.push(`${words}; ${took}; /readyz was 503 after ${after}`);
        },
        async settle(world, { over }) {
          await world.untilReady();
          await Promise.all([over, ...tries.splice(0)]);
          await cluster.untilWhole();
        },
      });
      try {
        const result = await loaded.run(count, random, scale);
        return { ...result, findings: [...found, ...result.findings], notes };
      } finally {
        await cluster.stop();
      }
    },
  };
}

const inSeconds = (ms: number): string => (ms / 1_000).toFixed(1);

type Unready = {
  /** Times until processes were unready. */
  readonly after: string;
  /** A sentence for each process that never was. */
  readonly never: readonly string[];
};

/** Asks processes from now on whether they are ready, each until it has said that it is not. */
function askReadiness(world: World) {
  const { apis } = world;
  const startedMs = performance.now();
  const saidMs = new Map<string, number>();
  const asking = apis.map(({ name, url }) =>
    keepOn(world, TRY_MS, async () => {
      if (saidMs.has(name)) return;
      const { status } = await ask(`${url()}/readyz`).catch(() => ({ status: null }));
      if (status === 503) saidMs.set(name, performance.now() - startedMs);
    }),
  );
  return {
    async stop(): Promise<Unready> {
      await Promise.all(asking.map((each) => each.stop()));
      const ready = apis.filter(({ name }) => !saidMs.has(name));
      return {
        after: [...[...saidMs.values()].map((ms) => `${inSeconds(ms)} s`), ...ready.map(() => 'never')].join(', '),
        never: ready.map(({ name }) => `readiness: ${name} never said 503 while there was no primary`),
      };
    },
  };
}

/** Sends one new order after the other to this process until one is accepted. */
async function untilAccepted(
  world: World,
  api: World['apis'][number],
  random: Random,
  tries: Promise<void>[],
): Promise<void> {
  let isAccepted = false;
  while (!isAccepted && !world.isClosed()) {
    const order = anyOrder(world, random, true);
    note(world, order);
    const sent = send({ apis: [api], history: world.history }, order, random);
    tries.push(
      sent.then(({ outcome }) => {
        isAccepted ||= outcome === 'ok';
      }),
    );
    await later(TRY_MS);
  }
}

export const failovers: readonly Row[] = [
  failover(
    {
      name: 'failover-killed',
      what: 'the primary of three is killed, and a standby follows',
      count: 10,
      needs: ['redis'],
    },
    [killed],
    FAILED_OVER_MS,
  ),
  failover(
    { name: 'failover-queues', what: 'the same with one process, whose queues are in Postgres', count: 10 },
    [killed],
    FAILED_OVER_MS,
  ),
  failover(
    {
      name: 'failover-frozen',
      what: 'every process of the primary stands still for 30 s, and goes on when another one leads',
      count: 10,
      needs: ['redis', 'pause'],
    },
    [frozen],
    FAILED_OVER_MS,
  ),
  failover(
    {
      name: 'failover-cut',
      what: 'the primary is off its network for 30 s, without a word to anybody, and comes back when another one leads',
      count: 10,
      needs: ['redis', 'network'],
    },
    [cutOff],
    FAILED_OVER_MS,
  ),
  failover(
    {
      name: 'failover-switched',
      what: 'another node of three is made the primary, on purpose',
      count: 10,
      needs: ['redis'],
    },
    [switchedOver],
    SWITCHED_OVER_MS,
  ),
  failover(
    {
      name: 'failover-hosts',
      what: 'the same four in turn, where DATABASE_URL names the three hosts and nothing is in front of them',
      count: 40,
      needs: ['redis', 'pause', 'network'],
    },
    [killed, frozen, cutOff, switchedOver],
    FAILED_OVER_MS,
    (cluster) => cluster.urlOfHosts(),
  ),
];
