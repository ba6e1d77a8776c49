import type { BenchStore } from '../../harness/order-world.ts';
import { orderBody } from '../../harness/service.ts';
import { endedOnes, inWorld, type RowResult } from '../row.ts';
import { jsonPost, KeptConnection, residentMegabytes } from '../wire.ts';
import { keepOn, type World } from '../world.ts';

const SIZES = { drivers: 40, stores: 20, apis: 1, workers: 1 };
const PAUSE_MS = 100;

type Probes = ReturnType<typeof startProbes>;
type Beside = {
  readonly env?: Readonly<Record<string, string>>;
  /** Most megabytes by which the API process may grow. */
  readonly mostGrowthMb?: number;
};

/** Sends what is hostile to one API process, while one client sends it good orders, each of which has to be taken. */
export function besideGoodOrders(
  { env = {}, mostGrowthMb = Number.POSITIVE_INFINITY }: Beside,
  act: (world: World, probes: Probes) => Promise<Omit<RowResult, 'orders'>>,
): Promise<RowResult> {
  const inSmall = async (world: World): Promise<RowResult> => {
    const pid = world.apis[0]?.pid() as number;
    const probes = startProbes(world);
    const before = residentMegabytes(pid);
    const { notes = [], ...told } = await act(world, probes);
    const latencies = await probes.stop();
    const grown = residentMegabytes(pid) - before;
    const grew = `the API process grew by ${grown.toFixed()} MB`;
    return {
      ...told,
      orders: latencies.length,
      findings: [...told.findings, ...probes.problems, ...(grown > mostGrowthMb ? [`memory: ${grew}`] : [])],
      notes: [`good orders meanwhile: ${toldOf(latencies)}`, grew, ...notes],
    };
  };
  return inWorld({ ...SIZES, env }, inSmall, endedOnes);
}

export const namedOrder = (store: BenchStore, name: string): Buffer =>
  Buffer.from(JSON.stringify(orderBody(store.id, { customer: { name, email: 'a@b.co', phone: '+14155550123' } })));

/** Valid orders of one client on a kept connection meanwhile. */
function startProbes(world: World) {
  const { stores, apis } = world;
  const problems: string[] = [];
  const latencies: number[] = [];
  const connection = new KeptConnection(apis[0]?.url() as string);
  const asking = keepOn(world, PAUSE_MS, async () => {
    const i = latencies.length;
    const store = stores[i % stores.length] as BenchStore;
    const startedMs = performance.now();
    const answer = await connection.ask(jsonPost('/orders/create', store.apiKey, namedOrder(store, `Probe ${i}`)));
    latencies.push(performance.now() - startedMs);
    if (answer?.status !== 201) problems.push(`probe: a good order was answered with ${answer?.status ?? 'nothing'}`);
  });
  return {
    problems,
    async stop() {
      await asking.stop();
      connection.close();
      return latencies;
    },
  };
}

export function toldOf(latencies: readonly number[]): string {
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = (part: number): string => sorted[Math.floor(sorted.length * part)]?.toFixed() ?? '–';
  return `${sorted.length}, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, most ${sorted.at(-1)?.toFixed() ?? '–'} ms`;
}
