import { createServer as createHttp } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { newWebhookSecret } from '../../../src/events/webhook-signature.ts';
import { readWebhookUrl } from '../../../src/vendors/webhook-client.ts';
import { storeOf } from '../../harness/store.ts';
import { type Random, shuffled } from '../../harness/world.ts';
import { anyOrder, note, send } from '../clients.ts';
import { type Answers, askingOnly, startNameServer } from '../name-server.ts';
import { ask } from '../phones.ts';
import { endedOnes, inWorld, type Row, type RowResult } from '../row.ts';
import { lookUntil, type World } from '../world.ts';

/** Addresses in every notation that a URL accepts. */
const LITERALS = `
  127.0.0.1 127.1 127.255.255.254 0x7f.1 0x7f000001 2130706433 017700000001 0177.0.0.1 0 0.0.0.0 10.0.0.1
  172.31.255.255 192.168.1.1 169.254.169.254 0xa9fea9fe 100.100.100.200 168.63.129.16 224.0.0.1
  255.255.255.255 １２７.0.0.1 127%2e0.0.1 [::1] [::] [::ffff:127.0.0.1] [::127.0.0.1] [fd00:ec2::254]
  [fe80::1] [64:ff9b::7f00:1] [2002:7f00:1::] [ff02::1]`
  .trim()
  .split(/\s+/);
/** Public by number, but unassigned. */
const NOBODYS = '3000::1';
/** Names with constant addresses. */
const NAMED: readonly (readonly string[])[] = [
  ['127.0.0.1'],
  ['::1'],
  ['0.0.0.0'],
  ['10.0.0.1'],
  ['169.254.169.254'],
  ['100.64.0.1'],
  ['192.168.0.1'],
  ['255.255.255.255'],
  ['::ffff:127.0.0.1'],
  ['64:ff9b::7f00:1'],
  ['2002:7f00:1::'],
  ['fd00::1'],
  ['fe80::1'],
  [NOBODYS, '127.0.0.1'],
  ['127.0.0.1', NOBODYS],
  [NOBODYS, '::1'],
];
/** Names whose address changes after the first query. */
const CHANGING: readonly (readonly [first: readonly string[], later: readonly string[]])[] = [
  [[NOBODYS], ['127.0.0.1']],
  [[NOBODYS], ['::1']],
  [[NOBODYS], [NOBODYS, '127.0.0.1']],
  [[], ['127.0.0.1']],
];
const REDIRECTS = [301, 302, 303, 307, 308];
/** An attempt takes 5 s at most, and so does the pause before the second one. */
const TRIED_MS = 15_000;

/** A URL that an operator set, and the expected result. */
type Case = {
  readonly url: string;
  readonly results: ReadonlySet<string>;
  readonly tries: number;
  /** Whether the URL alone shows that it must not be used. */
  readonly literal?: true;
};

export const webhookAddresses: Row = {
  name: 'webhook-addresses',
  what: 'a webhook to an address that is not of the public Internet',
  count: 60,
  async run(count, random) {
    const trap = await openTrap();
    const zone = new Map<string, Answers>();
    const names = await startNameServer(zone);
    const redirector = await openRedirector(trap.port);
    try {
      const cases = shuffled(casesOf(trap.port, zone), random).slice(0, Math.ceil((count * 5) / 6));
      const redirects = shuffled(redirectsOf(redirector.port), random).slice(0, Math.floor(count / 6));
      const env = { STRIPE_RATE: '0', TWILIO_RATE: '0', NODE_OPTIONS: askingOnly(names.address) };
      const problems = [
        // Not in the sandbox, where webhooks may reach this machine.
        ...(await told({ ...env, SANDBOX: '0', HOST: '127.0.0.1' }, cases, random)),
        ...(redirects.length > 0 ? await told(env, redirects, random) : []),
      ];
      const reached =
        trap.connections() > 0 ? [`address: this machine was connected to ${trap.connections()} times`] : [];
      const orders = cases.length + redirects.length;
      return { count: orders, orders, findings: [...reached, ...problems] };
    } finally {
      trap.close();
      names.close();
      redirector.close();
    }
  },
};

