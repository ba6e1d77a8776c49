import http, { type IncomingHttpHeaders, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import https from 'node:https';
import { below, VENDOR_SOCKETS } from '../limits.ts';
import { type RetryLater, retryLater } from './retry-later.ts';

/** Time after which an unused connection to a vendor is closed. Below the 60 s of their servers. */
const VENDOR_SOCKET_IDLE_MS = 30_000;
/** Largest reply of a vendor in bytes. A page of MAX_MESSAGES_SEARCHED messages has about 60 KB. */
export const MAX_VENDOR_REPLY_BYTES = 1024 * 1024;
/** Time after which vendors' servers close an unused connection. */
const VENDOR_KEEP_ALIVE_MS = 60_000;

below({ VENDOR_SOCKET_IDLE_MS }, { VENDOR_KEEP_ALIVE_MS });

type ExchangeRequest = {
  readonly protocol: 'http:' | 'https:';
  readonly host: string;
  readonly port: string | number;
  readonly path: string;
  readonly method: string;
  readonly headers: OutgoingHttpHeaders;
  readonly body?: string | undefined;
  /** From the call to the last byte of the reply, the wait for a free connection included. */
  readonly timeoutMs: number;
};

export type ExchangeReply = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

export type HttpExchange = ReturnType<typeof createHttpExchange>;

/** Why there is no reply, which tells whether the request may have had an effect. */
export class ExchangeError extends Error {
  readonly outcome: RetryLater;
  readonly code: string;

  constructor(outcome: RetryLater, code: string) {
    super(`no reply: ${outcome.reason}`);
    this.name = 'ExchangeError';
    this.outcome = outcome;
    this.code = code;
  }
}

/**
 * Exchanges one HTTP request and its whole reply over kept connections. Charges, texts and the vendors' SDKs
 * use it in place of the SDKs' own clients, which bound the silence on a socket instead of the call, do not
 * bound the reply, and do not tell whether a request was sent.
 */
export function createHttpExchange() {
  const options = { keepAlive: true, maxSockets: VENDOR_SOCKETS, timeout: VENDOR_SOCKET_IDLE_MS };
  const plain = new http.Agent(options);
  const secure = new https.Agent(options);
  return {
    /**
     * Sends a request, in one attempt.
     *
     * @throws {ExchangeError} where no complete reply came
     */
    send(request: ExchangeRequest): Promise<ExchangeReply> {
      return request.protocol === 'https:'
        ? exchange(https.request, secure, request)
        : exchange(http.request, plain, request);
    },
    /** Closes all connections, those in use included. */
    close() {
      plain.destroy();
      secure.destroy();
    },
  };
}

function exchange(open: typeof http.request, agent: http.Agent, request: ExchangeRequest): Promise<ExchangeReply> {
  return new Promise((resolve, reject) => {
    const { protocol, host, port, path, method, headers, body = '', timeoutMs } = request;
    const outgoing = open({ agent, protocol, host, port, path, method, headers });
    let connected = false;
    let replied = false;
    const fail = (error: Error & { code?: string }) => {
      clearTimeout(deadline);
      outgoing.destroy();
      if (error instanceof ExchangeError) return reject(error);
      if (!connected) return reject(new ExchangeError(retryLater('unreachable'), error.code ?? 'UNREACHABLE'));
      // Node's code stays where the vendor had just closed a kept connection, since a call of Stripe's is then
      // tried once more.
      const stale = outgoing.reusedSocket && !replied && error.code !== undefined;
      reject(new ExchangeError(retryLater('connection_lost'), stale ? (error.code ?? '') : 'CONNECTION_LOST'));
    };
    const deadline = setTimeout(() => {
      fail(new ExchangeError(retryLater(connected ? 'timeout' : 'unreachable'), 'DEADLINE'));
    }, timeoutMs);
    outgoing.once('socket', (socket) => {
      // No byte of the request leaves this machine before the handshake is done.
      if (!socket.connecting) connected = true;
      else socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', () => (connected = true));
    });
    outgoing.on('error', fail);
    outgoing.once('response', (incoming) => {
      replied = true;
      readReply(incoming).then((reply) => {
        clearTimeout(deadline);
        resolve(reply);
      }, fail);
    });
    outgoing.end(body);
  });
}

function readReply(incoming: IncomingMessage): Promise<ExchangeReply> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    incoming.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_VENDOR_REPLY_BYTES) reject(new ExchangeError(retryLater('bad_reply'), 'REPLY_TOO_LARGE'));
      else chunks.push(chunk);
    });
    incoming.once('error', reject);
    // It closes after its end too, where an error, with its stack, would be for nothing.
    const cutShort = () => reject(new ExchangeError(retryLater('connection_lost'), 'REPLY_CUT_SHORT'));
    incoming.once('close', cutShort);
    incoming.once('end', () => {
      if (!incoming.complete) return;
      incoming.off('close', cutShort);
      resolve({
        status: incoming.statusCode ?? 0,
        headers: incoming.headers,
        body: Buffer.concat(chunks).toString('utf8'),
      });
    });
  });
}
