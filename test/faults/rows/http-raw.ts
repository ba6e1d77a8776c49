import { connect } from 'node:net';
import type { BenchStore } from '../../harness/order-world.ts';
import { orderBody } from '../../harness/service.ts';
import type { Random } from '../../harness/world.ts';
import { SHAPES } from '../raw-requests.ts';
import { any, type Row } from '../row.ts';
import { addressOf, jsonPost, KeptConnection, readAnswers } from '../wire.ts';
import { later, openWorld, type World } from '../world.ts';

const SIZES = { drivers: 40, stores: 20, apis: 1, workers: 1 };
const AT_ONCE = 800;
/** The transport cuts silence after 8 to 12 s; the rest allows for a busy machine. */
const DEADLINE_MS = 20_000;
/** Time for which a client listens after its answer. */
const LISTEN_MS = 50;
const PROBE_PAUSE_MS = 100;
const CANARY = 'Canary';

type Run = { readonly problems: string[]; readonly requestIds: Set<string> };

export const rawSockets: Row = {
  name: 'raw-sockets',
  what: 'a malformed or misleading request on a connection of its own',
  count: 20_000,
  async run(count, random) {
    const world = await openWorld(SIZES);
    const run: Run = { problems: [], requestIds: new Set() };
    const probes = startProbes(world);
    try {
      let left = count;
      const work = async () => {
        while (left-- > 0) await sendOne(world, random, run);
      };
      await Promise.all(Array.from({ length: AT_ONCE }, work));
      const latencies = await probes.stop();
      run.problems.push(...probes.problems, ...(await checkTables(world, latencies.length)));
      run.problems.push(...world.ended().map((name) => `process: ${name} ended by itself`));
      const notes = [`good orders meanwhile: ${told(latencies)}`];
      return { count, orders: latencies.length, findings: run.problems, recoveries: [], notes };
    } finally {
      await probes.stop();
      await world.close();
    }
  },
};

async function sendOne({ stores, apis }: World, random: Random, run: Run): Promise<void> {
  const store = any(stores, random);
  const head = `Host: faults\r\nAuthorization: Bearer ${store.apiKey}\r\nContent-Type: application/json\r\n`;
  const canary = jsonPost('/orders/create', store.apiKey, namedOrder(store, CANARY)).toString('latin1');
  const bytes = Buffer.from(any(SHAPES, random)({ head, canary, random }), 'latin1');
  const cut = random() < 0.3 ? Math.floor(random() * bytes.length) : bytes.length;
  const { received, isOver } = await exchange(apis[0]?.url() as string, [bytes.subarray(0, cut), bytes.subarray(cut)]);
  const shown = bytes.subarray(0, 300).toString('latin1');
  if (!isOver) run.problems.push(`deadline: neither answered nor closed: ${JSON.stringify(shown)}`);
  const ids = readAnswers(received).flatMap(({ requestId }) => (requestId === '' ? [] : [requestId]));
  if (ids.length > 1) run.problems.push(`answers: ${ids.length} to one request: ${JSON.stringify(shown)}`);
  for (const id of ids) {
    if (run.requestIds.has(id)) run.problems.push(`answers: request ${id} was answered on two connections`);
    run.requestIds.add(id);
  }
}

/** Everything received, and whether it ended with an answer or the end of the connection. */
function exchange(url: string, parts: readonly Buffer[]): Promise<{ received: Buffer; isOver: boolean }> {
  return new Promise((resolve) => {
    const socket = connect({ ...addressOf(url), noDelay: true });
    const chunks: Buffer[] = [];
    const finish = (isOver: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ received: Buffer.concat(chunks), isOver });
    };
    const timer = setTimeout(() => finish(false), DEADLINE_MS);
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      setTimeout(finish, LISTEN_MS, true);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => finish(true));
    socket.write(parts[0] as Buffer);
    setTimeout(() => socket.write(parts[1] as Buffer), 5);
  });
}

const namedOrder = (store: BenchStore, name: string): Buffer =>
  Buffer.from(JSON.stringify(orderBody(store.id, { customer: { name, email: 'a@b.co', phone: '+14155550123' } })));

/** Valid orders of one client on a kept connection meanwhile. */
export function startProbes({ stores, apis }: World) {
  const problems: string[] = [];
  const latencies: number[] = [];
  let isStopped = false;
  async function run(): Promise<void> {
    const connection = new KeptConnection(apis[0]?.url() as string);
    for (let i = 0; !isStopped; i++) {
      const store = stores[i % stores.length] as BenchStore;
      const startedMs = performance.now();
      const answer = await connection.ask(jsonPost('/orders/create', store.apiKey, namedOrder(store, `Probe ${i}`)));
      latencies.push(performance.now() - startedMs);
      if (answer?.status !== 201) problems.push(`probe: a good order was answered with ${answer?.status ?? 'nothing'}`);
      await later(PROBE_PAUSE_MS);
    }
    connection.close();
  }
  const running = run();
  return {
    problems,
    async stop() {
      isStopped = true;
      await running;
      return latencies;
    },
  };
}

export function told(latencies: readonly number[]): string {
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = (part: number): string => sorted[Math.floor(sorted.length * part)]?.toFixed() ?? '–';
  return `${sorted.length}, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, most ${sorted.at(-1)?.toFixed() ?? '–'} ms`;
}

async function checkTables({ sql }: World, probes: number): Promise<string[]> {
  const rows = await sql`
    select count(*) filter (where c.name = ${CANARY})::int as canaries, count(*) filter (where c.name like 'Probe%')::int as probes
    from orders o join customers c on c.id = o.customer_id where o.status <> 'void'`;
  const [row] = rows;
  return [
    ...(row?.canaries === 0 ? [] : [`canary: ${row?.canaries} hidden orders were taken`]),
    ...(row?.probes === probes ? [] : [`probe: ${row?.probes} of ${probes} good orders are in the tables`]),
  ];
}