function casesOf(port: number, zone: Map<string, Answers>): Case[] {
  const named = (addresses: Answers): string => {
    const host = `name${zone.size}.test`;
    zone.set(host, addresses);
    return `https://${host}:${port}/hook`;
  };
  const forbidden = new Set(['forbidden_address']);
  return [
    ...LITERALS.map((host): Case => {
      return { url: `https://${host}:${port}/hook`, results: new Set(['bad_url']), tries: 1, literal: true };
    }),
    ...NAMED.map((addresses): Case => ({ url: named(() => addresses), results: forbidden, tries: 1 })),
    ...CHANGING.map(([first, then]): Case => {
      // The second attempt resolves the name again and finds the new address.
      return { url: named((asked) => (asked === 0 ? first : then)), results: forbidden, tries: 2 };
    }),
  ];
}

function redirectsOf(port: number): Case[] {
  return [...REDIRECTS, ...REDIRECTS].map((status, i) => {
    const url = `http://127.0.0.1:${port}/${status}/${i < REDIRECTS.length ? 'loopback' : 'metadata'}`;
    return { url, results: new Set([String(status)]), tries: 1 };
  });
}

/** Makes stores with these webhooks and one order each; returns the results of their deliveries. */
async function told(env: Record<string, string>, cases: readonly Case[], random: Random): Promise<readonly string[]> {
  const act = async (world: World): Promise<RowResult> => {
    const problems = await Promise.all(cases.map((each, i) => tellOne(world, each, i, random)));
    return { count: cases.length, orders: cases.length, findings: problems.flat() };
  };
  return (await inWorld({ drivers: 10, stores: cases.length, apis: 1, env }, act, endedOnes)).findings;
}

/** Sets a store's webhook as the command line does, without its check, and sends it a cancelled order. */
async function tellOne(
  world: World,
  { url, results, tries, literal }: Case,
  i: number,
  random: Random,
): Promise<string[]> {
  const store = world.stores[i] as World['stores'][number];
  const taken = literal && typeof readWebhookUrl(url, false) !== 'string';
  const unasked = taken ? [`address: the command line takes ${url}`] : [];
  await storeOf(world.sql).setWebhook(store.id, url, newWebhookSecret());
  const order = anyOrder({ ...world, stores: [store] }, random, false);
  note(world, order);
  const { orderId } = await send(world, order, random);
  const cancel = `${world.apis[0]?.url()}/orders/${orderId}/cancel`;
  await ask(cancel, { method: 'POST', key: store.apiKey, body: { reason: 'other' } });
  const look = () => world.sql`
    select result from webhook_deliveries
    where order_id = ${orderId} and type = 'order.cancelled' and attempts >= ${tries}`;
  const [row] = await lookUntil(look, ({ length }) => length > 0, TRIED_MS * tries, 100);
  if (!row) return [...unasked, `address: a webhook to ${url} was not tried ${tries} times`];
  return results.has(row.result) ? unasked : [...unasked, `address: a webhook to ${url} came to ${row.result}`];
}

/** Notices a connection to any address of this machine. */
async function openTrap() {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return { port, connections: () => connections, close: () => void server.close() };
}

/** A store's server that redirects everybody to a forbidden address. */
async function openRedirector(trapPort: number) {
  const targets = new Map([
    ['loopback', `http://127.0.0.1:${trapPort}/`],
    ['metadata', 'http://169.254.169.254/latest/meta-data/'],
  ]);
  const server = createHttp((request, response) => {
    const [, status = '', target = ''] = (request.url ?? '').split('/');
    response.writeHead(Number(status), { location: targets.get(target) ?? '' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { port, close: () => void server.close() };
}
