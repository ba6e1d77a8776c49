import uWS, { type HttpResponse, type TemplatedApp, type us_socket_context_t, type WebSocket } from 'uWebSockets.js';
import { type ErrorCode, ServiceError } from '../domain/errors.ts';
import { errorFields, type Logger } from '../telemetry.ts';
import { toBytes } from './bytes.ts';
import type { HttpLimits } from './http-limits.ts';
import type { LiveSocket, SocketBehaviour } from './live-socket.ts';
import { errorReply } from './reply.ts';
import { countParams, type ReadHead, readHead } from './request.ts';
import { type ReplySettings, Responder } from './responder.ts';

/** Close codes of RFC 6455, section 7.4.1. */
const GOING_AWAY = 1001;
const UNSUPPORTED_DATA = 1003;
const INTERNAL_ERROR = 1011;

/** What the transport keeps with a socket. */
type Attached = { readonly data: unknown; live: Connection | null };
type Native = WebSocket<Attached>;

export type SocketSettings = ReplySettings & {
  readonly supportEmail: string;
  readonly trustProxy: boolean;
  readonly logger: Logger;
  readonly limits: HttpLimits;
};

/** One open WebSocket as a behaviour sees it. After its end every call does nothing. */
class Connection implements LiveSocket<unknown> {
  readonly data: unknown;
  #native: Native | null;

  constructor(native: Native) {
    this.#native = native;
    this.data = native.getUserData().data;
  }

  send(text: string): boolean {
    let taken = false;
    const native = this.#native;
    // 2: not sent, because too much waits for the reader already; the transport drops him.
    native?.cork(() => {
      taken = native.send(toBytes(text), false) !== 2;
    });
    return taken;
  }

  close(code: number, reason: string): void {
    this.#native?.end(code, toBytes(reason));
  }

  subscribe(topic: string): void {
    this.#native?.subscribe(toBytes(topic));
  }

  unsubscribe(topic: string): void {
    this.#native?.unsubscribe(toBytes(topic));
  }

  /** The transport's socket is gone and may not be touched any more. */
  detach(): void {
    this.#native = null;
  }
}

/** The sockets of one behaviour: accepts, counts and guards them. */
export class SocketMount {
  readonly #settings: SocketSettings;
  readonly #behaviour: SocketBehaviour<unknown>;
  readonly #open = new Set<Connection>();
  readonly #onUpgraded: () => void;
  #pending = 0;

  constructor(settings: SocketSettings, behaviour: SocketBehaviour<unknown>, onUpgraded: () => void) {
    this.#settings = settings;
    this.#behaviour = behaviour;
    this.#onUpgraded = onUpgraded;
  }

  mount(app: TemplatedApp): void {
    const { path, maxMessageBytes, idleTimeoutSeconds } = this.#behaviour;
    const paramCount = countParams(path);
    app.ws<Attached>(path, {
      maxPayloadLength: maxMessageBytes,
      idleTimeout: idleTimeoutSeconds,
      maxBackpressure: this.#settings.limits.socketBackpressureBytes,
      // A number in the transport's types; it drops whoever lets published messages pile up.
      closeOnBackpressureLimit: 1,
      compression: uWS.DISABLED,
      upgrade: (response, request, context) => {
        const key = request.getHeader('sec-websocket-key');
        const read = readHead(response, request, paramCount, this.#settings.trustProxy);
        void this.#upgrade(response, read, key, context);
      },
      open: (native) => this.#opened(native),
      message: (native, message, isBinary) => this.#received(native, message, isBinary),
      close: (native) => this.#closed(native),
    });
  }

  /** Tells every socket that the server goes away. */
  closeAll(): void {
    for (const connection of [...this.#open]) connection.close(GOING_AWAY, 'The server is stopping');
  }

  get count(): number {
    return this.#open.size;
  }

  async #upgrade(response: HttpResponse, read: ReadHead, key: string, context: us_socket_context_t): Promise<void> {
    const { head, fault } = read;
    const responder = new Responder(response, this.#settings, head, () => {});
    this.#pending++;
    try {
      if (fault !== null) throw new ServiceError('invalid_request', fault);
      const accepted = await this.#accept({ params: head.params, remoteAddress: head.remoteAddress() });
      // No subprotocol and no extension is agreed on, whatever the client offers.
      responder.upgrade((upgradable) => upgradable.upgrade<Attached>(accepted, key, '', '', context));
    } catch (error) {
      if (!(error instanceof ServiceError)) this.#log(error);
      const refusal = errorReply(error, head.requestId, this.#settings.supportEmail);
      if (fault === null) responder.send(refusal);
      else await responder.sendLast(refusal);
    } finally {
      this.#pending--;
    }
  }

  /** What to keep with the new socket; throws a `ServiceError` where it is refused. */
  async #accept(head: { params: readonly string[]; remoteAddress: string }): Promise<Attached> {
    if (this.#settings.closing()) throw new ServiceError('unavailable', 'The server is stopping.');
    if (this.#open.size + this.#pending > this.#behaviour.maxSockets) {
      throw new ServiceError('unavailable', 'Too many live connections. Try again in a moment.');
    }
    const data = await within(this.#settings.limits.upgradeDeadlineMs, this.#behaviour.accept(head));
    if (isRefusal(data)) throw new ServiceError(...REFUSALS[data.refuse]);
    return { data, live: null };
  }

  #opened(native: Native): void {
    this.#onUpgraded();
    const connection = new Connection(native);
    native.getUserData().live = connection;
    this.#open.add(connection);
    if (this.#settings.closing()) connection.close(GOING_AWAY, 'The server is stopping');
    else this.#guard(connection, () => this.#behaviour.opened(connection));
  }

  #received(native: Native, message: ArrayBuffer, isBinary: boolean): void {
    const connection = native.getUserData().live;
    if (!connection) return;
    if (isBinary) {
      connection.close(UNSUPPORTED_DATA, 'Text messages only');
      return;
    }
    // Copied: the transport's memory is gone when this returns. That it is UTF-8 the transport has checked.
    const text = Buffer.from(message).toString('utf8');
    this.#guard(connection, () => this.#behaviour.message(connection, text));
  }

  #closed(native: Native): void {
    const connection = native.getUserData().live;
    if (!connection) return;
    connection.detach();
    this.#open.delete(connection);
    this.#guard(connection, () => this.#behaviour.closed(connection));
  }

  /** A behaviour that fails costs its own socket, not the process; also where it fails later, in a promise. */
  #guard(connection: Connection, act: () => unknown): void {
    const failed = (error: unknown) => {
      this.#log(error);
      connection.close(INTERNAL_ERROR, 'Internal error');
    };
    try {
      const result = act();
      if (result instanceof Promise) result.catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  #log(error: unknown): void {
    this.#settings.logger.error({ path: this.#behaviour.path, error: errorFields(error) }, 'socket failed');
  }
}

const REFUSALS: Readonly<Record<404 | 410 | 503, [ErrorCode, string]>> = {
  404: ['not_found', 'There is nothing at this address.'],
  410: ['gone', 'What was at this address is over.'],
  503: ['unavailable', 'The service cannot take this connection now. Try again in a moment.'],
};

function isRefusal(value: unknown): value is { readonly refuse: 404 | 410 | 503 } {
  return typeof value === 'object' && value !== null && 'refuse' in value;
}

/** What `promise` gives, or a 503 after `ms`. */
async function within<Value>(ms: number, promise: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ServiceError('unavailable', 'The answer took too long to find.')), ms);
  });
  try {
    return await Promise.race([promise, expired]);
  } finally {
    clearTimeout(timer);
  }
}
