import { connect } from 'node:net';
import { onTestFinished } from 'vitest';
import { ServiceError } from '../../src/domain/errors.ts';
import type { Authenticator } from '../../src/http/credentials.ts';
import type { Logger } from '../../src/telemetry.ts';
import { json } from '../../src/transport/reply.ts';
import { bearerToken } from '../../src/transport/request.ts';
import type { HeaderName, Reply, RequestHead, Route } from '../../src/transport/route.ts';
import { createServer, type HttpServer, type ServerOptions } from '../../src/transport/server.ts';
import { AbortNotice } from '../../src/transport/signal.ts';
import { openTransport, type TlsFiles, type Transport } from '../../src/transport/transport.ts';

export type LogLine = { readonly level: string; readonly fields: unknown; readonly message: string };

export type Running = {
  readonly server: HttpServer;
  readonly transport: Transport;
  readonly port: number;
  readonly url: string;
  readonly log: LogLine[];
};

/** A server on a free port for the running test, with the routes and bounds given; closed when the test is over. */
export async function startServer({
  tls,
  ...options
}: Partial<ServerOptions> & { readonly tls?: TlsFiles }): Promise<Running> {
  const log: LogLine[] = [];
  const transport = openTransport(tls);
  const server = createServer(transport, {
    routes: [],
    sockets: [],
    logger: recorder(log),
    mode: 'sandbox',
    supportEmail: 'help@sameday.test',
    trustProxy: false,
    ...options,
  });
  onTestFinished(() => server.close());
  const { port } = await server.listen('127.0.0.1', 0);
  return { server, transport, port, url: `http://127.0.0.1:${port}`, log };
}

function recorder(lines: LogLine[]): Logger {
  const at = (level: string) => (fields: unknown, message: string) => {
    lines.push({ level, fields, message });
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** A route that takes JSON from whoever knows the key `good` and tells how many bytes came. */
export function echoRoute(changes: Partial<Route<TestStore>> = {}): Route<TestStore> {
  return {
    method: 'post',
    pattern: '/echo/:id',
    authenticate: knowsKey,
    body: { contentTypes: ['application/json'], maxBytes: 65_536 },
    handle: ({ head, body }) => json(200, { id: head.params[0], bytes: body.length }),
    ...changes,
  };
}

/** The store whose key is `good`. */
type TestStore = { readonly retailerId: string };

export function knowsKey(head: Parameters<Route['authenticate']>[0]): TestStore {
  const key = bearerToken(head);
  if (key !== 'good') throw new ServiceError('unauthorized', 'The API key is wrong.');
  return { retailerId: key };
}

/** Lets everybody in as `holder`. */
export function letIn<Holder>(holder: Holder): Authenticator<Holder> {
  return { authenticate: async () => holder, remembered: () => null };
}

/** What one of the routes replies to a request without a body, without a server. */
export async function replyOf(
  routes: readonly Route[],
  pattern: string,
  parameter = '',
  headers: Partial<Record<HeaderName, string>> = {},
  body: Buffer = Buffer.alloc(0),
): Promise<Reply> {
  const route = routes.find((each) => each.pattern === pattern);
  if (!route) throw new Error(`there is no route ${pattern}`);
  const head: RequestHead = {
    method: 'GET',
    path: pattern,
    params: [parameter],
    query: new URLSearchParams(),
    header: (name) => headers[name],
    remoteAddress: () => '127.0.0.1',
    requestId: 'test',
  };
  const principal = await route.authenticate(head);
  return route.handle({
    head,
    principal,
    body,
    signal: new AbortNotice(),
    alwaysReplyWith: () => undefined,
  });
}

/** Sends JSON, or a text that may be none. */
export function postJson(url: string, body: object | string, headers: Record<string, string> = {}): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: text });
}

/** A promise that the test settles. */
export function gate<Value = void>(): { readonly opened: Promise<Value>; open(value: Value): void } {
  let open: (value: Value) => void = () => {};
  const opened = new Promise<Value>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** A bare TCP connection: what it sends is what arrives, `first` at once. It never ends its own side unless told. */
export function rawConnection(port: number, first: string | Buffer = '') {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  onTestFinished(() => {
    socket.destroy();
  });
  const state = { text: '', ended: false };
  socket.on('data', (chunk) => {
    state.text += chunk.toString('latin1');
  });
  for (const end of ['end', 'close', 'error']) {
    socket.on(end, () => {
      state.ended = true;
    });
  }
  if (first.length > 0) socket.write(first);
  return {
    send: (data: string | Buffer) => socket.write(data),
    halfClose: () => socket.end(),
    destroy: () => socket.destroy(),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    get text() {
      return state.text;
    },
    /** Bytes that the client's kernel has not taken yet. */
    get unsent() {
      return socket.writableLength;
    },
    /** Whether the server has ended the connection. */
    get ended() {
      return state.ended;
    },
    get statuses() {
      return [...state.text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => Number(match[1]));
    },
  };
}

/** A connection to a server with a route that echoes, which has sent this. */
export async function echoing(first: string) {
  return rawConnection((await startServer({ routes: [echoRoute()] })).port, first);
}

export const GOOD = 'Host: x\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\n';
