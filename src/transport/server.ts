import uWS, { type HttpRequest, type HttpResponse, type TemplatedApp, type us_listen_socket } from 'uWebSockets.js';
import { accessSync, constants } from 'node:fs';
import type { Logger } from '../telemetry.ts';
import { BodyBudget } from './body.ts';
import { toBytes } from './bytes.ts';
import { Exchange, type ExchangeSettings } from './exchange.ts';
import { HTTP_LIMITS, type HttpLimits } from './http-limits.ts';
import type { SocketBehaviour } from './live-socket.ts';
import { refusals } from './refusals.ts';
import { countParams, readHead } from './request.ts';
import { RequestsInFlight } from './requests-in-flight.ts';
import type { Route } from './route.ts';
import { shed } from './shed.ts';
import { SocketMount } from './socket-mount.ts';

export type ServerOptions = {
  readonly routes: readonly Route[];
  readonly sockets: readonly SocketBehaviour<unknown>[];
  readonly logger: Logger;
  readonly mode: 'sandbox' | 'live';
  readonly supportEmail: string;
  /** Whether `X-Forwarded-For` is to be believed: only behind a proxy of one's own that sets it. */
  readonly trustProxy: boolean;
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
  /** Told of every reply: the route's pattern, the method, the status (0 where the client left first) and its time. */
  readonly observe?: (pattern: string, method: string, status: number, durationMs: number) => void;
  readonly limits?: Partial<HttpLimits>;
};

export type HttpServer = {
  /** Listens on this address alone; port 0 takes any free one. Rejects where it can't, with a sentence that says why. */
  listen(host: string, port: number): Promise<{ readonly port: number }>;
  /** Sends a text message to every socket that subscribed to `topic`; readers too slow for it are dropped. */
  publish(topic: string, text: string): void;
  /** Takes no new connections and no new sockets; open connections end with their next reply. */
  stopAccepting(): void;
  /**
   * Waits until every request that was taken is answered and its work done, at most `ms`; false where some are not. From
   * then on what still comes over open connections is refused with 503, so that no work is begun that a stop would cut.
   */
  drain(ms: number): Promise<boolean>;
  /** Tells the sockets that the server goes away (1001), then closes every connection. Harmless twice. */
  close(): void;
  /** Requests that are not answered, or whose work is not done. */
  readonly inFlight: number;
  readonly openSockets: number;
};

/** The HTTP and WebSocket server; with uWebSockets.js behind, which nothing outside this folder touches. */
export function createServer(options: ServerOptions): HttpServer {
  let listening: us_listen_socket | null = null;
  let stopping = false;
  let drained = false;
  let closed = false;
  const limits = { ...HTTP_LIMITS, ...options.limits };
  const load = new RequestsInFlight(limits.maxRequestsInFlight);
  const settings: ServeSettings = {
    sandbox: options.mode === 'sandbox',
    closing: () => stopping,
    refusing: () => drained,
    supportEmail: options.supportEmail,
    trustProxy: options.trustProxy,
    logger: options.logger,
    limits,
    load,
    budgets: {
      small: new BodyBudget(limits.maxBufferedBodyBytes),
      large: new BodyBudget(limits.maxBufferedPhotoBytes),
    },
    observe: options.observe ?? (() => {}),
  };
  const app = createApp(options.tls);
  const connections = boundConnections(app, limits.maxConnections);
  const mounts = options.sockets.map((behaviour) => new SocketMount(settings, behaviour, connections.upgraded));
  for (const mount of mounts) mount.mount(app);
  for (const route of options.routes) mountRoute(app, settings, route);
  for (const refusal of refusals(options.routes, options.sockets, options.supportEmail)) {
    app.any(refusal.pattern, serve(settings, refusal));
  }

  function stopAccepting(): void {
    stopping = true;
    if (listening) uWS.us_listen_socket_close(listening);
    listening = null;
  }

  return {
    async listen(host, port) {
      listening = listenExclusively(app, host, port);
      return { port: uWS.us_socket_local_port(listening) };
    },
    publish(topic, text) {
      if (!closed) app.publish(toBytes(topic), toBytes(text), false);
    },
    stopAccepting,
    async drain(ms) {
      const idle = await load.idle(ms);
      drained = true;
      return idle;
    },
    close() {
      if (closed) return;
      stopAccepting();
      for (const mount of mounts) mount.closeAll();
      closed = true;
      app.close();
    },
    get inFlight() {
      return load.present;
    },
    get openSockets() {
      return mounts.reduce((sum, mount) => sum + mount.count, 0);
    },
  };
}

function createApp(tls: ServerOptions['tls']): TemplatedApp {
  if (!tls) return uWS.App();
  // The transport says nothing about which file it could not read.
  for (const file of [tls.certFile, tls.keyFile]) accessSync(file, constants.R_OK);
  return uWS.SSLApp({ cert_file_name: toBytes(tls.certFile), key_file_name: toBytes(tls.keyFile) });
}

/** Closes what comes beyond the bound. The transport tells of an upgraded connection's end no more, so we must be told of it. */
function boundConnections(app: TemplatedApp, max: number): { upgraded(): void } {
  let open = 0;
  const count = (response: HttpResponse, change: number): void => {
    open += change;
    if (change > 0 && open > max) response.close();
  };
  app.filter((response, change) => count(response, Number(change)));
  return {
    upgraded() {
      open--;
    },
  };
}

/** The transport's `listen` takes host, port and option together; its types know only two of them at a time. */
type Listen = (host: string, port: number, option: number, done: (socket: us_listen_socket | false) => void) => void;

/** There at run time under this name, but not in the transport's types. */
const EXCLUSIVE_PORT = (uWS as unknown as { readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number }).LIBUS_LISTEN_EXCLUSIVE_PORT;

/** Alone on its port: without the option two services could listen on one and answer in turn. */
function listenExclusively(app: TemplatedApp, host: string, port: number): us_listen_socket {
  const sockets: us_listen_socket[] = [];
  (app.listen.bind(app) as unknown as Listen)(host, port, EXCLUSIVE_PORT, (socket) => {
    if (socket) sockets.push(socket);
  });
  const [socket] = sockets;
  if (socket) return socket;
  throw new Error(`Cannot listen on ${host}:${port}: the port is taken, or the address is not one of this machine`);
}

type ServeSettings = ExchangeSettings & { readonly trustProxy: boolean };

function mountRoute(app: TemplatedApp, settings: ServeSettings, route: Route): void {
  app[route.method](route.pattern, serve(settings, route));
  if (route.method === 'get') app.head(route.pattern, serve(settings, route));
}

function serve(settings: ServeSettings, route: Route): (response: HttpResponse, request: HttpRequest) => void {
  const paramCount = countParams(route.pattern);
  return (response, request) => {
    const read = readHead(response, request, paramCount, settings.trustProxy);
    if (!shed(settings, route, response, read)) Exchange.start(settings, route, response, read);
  };
}
