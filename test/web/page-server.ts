import { createServer, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import sharp from 'sharp';
import { type WebSocket, WebSocketServer } from 'ws';
import { SERVICE_RESTARTS } from '../../src/domain/restart.ts';
import type { TrackedOrder } from '../../src/domain/tracked.ts';
import { createTracking } from '../../src/tracking/live.ts';
import { trackingRoutes } from '../../src/tracking/routes.ts';
import type { Viewer } from '../../src/tracking/watched.ts';
import type { LiveSocket } from '../../src/transport/live-socket.ts';
import { bytes, errorReply, text } from '../../src/transport/reply.ts';
import type { Reply } from '../../src/transport/route.ts';
import { listen } from '../harness/listen.ts';
import { replyOf } from '../http/support.ts';
import { matcherAt } from '../tracking/orders.ts';
import { builtAssets } from './built-assets.ts';

type Position = { readonly lat: number; readonly lng: number };

/**
 * The tracking page of one order that the test changes, served by its real routes and its real socket
 * behaviour.
 */
export async function servePage(options: { readonly tileUrl?: string; readonly sandbox?: boolean } = {}) {
  const photo = await sharp({ create: { width: 640, height: 480, channels: 3, background: '#b98' } })
    .jpeg()
    .toBuffer();
  let order: TrackedOrder | null = null;
  let position: (Position & { atMs: number }) | null = null;
  let socketsBlocked = false;
  let socketsSwallowed = false;
  let isUnroutable = false;
  /** The tests' day is over, and a driver is shown for some hours after the assignment. */
  const assignedAt = new Date().toISOString();
  const failures: unknown[] = [];
  const topics = new Map<WebSocket, Set<string>>();
  const publish = (topic: string, text: string) => {
    for (const [socket, subscribed] of topics) if (subscribed.has(topic) && !socketsSwallowed) socket.send(text);
  };
  const shared = {
    store: {
      findTrackedByToken: async (token: string) => (order?.trackingToken === token ? order : null),
      findTrackedByIds: async () => new Map(order ? [[order.orderId, order]] : []),
    },
    matcher: { driver: (id: string) => matcherAt(position).driver(id) },
    now: Date.now,
    failed: (error: unknown) => failures.push(error),
  };
  const tracking = createTracking({ ...shared, transport: { publish } });
  const routes = trackingRoutes({
    ...shared,
    photos: { find: async () => null },
    changeDropoff: async (_orderId, { instructions, leaveAtDoor }) => {
      if (order)
        await change({ ...order, sequence: order.sequence + 1, dropoffInstructions: instructions, leaveAtDoor });
      return order !== null;
    },
    assets: builtAssets(),
    settings: { tileUrl: options.tileUrl ?? null, tileAttribution: '© <b>Maps</b>', sandbox: options.sandbox ?? false },
    publicUrl: null,
  });

  /** Changes the order's state and notifies the pages. */
  async function change(next: TrackedOrder | null): Promise<void> {
    order = next?.assignedAt ? { ...next, assignedAt } : next;
    if (next) await tracking.orderChanged(next.orderId);
  }

  const requests: string[] = [];
  async function answer(path: string, body: Buffer, language = ''): Promise<Reply> {
    const [, area, name = '', rest] = path.split('/');
    // An order of the tests may have ended long ago, when its own photo is gone.
    if (area === 'tiles' || rest === 'photo') return bytes(200, 'image/jpeg', photo);
    if (isUnroutable && rest === 'status') return text(404, 'default backend', { 'Content-Type': 'text/html' });
    if (area === 'assets') return replyOf(routes, '/assets/:name', name, { 'accept-encoding': 'gzip' });
    if (area !== 'track') return text(404, '');
    return replyOf(
      routes,
      rest === undefined ? '/track/:token' : `/track/:token/${rest}`,
      name,
      { 'accept-language': language },
      body,
    );
  }

  const server = createServer((request, response) => {
    const path = request.url ?? '';
    requests.push(path);
    void buffer(request)
      .then((body) => answer(path, body, request.headers['accept-language']))
      .catch((error) => errorReply(error, 'test', 'help@sameday.test'))
      .then(({ status, headers = {}, body }) => response.writeHead(status, headers).end(body));
  });
  const upgrades = new WebSocketServer({ noServer: true });
  server.on('upgrade', (request, raw, head) => void upgrade(request, raw, head));
  async function upgrade(request: IncomingMessage, raw: Duplex, head: Buffer): Promise<void> {
    if (socketsSwallowed) {
      raw.on('error', () => undefined);
      return;
    }
    const token = request.url?.split('/')[2] ?? '';
    const data = await tracking.behaviour.accept({ params: [token], remoteAddress: '' });
    if (socketsBlocked || 'refuse' in data) {
      raw.end('HTTP/1.1 503 Unavailable\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    upgrades.handleUpgrade(request, raw, head, (socket) => mount(socket, data));
  }

  function mount(socket: WebSocket, data: Viewer): void {
    const subscribed = new Set<string>();
    topics.set(socket, subscribed);
    const live: LiveSocket<Viewer> = {
      data,
      send: (text) => {
        if (!socketsSwallowed) socket.send(text);
        return true;
      },
      close: (code, reason) => socket.close(code, reason),
      dismiss: (code, reason) => socket.close(code, reason),
      cut: () => socket.terminate(),
      subscribe: (topic) => void subscribed.add(topic),
      unsubscribe: (topic) => void subscribed.delete(topic),
    };
    socket.on('message', (message) => tracking.behaviour.message(live, String(message)));
    socket.on('close', () => {
      topics.delete(socket);
      tracking.behaviour.closed(live);
    });
    tracking.behaviour.opened(live);
  }

  const { url, close } = await listen(server);
  return {
    url,
    requests,
    failures,
    sockets: () => topics.size,
    change,
    notes: () => [order?.dropoffInstructions, order?.leaveAtDoor],
    move(next: Position, ageMs = 0) {
      position = { ...next, atMs: Date.now() - ageMs };
      if (order?.driverId) tracking.driverMoved(order.orderId, { ...position, driverId: order.driverId });
    },
    forgetPosition() {
      position = null;
    },
    /** Sends a raw text to every page. */
    say(text: string) {
      for (const socket of topics.keys()) socket.send(text);
    },
    /** Cuts every socket and refuses new ones, until it is switched off. */
    blockSockets(blocked: boolean) {
      socketsBlocked = blocked;
      if (blocked) for (const socket of topics.keys()) socket.terminate();
    },
    /** Closes every socket as a process that stops does. */
    restart(waitMs: number) {
      for (const socket of topics.keys()) socket.close(SERVICE_RESTARTS, String(waitMs));
    },
    /** Answers like a proxy that does not find its service, until it is switched off. */
    loseService(now: boolean) {
      isUnroutable = now;
    },
    /** Leaves sockets without an answer, as some proxies do, until it is switched off. */
    swallowSockets(now: boolean) {
      socketsSwallowed = now;
    },
    async close() {
      for (const socket of topics.keys()) socket.terminate();
      tracking.close();
      await close();
    },
  };
}

export type PageServer = Awaited<ReturnType<typeof servePage>>;
