import type { HttpRequest, HttpResponse, TemplatedApp } from 'uWebSockets.js';
import type { Logger } from '../telemetry.ts';
import { Exchange, type ExchangeSettings } from './exchange.ts';
import { HTTP_LIMITS, type HttpLimits } from './http-limits.ts';
import type { SocketBehaviour } from './live-socket.ts';
import { refusals } from './refusals.ts';
import { countParams, readHead } from './request.ts';
import type { NoteRequest } from './request-log.ts';
import { RequestsInFlight } from './requests-in-flight.ts';
import type { Route } from './route.ts';
import { readSendQueues } from './send-queues.ts';
import { SharedPool } from './shares.ts';
import { shed } from './shed.ts';
import { SocketMount, type SocketPeers } from './socket-mount.ts';
import type { Transport } from './transport.ts';
import { UnsentReplies } from './unsent.ts';

export type ServerOptions = {
  readonly routes: readonly Route[];
  readonly sockets: readonly SocketBehaviour<unknown>[];
  readonly logger: Logger;
  readonly mode: 'sandbox' | 'live';
  readonly supportEmail: string;
  /** Whether to believe `X-Forwarded-For`: only behind a proxy of one's own that sets it. */
  readonly trustProxy: boolean;
  /** Whether browsers are told to use https alone: only where the service does TLS itself, and for real. */
  readonly httpsOnly?: boolean;
  /** Called for every reply. The status is 0 where the client left first. */
  readonly observe?: (pattern: string, method: string, status: number, durationMs: number) => void;
  /** Called for every reply and every upgrade, for the log. */
  readonly noteRequest?: NoteRequest | undefined;
  /** Called once when the server is to stop, to end requests that wait for something to happen. */
  readonly stopping?: () => void;
  readonly limits?: Partial<HttpLimits>;
};

export type HttpServer = {
  /** Listens on this address alone; port 0 takes any free one. Rejects with the reason where it cannot. */
  listen(host: string, port: number): Promise<{ readonly port: number }>;
  /**
   * Takes no new connections and no new sockets; open connections end with their next reply. The open sockets are
   * told to come back (1012), each at a moment of its own.
   */
  stopAccepting(): void;
  /**
   * Waits at most `ms` milliseconds until every accepted request is answered and its work done; false where
   * some are not. Then connections that owe nothing are closed. Where some do, further requests are refused with 503,
   * so that no work is cut.
   */
  drain(ms: number): Promise<boolean>;
  /** Refuses every further request with 503 at once, while those at work go on. */
  refuse(): void;
  /** Closes the transport, with every connection. Harmless twice. */
  close(): void;
  /** Requests that are not answered, or whose work is not done. */
  readonly inFlight: number;
  readonly openSockets: number;
};

/** The HTTP and WebSocket server: mounts routes and sockets on the transport, once for each transport. */
export function createServer(transport: Transport, options: ServerOptions): HttpServer {
  let isStopping = false;
  let isRefusing = false;
  let isClosed = false;
  let port = 0;
  const { app } = transport;
  const limits = { ...HTTP_LIMITS, ...options.limits };
  const requests = new RequestsInFlight(limits.maxRequestsInFlight);
  const settings: ServeSettings = {
    sandbox: options.mode === 'sandbox',
    httpsOnly: options.httpsOnly ?? false,
    closing: () => isStopping,
    refusing: () => isRefusing,
    unsent: new UnsentReplies(
      { perNetwork: limits.maxUnsentBytesPerNetwork, total: limits.maxUnsentBytes, small: limits.smallUnsentBytes },
      async () => readSendQueues(port),
    ),
    supportEmail: options.supportEmail,
    trustProxy: options.trustProxy,
    logger: options.logger,
    limits,
    requests,
    budgets: {
      small: new SharedPool(limits.maxBufferedBodyBytes, limits.maxBodyBytesPerCaller),
      large: new SharedPool(limits.maxBufferedPhotoBytes, limits.maxBodyBytesPerCaller),
    },
    waiting: new SharedPool(Number.POSITIVE_INFINITY, limits.maxWaitingBodiesPerCaller),
    observe: options.observe ?? (() => {}),
    noteRequest: options.noteRequest ?? (() => {}),
  };
  const openSockets = () => mounts.reduce((sum, mount) => sum + mount.count, 0);
  const connections = boundConnections(app, limits, openSockets);
  const peers: SocketPeers = { ...connections, anyOpen: () => mounts.find(({ count }) => count > 0)?.any() ?? null };
  const mounts = options.sockets.map((behaviour) => new SocketMount(settings, behaviour, peers));
  for (const mount of mounts) mount.mount(app);
  for (const route of options.routes) mountRoute(app, settings, route);
  for (const refusal of refusals(options.routes, options.sockets, options.supportEmail)) {
    // A parameter of another route must not take what is an address of its own, as in `GET /orders/create`.
    for (const method of refusal.refused) app[method](refusal.pattern, serve(settings, refusal));
  }

  function stopAccepting(): void {
    if (!isStopping) options.stopping?.();
    isStopping = true;
    transport.stopListening();
    for (const mount of mounts) mount.sendAway();
  }

  function close(): void {
    if (isClosed) return;
    isClosed = true;
    stopAccepting();
    transport.close();
  }

  return {
    async listen(host, wanted) {
      port = transport.listen(host, wanted);
      return { port };
    },
    stopAccepting,
    async drain(ms) {
      const isIdle = await requests.idle(ms);
      isRefusing = true;
      // What a slow reader has not taken of a large reply would be cut.
      if (isIdle && !settings.unsent.isKeeping) close();
      return isIdle;
    },
    refuse() {
      isRefusing = true;
    },
    close,
    get inFlight() {
      return requests.present;
    },
    get openSockets() {
      return openSockets();
    },
  };
}

/**
 * Closes connections beyond the bound. The filter does not report when upgraded ones end; `upgraded` does.
 */
function boundConnections(
  app: TemplatedApp,
  { maxConnections, maxOpenConnections }: HttpLimits,
  openSockets: () => number,
): { upgraded(): void } {
  let open = 0;
  const count = (response: HttpResponse, change: number): void => {
    open += change;
    const isTooMany = open > maxConnections || open + openSockets() > maxOpenConnections;
    if (change > 0 && isTooMany) response.close();
  };
  app.filter((response, change) => count(response, Number(change)));
  return {
    upgraded() {
      open--;
    },
  };
}

type ServeSettings = ExchangeSettings & { readonly trustProxy: boolean };

function mountRoute(app: TemplatedApp, settings: ServeSettings, route: Route): void {
  // `delete` is no name of a method of uWebSockets.js.
  app[route.method === 'delete' ? 'del' : route.method](route.pattern, serve(settings, route));
  if (route.method === 'get') app.head(route.pattern, serve(settings, route));
}

function serve(settings: ServeSettings, route: Route): (response: HttpResponse, request: HttpRequest) => void {
  const paramCount = countParams(route.pattern);
  return (response, request) => {
    const read = readHead(response, request, paramCount, settings.trustProxy);
    if (!shed(settings, route, response, read)) Exchange.start(settings, route, response, read);
  };
}
