import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Fault, type FaultOrder, Faults, isDelay } from './faults.ts';

/** Largest request to a stand-in in bytes. */
const MAX_STAND_IN_BODY_BYTES = 256 * 1024;
/** Most records of each kind (payments, keys, messages) that a stand-in remembers, about 500 bytes each. */
const MAX_STAND_IN_RECORDS = 20_000;

export type StandInRequest = {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

export type StandInReply = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text is sent as a page, anything else as JSON. */
  readonly body: unknown;
};

/** The part of a stand-in that is one vendor's. */
export type VendorApi = {
  /**
   * Answers a request as the vendor does, or not at all for null. Awaits `pause` once, while the request is in
   * progress.
   */
  answer(request: StandInRequest, pause: () => Promise<void>): Promise<StandInReply | null>;
  /** A failure in the vendor's form. */
  failure(status: number): StandInReply;
  /** Makes a failure the answer to this request for good, where the vendor knows requests again. */
  repeat?(request: StandInRequest, reply: StandInReply): void;
  /** What the vendor did, oldest first; nothing where it keeps no record. */
  entries?(): readonly unknown[];
  /** Answers at further addresses for control, below `/_control/`; null for one that it does not know. */
  control?(request: StandInRequest): StandInReply | null;
  close?(): void;
};

/** A stand-in's own calls that are not taken yet, those of them that are being made, and tries that had no answer. */
export type CallCounts = { readonly pending: number; readonly atWork: number; readonly unanswered: number };

export type StandIn = {
  readonly url: string;
  orderFaults(order: FaultOrder): void;
  /** The same as `GET /_control/ledger`. */
  entries(): readonly unknown[];
  /** Cuts every connection and stops. */
  close(): Promise<void>;
};

/**
 * Starts a vendor's HTTP API on 127.0.0.1, with two addresses for control:
 * `POST /_control/faults` with `{"latencyMs": …}` has every answer take longer,
 * `GET /_control/ledger` shows what was done: `{"entries": […]}`, oldest first.
 * No path answers a web page, and control takes JSON only.
 *
 * @param port any free one by default
 */
export async function startStandIn(api: VendorApi, port = 0): Promise<StandIn> {
  const faults = new Faults();
  const server = createServer((incoming, outgoing) => {
    handle(incoming, outgoing, api, faults).catch((error: unknown) => {
      // A bug or a full disk: the caller sees the vendor fail, and the header says why.
      const name = error instanceof Error ? error.name : typeof error;
      send(outgoing, { ...api.failure(500), headers: { 'X-Stand-In-Error': name } });
    });
  });
  // Longer than a client keeps an idle connection, so that the server never closes one that is about to be
  // used.
  server.keepAliveTimeout = 65_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  let closed: Promise<void> | undefined;
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    orderFaults: (order) => faults.order(order),
    entries: () => api.entries?.() ?? [],
    close: () => {
      closed ??= new Promise((resolve) => {
        server.close(() => {
          api.close?.();
          resolve();
        });
        server.closeAllConnections();
      });
      return closed;
    },
  };
}

async function handle(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  api: VendorApi,
  faults: Faults,
): Promise<void> {
  const body = await readBody(incoming);
  if (body === null) return send(outgoing, { status: 413, body: { message: 'too large' } });
  const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://stand-in');
  const { method = 'GET', headers } = incoming;
  if (isForeign(headers)) return send(outgoing, { status: 403, body: { message: 'no' } });
  const request = { method, path: pathname, query: searchParams, headers, body };
  if (pathname.startsWith('/_control/')) return send(outgoing, control(request, api, faults));

  const fault = faults.take(request);
  const spoilt = fault ? spoil(fault, api) : undefined;
  if (spoilt?.effect === 'before') {
    await faults.pause(fault);
    if (spoilt.sticky && spoilt.reply) api.repeat?.(request, spoilt.reply);
    return deliver(incoming, outgoing, spoilt);
  }
  const reply = await api.answer(request, () => faults.pause(fault));
  if (spoilt?.sticky && spoilt.reply) api.repeat?.(request, spoilt.reply);
  deliver(incoming, outgoing, spoilt ?? (reply ? { reply } : {}));
}

/** What replaces the answer: a reply, a reset, or silence where it has neither. */
type Spoilt = {
  readonly effect: 'before' | 'after';
  readonly reply?: StandInReply;
  readonly reset?: true;
  readonly sticky?: boolean;
};

function spoil(fault: Fault, api: VendorApi): Spoilt | undefined {
  switch (fault.kind) {
    case 'delay':
      return undefined;
    case 'hang':
      return { effect: fault.effect };
    case 'reset':
      return { effect: fault.effect, reset: true };
    case 'status':
      return { effect: fault.effect, reply: api.failure(fault.status), sticky: fault.sticky };
    case 'page':
      return { effect: fault.effect, reply: { status: fault.status, body: '<html><body>Bad Gateway</body></html>' } };
    case 'rate_limit':
      return { effect: 'before', reply: api.failure(429) };
  }
}

function deliver(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  what: { reply?: StandInReply; reset?: true },
): void {
  if (what.reply) send(outgoing, what.reply);
  else if (what.reset) incoming.socket.resetAndDestroy();
}

/** A web page, or one whose name resolves to this machine, must not read texts, order faults or make calls. */
function isForeign({ host = '', origin }: IncomingHttpHeaders): boolean {
  return origin !== undefined || !/^(127\.0\.0\.1|localhost)(:\d+)?$/.test(host);
}

function control({ method, path, headers, body, query }: StandInRequest, api: VendorApi, faults: Faults): StandInReply {
  // A page may send any other type to a foreign address without asking.
  if (method === 'POST' && !/^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '')) {
    return { status: 415, body: { message: 'Content-Type must be application/json' } };
  }
  if (method === 'GET' && path === '/_control/ledger') return { status: 200, body: { entries: api.entries?.() ?? [] } };
  if (method === 'POST' && path === '/_control/faults') {
    const { latencyMs } = (parseJson(body) ?? {}) as FaultOrder;
    if (!isDelay(latencyMs)) return { status: 400, body: { message: 'not a latency' } };
    faults.order({ latencyMs });
    return { status: 200, body: { latencyMs } };
  }
  return api.control?.({ method, path, headers, body, query }) ?? { status: 404, body: { message: 'no such switch' } };
}

function send(outgoing: ServerResponse, { status, headers, body }: StandInReply): void {
  if (outgoing.headersSent || outgoing.destroyed) return;
  const isPage = typeof body === 'string';
  const text = isPage ? body : JSON.stringify(body);
  outgoing.writeHead(status, {
    'Content-Type': isPage ? 'text/html' : 'application/json',
    'Content-Length': Buffer.byteLength(text),
    ...headers,
  });
  outgoing.end(text);
}

async function readBody(incoming: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MAX_STAND_IN_BODY_BYTES) chunks.push(chunk);
  }
  return bytes > MAX_STAND_IN_BODY_BYTES ? null : Buffer.concat(chunks).toString('utf8');
}

/** The value of a JSON text; undefined where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A stand-in's memory, which drops the oldest record beyond `most`. */
export class LatestRecords<Value> extends Map<string, Value> {
  readonly #most: number;
  /** Goes on from record to record: a new one each time would first pass all that were dropped. */
  readonly #oldest: Iterator<string>;

  constructor(most: number = MAX_STAND_IN_RECORDS) {
    super();
    this.#most = most;
    this.#oldest = this.keys();
  }

  override set(key: string, value: Value): this {
    super.set(key, value);
    if (this.size > this.#most) this.delete(this.#oldest.next().value);
    return this;
  }
}
