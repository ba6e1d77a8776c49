import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Random } from '../../harness/world.ts';
import { anyOrder, heardOf, note, unheard } from '../clients.ts';
import { any, inWorld, type Row } from '../row.ts';
import { later, type World } from '../world.ts';

const POSTS = 2;
/** They start within this time and not at once, as this row is not about bursts. */
const START_SPREAD_MS = 2_000;
const IDLE_MS = 7_000;
const IDLE_SPREAD_MS = 6_000;
/** Node's agent obeys the reply's `Keep-Alive` only where that is less than its own time-out. */
const AGENT_MS = 60_000;

/** A client that posts, idles and posts again through one pool, without retries. */
async function pooled(world: World, random: Random): Promise<string[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, timeout: AGENT_MS });
  const url = any(world.apis, random).url();
  const found: string[] = [];
  for (let i = 0; i < POSTS; i++) {
    if (i === 0) await later(random() * START_SPREAD_MS);
    else await later(IDLE_MS + random() * IDLE_SPREAD_MS);
    const order = anyOrder(world, random, false);
    note(world, order);
    try {
      const { status, body } = await post(url, order, agent);
      world.history.hears(heardOf(order.op, status, JSON.parse(body)));
      if (status !== 201) found.push(`pool: operation ${order.op} was answered with ${status}`);
    } catch (error) {
      world.history.hears(unheard(order.op));
      found.push(`pool: operation ${order.op} met ${(error as { code?: string }).code ?? error}`);
    }
  }
  agent.destroy();
  return found;
}

function post(
  url: string,
  { apiKey, body }: { apiKey: string; body: string },
  agent: Agent,
): Promise<{ status: number; body: string }> {
  const headers = {
    authorization: `Bearer ${apiKey}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  };
  return new Promise((resolve, reject) => {
    const asked = request(`${url}/orders/create`, { agent, method: 'POST', headers }, (answer) => {
      const status = answer.statusCode ?? 0;
      text(answer).then((heard) => resolve({ status, body: heard }), reject);
    });
    asked.once('error', reject).end(body);
  });
}

/** Requests sent once must not have made two orders, nor an order without a reply. */
async function findUnanswered({ sql }: World, wanted: number): Promise<string[]> {
  const [row] = await sql`
    select count(*)::int as orders, count(distinct c.name)::int as customers
    from orders o join customers c on c.id = o.customer_id where o.status <> 'void'`;
  if (row?.orders === wanted && row?.customers === wanted) return [];
  return [`pool: ${wanted} orders were sent once each, ${row?.orders} were made for ${row?.customers} customers`];
}

export const idlePool: Row = {
  name: 'idle-pool',
  what: 'a client with a pool is idle for 7 to 13 s between two orders',
  count: 500,
  run: (count, random) =>
    inWorld({}, async (world) => {
      const found = (await Promise.all(Array.from({ length: count }, () => pooled(world, random)))).flat();
      const orders = count * POSTS;
      found.push(...(await findUnanswered(world, orders)));
      return { count, orders, findings: found };
    }),
};
