import type { Random } from '../../harness/world.ts';
import { anyOrder, note, send } from '../clients.ts';
import { type Cluster, type ClusterNode, openCluster } from '../cluster.ts';
import { type Row, underLoad } from '../row.ts';
import { later, type World } from '../world.ts';

/** The promise: orders are accepted again, from when a new primary commits. */
const FAILED_OVER_MS = 10_000;
/** The same after a switchover, which the operator chose. */
const SWITCHED_OVER_MS = 2_000;
/** Above the time-to-live of the leader's key, so that another node leads before these processes go on. */
const FROZEN_MS = 30_000;
/** Above the time in which Patroni finds another primary on a busy machine, for which clients have to wait. */
const PATIENCE_MS = 180_000;
/** From one new order to the next, whether the one before is answered or not: what hangs holds up nobody else. */
const TRY_MS = 50;

/** Puts a fault upon the primary; returns what the fault goes on with. */
type Fault = (cluster: Cluster, primary: ClusterNode) => Promise<unknown>;
type Left = { readonly over: Promise<unknown> };

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
  row: Omit<Row, 'run' | 'needsCluster'>,
  faults: readonly [Fault, ...Fault[]],
  withinMs: number,
  way?: (cluster: Cluster) => Promise<string>,
): Row {
  return {
    ...row,
    needsCluster: true,
    async run(count, random, scale) {
      const cluster = await openCluster(row.needsNetwork);
      let injected = 0;
      const notes: string[] = [];
      const tries: Promise<void>[] = [];
      const loaded = underLoad<Left>({
        ...row,
        keyedShare: 1,
        patienceMs: PATIENCE_MS,
        sizes: {
          databaseUrl: cluster.url,
          withoutRedis: !row.needsRedis,
          ...(way ? { way: () => way(cluster) } : {}),
        },
        withinMs,
        async inject() {
          const fault = faults[injected++ % faults.length] as Fault;
          const primary = await cluster.primary();
          const startedMs = performance.now();
          const seconds = (): string => ((performance.now() - startedMs) / 1_000).toFixed(1);
          const over = fault(cluster, primary);
          const next = await Promise.race([cluster.primary(primary), over.then(() => cluster.primary(primary))]);
          const electedAfter = seconds();
          await cluster.untilCommits(next);
          notes.push(`another primary after ${electedAfter} s, which commits after ${seconds()} s`);
          return { over };
        },
        async recover(world) {
          await Promise.all(world.apis.map((api) => untilAccepted(world, api, random, tries)));
        },
        async settle(world, { over }) {
          await world.untilReady();
          await Promise.all([over, ...tries.splice(0)]);
          await cluster.untilWhole();
        },
      });
      try {
        return { ...(await loaded.run(count, random, scale)), notes };
      } finally {
        await cluster.stop();
      }
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
      needsRedis: true,
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
      needsRedis: true,
    },
    [frozen],
    FAILED_OVER_MS,
  ),
  failover(
    {
      name: 'failover-cut',
      what: 'the primary is off its network for 30 s, without a word to anybody, and comes back when another one leads',
      count: 10,
      needsRedis: true,
      needsNetwork: true,
    },
    [cutOff],
    FAILED_OVER_MS,
  ),
  failover(
    {
      name: 'failover-switched',
      what: 'another node of three is made the primary, on purpose',
      count: 10,
      needsRedis: true,
    },
    [switchedOver],
    SWITCHED_OVER_MS,
  ),
  failover(
    {
      name: 'failover-hosts',
      what: 'the same four in turn, where DATABASE_URL names the three hosts and nothing is in front of them',
      count: 40,
      needsRedis: true,
      needsNetwork: true,
    },
    [killed, frozen, cutOff, switchedOver],
    FAILED_OVER_MS,
    (cluster) => cluster.urlOfHosts(),
  ),
];
