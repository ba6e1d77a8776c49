import type { Random } from '../../harness/world.ts';
import { anyOrder, note, send } from '../clients.ts';
import { type Cluster, type ClusterNode, openCluster } from '../cluster.ts';
import { type Row, underLoad } from '../row.ts';
import { later, type World } from '../world.ts';

/** The promise: orders are accepted again, from when there is a new primary. */
const FAILED_OVER_MS = 10_000;
/** The same after a switchover, which the operator chose. */
const SWITCHED_OVER_MS = 2_000;
/** Above the time-to-live of the leader's key, so that another node leads before these processes go on. */
const FROZEN_MS = 30_000;
/** From one try of an order to the next. */
const TRY_MS = 20;

/** Puts a fault upon the primary; resolves when another node is one, with what is left to wait for. */
type Fault = (cluster: Cluster, primary: ClusterNode) => Promise<Left>;
type Left = { readonly over?: Promise<unknown> };

const killed: Fault = async (cluster, primary) => {
  cluster.kill(primary);
  await cluster.primary(primary);
  return {};
};

const frozen: Fault = async (cluster, primary) => {
  const goOn = cluster.freeze(primary);
  const over = later(FROZEN_MS).then(goOn);
  await cluster.primary(primary);
  return { over };
};

const switchedOver: Fault = async (cluster, primary) => {
  const over = cluster.switchOver(primary);
  await Promise.race([cluster.primary(primary), over.then(() => cluster.primary(primary))]);
  return { over };
};

/** Faults in turn, upon a service that knows the cluster by HAProxy, or by its hosts. */
function failover(
  row: Omit<Row, 'run' | 'needsCluster' | 'needsRedis'>,
  faults: readonly [Fault, ...Fault[]],
  withinMs: number,
  way?: (cluster: Cluster) => Promise<string>,
): Row {
  return {
    ...row,
    needsCluster: true,
    needsRedis: true,
    async run(count, random, scale) {
      const cluster = await openCluster();
      let injected = 0;
      const loaded = underLoad<Left>({
        ...row,
        keyedShare: 1,
        sizes: { databaseUrl: cluster.url, ...(way ? { way: () => way(cluster) } : {}) },
        withinMs,
        async inject() {
          const fault = faults[injected++ % faults.length] as Fault;
          return fault(cluster, await cluster.primary());
        },
        async recover(world) {
          await Promise.all(world.apis.map((api) => untilAccepted(world, api, random)));
          await world.untilReady();
        },
        async settle(_world, { over }) {
          await over;
          await cluster.untilWhole();
        },
      });
      try {
        return await loaded.run(count, random, scale);
      } finally {
        await cluster.stop();
      }
    },
  };
}

/** Sends one order to this process until it is accepted. */
async function untilAccepted(world: World, api: World['apis'][number], random: Random): Promise<void> {
  const order = anyOrder(world, random, true);
  note(world, order);
  while (!world.isClosed()) {
    const { outcome } = await send({ apis: [api], history: world.history }, order, random);
    if (outcome === 'ok') return;
    await later(TRY_MS);
  }
}

export const failovers: readonly Row[] = [
  failover(
    { name: 'failover-killed', what: 'the primary of three is killed, and a standby follows', count: 10 },
    [killed],
    FAILED_OVER_MS,
  ),
  failover(
    {
      name: 'failover-frozen',
      what: 'every process of the primary stands still for 30 s, and goes on when another one leads',
      count: 10,
    },
    [frozen],
    FAILED_OVER_MS,
  ),
  failover(
    { name: 'failover-switched', what: 'another node of three is made the primary, on purpose', count: 10 },
    [switchedOver],
    SWITCHED_OVER_MS,
  ),
  failover(
    {
      name: 'failover-hosts',
      what: 'the same three in turn, where DATABASE_URL names the three hosts and nothing is in front of them',
      count: 30,
    },
    [killed, frozen, switchedOver],
    FAILED_OVER_MS,
    (cluster) => cluster.urlOfHosts(),
  ),
];
