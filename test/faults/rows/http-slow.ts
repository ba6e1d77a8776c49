import { existsSync, readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { any, type Row, repeat } from '../row.ts';
import { addressOf } from '../wire.ts';
import { later } from '../world.ts';
import { besideGoodOrders } from './good-orders.ts';

const AT_ONCE = 250;
/**
 * The transport cuts silence after 8 to 12 s, and a body may take 7 s; the rest allows for a busy machine.
 */
const DEADLINE_MS = 20_000;
/** A client that does not read cannot see that it was cut, and checks after this time. */
const DEAF_MS = 13_000;
const SLOWEST_GOOD_MS = 10_000;

type Client = (socket: Socket, apiKey: string) => void;

/** Sends the first line at once, as the transport accepts none in parts, and the rest byte by byte. */
const dripHead = (socket: Socket, head: string): void => {
  const end = head.indexOf('\r\n') + 2;
  socket.write(head.slice(0, end));
  drip(socket, head.slice(end), 400);
};
const drip = (socket: Socket, parts: Iterable<string>, pauseMs: number): void => {
  const source = parts[Symbol.iterator]();
  const timer = setInterval(() => {
    const { value, done } = source.next();
    if (done || socket.destroyed) clearInterval(timer);
    else socket.write(value);
  }, pauseMs);
};
function* endless(part: string): Generator<string> {
  for (;;) yield part;
}
const create = (apiKey: string, framing: string): string =>
  `POST /orders/create HTTP/1.1\r\nHost: faults\r\nAuthorization: Bearer ${apiKey}\r\nContent-Type: application/json\r\n${framing}\r\n\r\n`;
const upgrade = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: faults\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`;

const CLIENTS: Readonly<Record<string, Client>> = {
  silent: () => undefined,
  'slow head': (socket, key) => dripHead(socket, create(key, 'Content-Length: 0')),
  'head without an end': (socket, key) => {
    socket.write(create(key, 'X: a').slice(0, -2));
    drip(socket, endless('X: a\r\n'), 500);
  },
  'slow body': (socket, key) => {
    socket.write(create(key, 'Content-Length: 400'));
    drip(socket, endless(' '), 250);
  },
  'body that stops': (socket, key) => void socket.write(`${create(key, 'Content-Length: 400')}{"retailer_id"`),
  'chunks without an end': (socket, key) => {
    socket.write(create(key, 'Transfer-Encoding: chunked'));
    drip(socket, endless('1\r\n \r\n'), 100);
  },
  'chunks that grow': (socket, key) => {
    socket.write(create(key, 'Transfer-Encoding: chunked'));
    drip(socket, endless(`1000\r\n${' '.repeat(4_096)}\r\n`), 50);
  },
  'chunk that stops': (socket, key) => void socket.write(`${create(key, 'Transfer-Encoding: chunked')}ff\r\n{`),
  'half-closed in its head': (socket, key) => void socket.end(create(key, '').slice(0, 30)),
  'half-closed in its body': (socket, key) => void socket.end(`${create(key, 'Content-Length: 400')}{`),
  'slow upgrade': (socket) => dripHead(socket, upgrade('/driver/live')),
  'driver without a hello': (socket) => void socket.write(upgrade('/driver/live')),
  'frame that stops': (socket) => {
    socket.write(upgrade('/driver/live'));
    setTimeout(() => socket.write(Buffer.from([0x81, 0xfe, 0x03])), 500);
  },
  'reader of nothing': (socket) => {
    socket.pause();
    drip(socket, endless('GET /driver HTTP/1.1\r\nHost: faults\r\n\r\n'.repeat(50)), 20);
    setTimeout(() => socket.resume(), DEAF_MS);
  },
};
const KINDS = Object.keys(CLIENTS);

export const slowClients: Row = {
  name: 'slow-clients',
  what: 'a client that is slow, silent, endless, half-closed, or reads nothing',
  count: 1_000,
  run: (count, random) =>
    besideGoodOrders({}, async (world, probes) => {
      const api = world.apis[0];
      const findings: string[] = [];
      const tookMs = new Map<string, number>();
      await later(2_000);
      const before = openSockets(api?.pid() as number);
      await repeat(count, AT_ONCE, async (i) => {
        const kind = KINDS[i % KINDS.length] as string;
        const ms = await endured(api?.url() as string, CLIENTS[kind] as Client, any(world.stores, random).apiKey);
        if (ms === null) findings.push(`deadline: a client (${kind}) was neither answered nor cut`);
        else tookMs.set(kind, Math.max(ms, tookMs.get(kind) ?? 0));
      });
      const latencies = await probes.stop();
      if (Math.max(...latencies) > SLOWEST_GOOD_MS) findings.push('probe: a good order waited for slow clients');
      await later(2_000);
      const after = openSockets(api?.pid() as number);
      if (after > before) findings.push(`sockets: ${before} were open before, ${after} after`);
      const notes = [
        `over after, at most: ${[...tookMs].map(([kind, ms]) => `${kind} ${(ms / 1_000).toFixed(1)} s`).join(', ')}`,
      ];
      return { count, findings, notes };
    }),
};

/** Time until the service answered or cut the client; null where it did not in time. */
function endured(url: string, client: Client, apiKey: string): Promise<number | null> {
  return new Promise((resolve) => {
    const startedMs = performance.now();
    const socket = connect({ ...addressOf(url), noDelay: true, allowHalfOpen: true });
    const finish = (ms: number | null) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(ms);
    };
    const timer = setTimeout(finish, DEADLINE_MS, null);
    socket.on('data', () => undefined);
    socket.on('error', () => undefined);
    for (const over of ['end', 'close']) socket.on(over, () => finish(performance.now() - startedMs));
    client(socket, apiKey);
  });
}

/** Of a process; 0 where the system does not tell. */
function openSockets(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  return existsSync(folder) ? readdirSync(folder).length : 0;
}
