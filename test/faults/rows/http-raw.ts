import { connect } from 'node:net';
import type { Random } from '../../harness/world.ts';
import { SHAPES } from '../raw-requests.ts';
import { any, type Row, repeat } from '../row.ts';
import { addressOf, jsonPost, readAnswers } from '../wire.ts';
import type { World } from '../world.ts';
import { besideGoodOrders, namedOrder } from './good-orders.ts';

const AT_ONCE = 800;
/** The transport cuts silence after 8 to 12 s; the rest allows for a busy machine. */
const DEADLINE_MS = 20_000;
/** Time for which a client listens after its answer. */
const LISTEN_MS = 50;
const CANARY = 'Canary';

type Run = { readonly problems: string[]; readonly requestIds: Set<string> };

export const rawSockets: Row = {
  name: 'raw-sockets',
  what: 'a malformed or misleading request on a connection of its own',
  count: 20_000,
  run: (count, random) =>
    besideGoodOrders({}, async (world, probes) => {
      const run: Run = { problems: [], requestIds: new Set() };
      await repeat(count, AT_ONCE, () => sendOne(world, random, run));
      const { length } = await probes.stop();
      return { count, findings: [...run.problems, ...(await checkTables(world, length))] };
    }),
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
