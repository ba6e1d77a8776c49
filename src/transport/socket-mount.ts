import uWS, { type HttpResponse, type TemplatedApp, type us_socket_context_t, type WebSocket } from 'uWebSockets.js';
import { type ErrorCode, ServiceError } from '../domain/errors.ts';
import { restartReason, SERVICE_RESTARTS } from '../domain/restart.ts';
import { errorFields } from '../telemetry.ts';
import { withTimeout } from '../with-timeout.ts';
import type { ExchangeSettings } from './exchange.ts';
import { Farewells } from './farewells.ts';
import type { SocketBehaviour } from './live-socket.ts';
import { errorReply } from './reply.ts';
import { countParams, type ReadHead, readHead } from './request.ts';
import { type ReplySettings, Responder } from './responder.ts';
import { type Attached, SocketConnection } from './socket-connection.ts';

/** Close codes of RFC 6455, section 7.4.1. */
const UNSUPPORTED_DATA = 1003;
const INTERNAL_ERROR = 1011;

type Native = WebSocket<Attached>;

export type SocketSettings = ReplySettings &
  Pick<ExchangeSettings, 'supportEmail' | 'logger' | 'limits' | 'noteRequest'> & { readonly trustProxy: boolean };

/** What the sockets of all behaviours have to do with each other. */
export type SocketPeers = {
  /** Called for each connection that became a socket. */
  readonly upgraded: () => void;
  /** Any open socket; null where there is none. */
  readonly anyOpen: () => SocketConnection | null;
};

/** The sockets of one behaviour: accepts and counts them, and keeps their failures to themselves. */
export class SocketMount {
  readonly #settings: SocketSettings;
  readonly #behaviour: SocketBehaviour<unknown>;
  readonly #open = new Set<SocketConnection>();
  readonly #farewells = new Farewells();
  readonly #peers: SocketPeers;

  constructor(settings: SocketSettings, behaviour: SocketBehaviour<unknown>, peers: SocketPeers) {
    this.#settings = settings;
    this.#behaviour = behaviour;
    this.#peers = peers;
  }

  mount(app: TemplatedApp): void {
    const { path, maxMessageBytes, idleTimeoutSeconds } = this.#behaviour;
    const paramCount = countParams(path);
    app.ws<Attached>(path, {
      maxPayloadLength: maxMessageBytes,
      idleTimeout: idleTimeoutSeconds,
      maxBackpressure: this.#settings.limits.socketBackpressureBytes,
      // A number in the types. It closes the socket of a reader who lets published messages pile up.
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

  /** Tells every socket to come back, one after the other, so that they flood nobody. */
  sendAway(): void {
    for (const [place, connection] of [...this.#open].entries()) {
      connection.close(SERVICE_RESTARTS, restartReason(place));
    }
  }

  /** One that is open; null where none is. */
  any(): SocketConnection | null {
    const [first = null] = this.#open;
    return first;
  }

  get count(): number {
    return this.#open.size;
  }

  async #upgrade(response: HttpResponse, read: ReadHead, key: string, context: us_socket_context_t): Promise<void> {
    const { head, fault } = read;
    const startedMs = performance.now();
    const note = (status: number) =>
      this.#settings.noteRequest({
        requestId: head.requestId,
        method: 'GET',
        route: this.#behaviour.path,
        status,
        durationMs: performance.now() - startedMs,
      });
    const responder = new Responder(response, this.#settings, head, () => note(0));
    try {
      if (fault !== null) throw new ServiceError('invalid_request', fault);
      const accepted = await this.#accept({ params: head.params, remoteAddress: head.remoteAddress() });
      // No subprotocol and no extension, whatever the client offers.
      const upgrade = (to: HttpResponse) => to.upgrade<Attached>(accepted, key, '', '', context);
      const other = this.#peers.anyOpen();
      if (responder.upgrade(upgrade, other && ((act) => other.corked(act)))) note(101);
    } catch (error) {
      if (!(error instanceof ServiceError)) this.#log(error);
      const refusal = errorReply(error, head.requestId, this.#settings.supportEmail);
      const isSent = fault === null ? responder.send(refusal) : await responder.sendLast(refusal);
      if (isSent) note(refusal.status);
    }
  }

  /**
   * What to keep with the new socket.
   *
   * @throws {ServiceError} where the socket is refused
   */
  async #accept(head: { params: readonly string[]; remoteAddress: string }): Promise<Attached> {
    if (this.#settings.closing()) throw new ServiceError('unavailable', 'The server is stopping.');
    const data = await withTimeout(this.#behaviour.accept(head), this.#settings.limits.upgradeDeadlineMs, upgradeLate);
    if (isRefusal(data)) throw new ServiceError(...REFUSALS[data.refuse]);
    return { data, live: null };
  }

  #opened(native: Native): void {
    this.#peers.upgraded();
    const connection = new SocketConnection(native, this.#farewells);
    native.getUserData().live = connection;
    this.#open.add(connection);
    if (this.#settings.closing()) this.sendAway();
    else this.#guard(connection, () => this.#behaviour.opened(connection));
  }

  #received(native: Native, message: ArrayBuffer, isBinary: boolean): void {
    const connection = native.getUserData().live;
    if (!connection) return;
    if (isBinary) {
      connection.dismiss(UNSUPPORTED_DATA, 'Text messages only');
      return;
    }
    // A copy, since the message's memory is gone when this returns. It is UTF-8, as uWebSockets.js checks.
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

  /** A behaviour that fails, at once or in a promise, costs its own socket and not the process. */
  #guard(connection: SocketConnection, act: () => unknown): void {
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

const upgradeLate = (): Error => new ServiceError('unavailable', 'The answer took too long to find.');
