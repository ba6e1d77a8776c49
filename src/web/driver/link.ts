import { restartWaitMs } from '../../domain/restart.ts';
import type { Report } from './api.ts';
import { nowMs } from './clock.ts';
import { type DriverState, stateOf, type ToldState } from './state.ts';

/** Interval at which a driver's page sends `ping`. */
const DRIVER_PING_MS = 20_000;

/** The state of the phone's connection to the service. */
export type LinkState = 'connecting' | 'live' | 'reconnecting' | 'offline' | 'replaced';

export type LinkListener = {
  told(state: DriverState): void;
  state(state: LinkState): void;
  /** The service refused the token, or did not get it in time; HTTP tells which. */
  refused(): void;
  /** Sockets fail; HTTP may work meanwhile. */
  blocked(): void;
};

type Message = ({ readonly type: 'state' } & ToldState) | { readonly type: 'error' | 'pong' };

/** Close code for a token that is not valid, or did not arrive in time. */
const NOT_SIGNED_IN = 4401;
/** Close code for a driver who connected from elsewhere. */
const REPLACED = 4409;
const FAILURES_BEFORE_BLOCKED = 2;
const RETRY_FIRST_MS = 500;
const RETRY_MAX_MS = 20_000;
/** Silence after a ping, or after opening, at which a socket counts as dead. */
const SILENCE_MS = 8_000;

/** The driver's socket. It signs in, sends pings, and reconnects with growing, random pauses. */
export class DriverLink {
  readonly #token: string;
  readonly #listener: LinkListener;
  /** When the driver came to this page: it gives way to one to which they came later, and to no older one. */
  readonly #sinceMs = Math.round(nowMs());
  #connections = 0;
  #socket: WebSocket | null = null;
  #live = false;
  #stopped = true;
  #failures = 0;
  #retry: number | undefined;
  #ping: number | undefined;
  #silence: number | undefined;

  constructor(token: string, listener: LinkListener) {
    this.#token = token;
    this.#listener = listener;
  }

  get live(): boolean {
    return this.#live;
  }

  start(): void {
    this.#stopped = false;
    this.#listener.state(navigator.onLine ? 'connecting' : 'offline');
    this.#connect();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#retry);
    this.#drop();
  }

  /** Tries at once: the network may be back, or the page is visible again. */
  resume(): void {
    if (this.#stopped) return;
    this.#failures = 0;
    if (this.#live) this.#sayPing();
    else if (!this.#socket) this.#connect();
  }

  /** Drops the socket, which is dead without a network even if it does not know yet. */
  wentOffline(): void {
    if (!this.#stopped) this.#lost();
  }

  /** Sends a position; false where no socket is open. */
  report(report: Report): boolean {
    if (!this.#live || this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify({ type: 'position', ...report }));
    return true;
  }

  #connect(): void {
    clearTimeout(this.#retry);
    if (this.#socket || this.#stopped) return;
    const url = new URL('/driver/live', location.href);
    url.protocol = url.protocol.replace('http', 'ws');
    const socket = new WebSocket(url);
    this.#socket = socket;
    this.#expectSomething();
    socket.onopen = () => {
      this.#connections += 1;
      const hello = { type: 'hello', token: this.#token, since_ms: this.#sinceMs, connection: this.#connections };
      socket.send(JSON.stringify(hello));
    };
    socket.onmessage = (event) => this.#received(JSON.parse(String(event.data)) as Message);
    socket.onclose = (event) => this.#closed(event);
  }

  #received(message: Message): void {
    clearTimeout(this.#silence);
    if (message.type !== 'state') return;
    this.#failures = 0;
    this.#live = true;
    if (this.#ping === undefined) this.#ping = window.setInterval(() => this.#sayPing(), DRIVER_PING_MS);
    this.#listener.state('live');
    this.#listener.told(stateOf(message));
  }

  #closed(event: CloseEvent): void {
    const { code } = event;
    if (code === REPLACED) {
      this.stop();
      this.#listener.state('replaced');
      return;
    }
    const waitMs = restartWaitMs(event);
    if (waitMs === null) this.#lost();
    else this.#leave(waitMs);
    if (code === NOT_SIGNED_IN) this.#listener.refused();
  }

  /** The service restarts, which is no failure, and said when it is this phone's turn to come back. */
  #leave(waitMs: number): void {
    this.#drop();
    this.#listener.state('reconnecting');
    this.#retry = window.setTimeout(() => this.#connect(), waitMs);
  }

  #lost(): void {
    this.#drop();
    clearTimeout(this.#retry);
    this.#failures += 1;
    this.#listener.state(navigator.onLine ? 'reconnecting' : 'offline');
    const ceiling = Math.min(RETRY_FIRST_MS * 2 ** this.#failures, RETRY_MAX_MS);
    this.#retry = window.setTimeout(() => this.#connect(), ceiling * (0.5 + Math.random() / 2));
    if (navigator.onLine && this.#failures >= FAILURES_BEFORE_BLOCKED) this.#listener.blocked();
  }

  /** Closes the socket without waiting for the closing handshake, which a dead network never answers. */
  #drop(): void {
    clearTimeout(this.#silence);
    clearInterval(this.#ping);
    this.#ping = undefined;
    this.#live = false;
    const socket = this.#socket;
    this.#socket = null;
    if (!socket) return;
    socket.onopen = null;
    socket.onmessage = null;
    socket.onclose = null;
    socket.close();
  }

  #sayPing(): void {
    if (this.#socket?.readyState !== WebSocket.OPEN) return;
    this.#socket.send('{"type":"ping"}');
    this.#expectSomething();
  }

  #expectSomething(): void {
    clearTimeout(this.#silence);
    this.#silence = window.setTimeout(() => this.#lost(), SILENCE_MS);
  }
}
